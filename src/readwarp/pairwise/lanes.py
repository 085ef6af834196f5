"""One alignment per SIMD lane: the recurrence of `readwarp.pairwise` on vectors, for scores alone or with directions.

Queries and targets are transposed bytes (`transpose`). Other arrays have element `position * lanes + lane`, and their
dtype (int8, int16, int32) determines the lane type. Local scores are offset by the type's lowest value, so that they
saturate at 0, as the recurrence requires; other modes use scores as they are. Saturation at the top is an overflow:
`found` then holds the maximum.
"""

from typing import NamedTuple

from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import (
    VECTOR_BYTES,
    add,
    load,
    load_bytes,
    maximum,
    plus,
    splat,
    store,
    store_greater,
    subtract,
    where_equal,
    where_greater,
)
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, OUTSIDE, PAD, SEMIGLOBAL

# The vectors of `found`. Positions are in base BLOCK, since a lane may have only 8 bits.
SCORE, COLUMN, COLUMN_BLOCK, ROW, ROW_BLOCK, END_SCORE, END_ROW, END_ROW_BLOCK = range(8)
VECTORS = 8
BLOCK = 256


class Group(NamedTuple):
    """Pairs in lanes. The last four arrays have the lanes' dtype."""

    columns: int
    rows: int
    query: ndarray  # int8 [columns, lanes of bytes], PAD beyond a lane's query
    target: ndarray  # int8 [rows + 1, lanes of bytes], OUTSIDE beyond a lane's target
    H: ndarray  # [columns, lanes], the row above the target: `set_top_row`
    E: ndarray  # [columns, lanes]
    matrix: ndarray  # [letters, ALPHABET]: scores of query code by target code; empty: match and mismatch
    gains: ndarray  # [columns + letters, lanes], space for `row_gains`, or empty


