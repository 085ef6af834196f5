"""Haplotypes while they are made: rows of bases, of any region, one behind the other.

`rows` are (bases, offsets, region, support, 1 where asked for, [rows, bases used]).
"""

from typing import Any

import numpy as np

from readwarp.device.jit import kernel

Rows = tuple[Any, ...]


def new_rows(most_rows: int, most_bases: int) -> Rows:
    return (
        np.empty(most_bases, np.uint8),
        np.zeros(most_rows + 1, np.int64),
        np.empty(most_rows, np.int64),
        np.empty(most_rows, np.int64),
        np.empty(most_rows, np.int64),
        np.zeros(2, np.int64),
    )


@kernel
def copy(source, first, stop, out, place):
    """Copy source[first:stop] to `out`, from `place` on; returns the place behind it."""
    for i in range(first, stop):
        out[place + i - first] = source[i]
    return place + stop - first


@kernel
def close_row(rows, region, stop, support, is_asked):
    """End a row at base `stop`, its bases having been written behind those of the row before."""
    _, offsets, regions, supports, asked, used = rows
    row = used[0]
    regions[row], supports[row], asked[row], offsets[row + 1] = region, support, is_asked, stop
    used[0], used[1] = row + 1, stop


@kernel
def is_equal(bases, first, size, other, begin, length):
    """Whether bases [first, first + size) are those of `other` [begin, begin + length)."""
    if size != length:
        return False
    same = True
    for i in range(size):
        same &= bases[first + i] == other[begin + i]
    return same


@kernel
def unite(rows, order, spans, reference, reference_support):
    """The rows that differ from the reference's span and from rows before them, in `order` (rows by region).

    Of equal rows the first one is kept, with the greatest support, asked for if one of them was.
    """
    bases, offsets, region, support, asked, _ = rows
    is_kept = np.zeros(order.size, np.bool_)
    begin = 0
    for i in range(order.size):
        row = order[i]
        g, first, size = region[row], offsets[row], offsets[row + 1] - offsets[row]
        if region[order[begin]] != g:
            begin = i
        is_kept[i] = True
        if is_equal(bases, first, size, reference, spans[g, 0], spans[g, 1] - spans[g, 0]):
            is_kept[i] = False
            reference_support[g] = max(reference_support[g], support[row])
        for j in range(begin, i):
            other = order[j]
            length = offsets[other + 1] - offsets[other]
            if is_kept[i] and is_kept[j] and is_equal(bases, first, size, bases, offsets[other], length):
                is_kept[i] = False
                support[other] = max(support[other], support[row])
                asked[other] |= asked[row]
    return order[is_kept]


@kernel
def comes_before(rows, one, other):
    """Whether a row has more support than another of its region, or the same and a smaller sequence."""
    bases, offsets, _, support, _, _ = rows
    if support[one] != support[other]:
        return support[one] > support[other]
    size, length = offsets[one + 1] - offsets[one], offsets[other + 1] - offsets[other]
    for i in range(min(size, length)):
        mine, its = bases[offsets[one] + i], bases[offsets[other] + i]
        if mine != its:
            return mine < its
    return size < length


@kernel
def rank(rows, order, most, is_full):
    """Rows of each region in their final order, at most `most`; those asked for go before others where some must go."""
    region, asked = rows[2], rows[4]
    ranked, chosen, number, begin = order.copy(), order.copy(), 0, 0
    while begin < order.size:
        g, stop = region[order[begin]], begin
        while stop < order.size and region[order[stop]] == g:
            place = stop
            while place > begin and comes_before(rows, order[stop], ranked[place - 1]):
                ranked[place] = ranked[place - 1]
                place -= 1
            ranked[place] = order[stop]
            stop += 1
        places = np.int64(most)
        for i in range(begin, stop):
            places -= asked[ranked[i]]
        room, places = np.int64(most), max(places, np.int64(0))
        for i in range(begin, stop):
            is_asked = asked[ranked[i]]
            if room > 0 and (is_asked > 0 or places > 0):
                chosen[number] = ranked[i]
                number, room, places = number + 1, room - 1, places - 1 + is_asked
            else:
                is_full[g] = True
        begin = stop
    return chosen[:number].copy()
