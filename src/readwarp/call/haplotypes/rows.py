"""Haplotypes while they are made: rows of bases, of any region, one behind the other.

`rows` are (bases, offsets, region, support, asked, [rows, bases used]); `asked`: the allele that the user asks for, of
which alone the row is made, as a row of the table of alleles; NOT_ASKED for others.
"""

from typing import Any

import numpy as np

from readwarp.device.jit import kernel

NOT_ASKED = np.int64(-1)
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
def close_row(rows, region, stop, support, asked_for):
    """End a row at base `stop`, its bases having been written behind those of the row before."""
    _, offsets, regions, supports, asked, used = rows
    row = used[0]
    regions[row], supports[row], asked[row], offsets[row + 1] = region, support, asked_for, stop
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

    Of equal rows the first one is kept, with the greatest support.
    """
    bases, offsets, region, support, _, _ = rows
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
    """Rows of each region in their final order: all that are asked for, and at most `most` others."""
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
        room = np.int64(most)
        for i in range(begin, stop):
            is_other = asked[ranked[i]] == NOT_ASKED
            if is_other and room == 0:
                is_full[g] = True
                continue
            chosen[number] = ranked[i]
            number, room = number + 1, room - is_other
        begin = stop
    return chosen[:number].copy()