@kernel
def byte_lanes(like):
    """Count the lanes of bytes for the lanes of that array."""
    return max(8, VECTOR_BYTES // like.itemsize)


@kernel
def set_top_row(group, scheme):
    """Set H above the target, 0 in local mode (before the query: the bonus), else a gap, and E, the lowest value."""
    H = group.H
    count, span = VECTOR_BYTES // H.itemsize, byte_lanes(H)
    lowest = splat(H, -(1 << (8 * H.itemsize - 1)))
    zero, pad = splat(H, 0), splat(H, PAD)
    before = add(lowest, splat(H, scheme.costs.bonus)) if scheme.mode == LOCAL else zero
    opening, extending = splat(H, -scheme.costs.gap_open), splat(H, scheme.costs.gap_extend)
    gap = opening
    for j in range(group.columns):
        symbol = load_bytes(group.query, j * span, H)
        gap = where_equal(symbol, pad, opening, subtract(gap, extending))
        store(H, j * count, where_equal(symbol, pad, before, lowest if scheme.mode == LOCAL else gap))
        store(group.E, j * count, lowest)


@kernel
def cell(diagonal, similarity, E):
    """Return the better of M, the aligned pair, and E, a deletion that ends here."""
    return maximum(add(diagonal, similarity), E)


@kernel
def gap(extended, opened, extending):
    """Return a gap one base longer: extended, or opened here."""
    return maximum(subtract(extended, extending), opened)


@kernel
def place_if_greater(a, b, like, position, low, high):
    """Return the digits of `position` in the lanes where a > b, `low` and `high` elsewhere."""
    return (where_greater(a, b, splat(like, position), low), where_greater(a, b, splat(like, position // BLOCK), high))


@kernel
def store_each(found, count, vectors):
    for k in range(len(vectors)):
        store(found, k * count, vectors[k])


@kernel
def begin_column(padded, symbol, begins, h, e, F):
    """Return (H, value to compare, E, F) of a cell; before a lane's query begins, the values of its first column."""
    if padded:
        pad, lowest, left, F_left = begins
        blank = where_equal(symbol, pad, lowest, h)
        return (
            where_equal(symbol, pad, left, h),
            blank,
            where_equal(symbol, pad, lowest, e),
            where_equal(symbol, pad, F_left, F),
        )
    return h, h, e, F


@kernel
def row_gains(group, row):
    """Write the scores of each lane's query positions with its target in that row to the group's gains.

    After the columns comes the row's profile [letters, lanes], from which lanes choose.
    """
    matrix, gains = group.matrix, group.gains
    count = VECTOR_BYTES // gains.itemsize
    span, letters = byte_lanes(gains), matrix.size // ALPHABET
    profile = gains[gains.size - letters * count :]
    for letter in range(letters):
        for lane in range(count):
            profile[letter * count + lane] = matrix[letter * ALPHABET + group.target[row * span + lane]]
    for j in range(group.columns):
        symbol, gain = load_bytes(group.query, j * span, gains), splat(gains, 0)
        for letter in range(letters):
            gain = where_equal(symbol, splat(gains, letter), load(profile, letter * count), gain)
        store(gains, j * count, gain)


@kernel
def score_group(group, first, scheme, found):
    """Write scores and ends of one group of lanes to the vectors of `found`.

    Queries are aligned at their ends; all have begun at column `first`. Targets are aligned at their beginnings.
    `found` has the best score of any cell with its column and row (LOCAL), and the best score of the last column with
    its row + 1.
    """
    columns, rows, query, target, H, E, matrix, gains = group
    (match, mismatch, gap_open, gap_extend, bonus), mode = scheme.costs, scheme.mode
    count, span = VECTOR_BYTES // H.itemsize, byte_lanes(H)
    floor, ceiling = -(1 << (8 * H.itemsize - 1)), (1 << (8 * H.itemsize - 1)) - 1
    lowest = splat(H, floor)
    zero, one = splat(H, 0), splat(H, 1)
    pad, outside = splat(H, PAD), splat(H, OUTSIDE)
    reward, end_bonus = splat(H, match), splat(H, bonus)
    opening, extending = splat(H, gap_open + gap_extend), splat(H, gap_extend)
    last, last_symbol = (columns - 1) * count, load_bytes(query, (columns - 1) * span, H)
    best = lowest if mode == LOCAL else splat(H, ceiling)
    column = column_block = row = row_block = end_row = end_row_block = zero
    end_best = load(H, last) if mode == SEMIGLOBAL else lowest
    left = add(lowest, splat(H, bonus)) if mode == LOCAL else zero
    for i in range(rows):
        base, diagonal = load_bytes(target, i * span, H), left
        penalty = where_equal(base, outside, lowest, splat(H, -mismatch))
        if matrix.size > 0:
            row_gains(group, i)
        if mode == GLOBAL:
            left = subtract(left, opening if i == 0 else extending)
        F = F_left = lowest if mode == LOCAL else subtract(left, opening)
        begins, row_before = (pad, lowest, left, F_left), best
        start = block = 0
        while start < columns - 1:
            padded = start < first
            stop = min(start + BLOCK, first if padded else columns - 1)
            block_before, offset = best, zero
            for at in range(start, stop):
                j, symbol = at * count, load_bytes(query, at * span, H)
                d = load(E, j)
                gain = load(gains, j) if matrix.size > 0 else where_equal(symbol, base, reward, penalty)
                md = cell(diagonal, gain, d)
                h = maximum(md, F)
                opened = subtract(md, opening)
                diagonal = load(H, j)
                d = gap(d, opened, extending)
                F = gap(F, opened, extending)
                h, value, d, F = begin_column(padded, symbol, begins, h, d, F)
                store(H, j, h)
                store(E, j, d)
                column = where_greater(value, best, offset, column)
                best = maximum(best, value)
                offset = plus(offset, one)
            column_block = where_greater(best, block_before, splat(H, block), column_block)
            start, block = stop, block + 1
        row, row_block = place_if_greater(best, row_before, H, i, row, row_block)

        d = load(E, last)
        gain = load(gains, last) if matrix.size > 0 else where_equal(last_symbol, base, reward, penalty)
        if mode == LOCAL:  # only an aligned last base gains the bonus, never a gap
            end = add(diagonal, add(gain, end_bonus))
        else:
            md = cell(diagonal, gain, d)
            end = maximum(md, F)
            store(H, last, end)
            store(E, last, gap(d, subtract(md, opening), extending))
            if mode == GLOBAL:  # only in a target's last row
                below = load_bytes(target, (i + 1) * span, H)
                end = where_equal(base, outside, lowest, where_equal(below, outside, end, lowest))
        end_row, end_row_block = place_if_greater(end, end_best, H, i + 1, end_row, end_row_block)
        end_best = maximum(end_best, end)
    store_each(found, count, (best, column, column_block, row, row_block, end_best, end_row, end_row_block))


@kernel
def trace_group(group, lead, width, scheme, directions):
    """Write a group's directions, in row i of columns i - width to i + lead, a bit per lane: `band.Directions`.

    Queries and targets are aligned at their beginnings. OUTSIDE may come before a target (not in GLOBAL mode).
    """
    columns, rows, query, target, H, E, matrix, gains = group
    (match, mismatch, gap_open, gap_extend, bonus), mode = scheme.costs, scheme.mode
    count, span = VECTOR_BYTES // H.itemsize, byte_lanes(H)
    plane = max(1, count // 8)
    stride = min(columns, lead + width + 1)
    lowest = splat(H, -(1 << (8 * H.itemsize - 1)))
    zero, outside = splat(H, 0), splat(H, OUTSIDE)
    reward = splat(H, match)
    opening, extending = splat(H, gap_open + gap_extend), splat(H, gap_extend)
    left = add(lowest, splat(H, bonus)) if mode == LOCAL else zero
    for i in range(rows):
        base = load_bytes(target, i * span, H)
        penalty = where_equal(base, outside, lowest, splat(H, -mismatch))
        if matrix.size > 0:
            row_gains(group, i)
        diagonal = left
        if mode == GLOBAL:
            left = subtract(left, opening if i == 0 else extending)
        F = lowest if mode == LOCAL else subtract(left, opening)
        low = max(0, i - width)
        if low > 0:
            diagonal, F = load(H, (low - 1) * count), lowest
        place = i * stride * 4 * plane
        for at in range(low, min(columns, i + lead + 1)):
            j, symbol = at * count, load_bytes(query, at * span, H)
            d = load(E, j)
            gain = load(gains, j) if matrix.size > 0 else where_equal(symbol, base, reward, penalty)
            m = add(diagonal, gain)
            md = maximum(m, d)
            opened = subtract(md, opening)
            extended_e, extended_f = subtract(d, extending), subtract(F, extending)
            store_greater(directions, place, d, m)
            store_greater(directions, place + plane, F, md)
            store_greater(directions, place + 2 * plane, opened, extended_e)
            store_greater(directions, place + 3 * plane, opened, extended_f)
            diagonal = load(H, j)
            store(H, j, maximum(md, F))
            store(E, j, maximum(extended_e, opened))
            F = maximum(extended_f, opened)
            place += 4 * plane
