"""Compute one pair per SIMD lane: the recurrence of the package over vectors, BLOCK rows at a time.

X is in units of its own opening, o_(i-1), Y in units of o_i, and s of the row above is part of a row's SAME, OTHER and
FROM_N. In column j, the row below then needs from row i

    T(i, j) = M(i, j) + INSERTED * X(i, j) + DELETED * Y(i, j)      X(i+1, j) = INSERTION_STAYS * X(i, j) + M(i, j)

with M(i, j) = p * T(i-1, j-1) + FLOOR and Y(i, j+1) = DELETION_STAYS * Y(i, j) + M(i, j): five fma. The last row's T is
M + X: its INSERTED is o and its DELETED 0 (`cpu.fill_tables`). T and X are in `above` and `insertion`.

Every array is transposed, element `position * lanes + lane`. Reads of a group end in the same row; rows before a read's
first pass the scale on, bit for bit: in them SAME, OTHER, INSERTED, INSERTION_STAYS and FLOOR are 0, DELETED and
DELETION_STAYS 1, and Y begins as the scale. Columns after a haplotype's end are left out of the sum.
"""

from typing import NamedTuple

from numpy import ndarray

from readwarp.call.likelihoods.pairhmm.scalar import (
    BEFORE,
    BEYOND,
    COLUMNS,
    DELETED,
    DELETION_STAYS,
    FLOOR,
    FROM_N,
    INSERTED,
    INSERTION_STAYS,
    OTHER,
    SAME,
    UNKNOWN,
)
from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import VECTOR_BYTES, fused, load, load_bytes, plus, splat, store, where_equal

BLOCK = 4  # rows whose states are held in registers


class LaneSpace(NamedTuple):
    """Scratch space of one group of lanes; numbers are float32 or float64."""

    terms: ndarray  # [rows, COLUMNS, lanes], row constants of the reads
    above: ndarray  # [columns, lanes], T of the last row computed
    insertion: ndarray  # [columns, lanes], X of the row below it
    at: ndarray  # int64 [lanes], places in the table of the reads' rows


@kernel
def row_terms(bases, symbols, terms, row):
    """Return the vectors of one row."""
    count = VECTOR_BYTES // terms.itemsize
    first = row * COLUMNS * count
    return (
        load_bytes(bases, row * max(count, 8), symbols),
        load(terms, first + SAME * count),
        load(terms, first + OTHER * count),
        load(terms, first + FROM_N * count),
        load(terms, first + INSERTED * count),
        load(terms, first + DELETED * count),
        load(terms, first + INSERTION_STAYS * count),
        load(terms, first + DELETION_STAYS * count),
        load(terms, first + FLOOR * count),
    )


@kernel
def cell(symbol, unknown, is_wide, before, insertion, Y, row):
    """Return T and X of the row below and Y of the next column; only float64 lanes handle unknown haplotype bases."""
    base, same, other, from_n, inserted, deleted, insertion_stays, deletion_stays, floor = row
    emission = where_equal(symbol, base, same, other)
    if is_wide:
        emission = where_equal(symbol, unknown, from_n, emission)
    M = fused(emission, before, floor)
    T = fused(Y, deleted, fused(insertion, inserted, M))
    return T, fused(insertion, insertion_stays, M), fused(Y, deletion_stays, M)


@kernel
def sum_group(bases, haplotype, space, rows, columns, scale, symbols, sums):
    """Sum M + X over the last row of the pairs of a group, into `sums` [lanes].

    bases: int8 [rows, lanes of bytes, at least eight], of the reads. haplotype: int8 [columns, lanes of bytes], BEYOND
    after each. rows: a multiple of BLOCK. scale [lanes]: T of the row above the first. `symbols` has the dtype in which
    bases are compared.
    """
    terms, above, insertion, _ = space
    count, is_wide = VECTOR_BYTES // terms.itemsize, terms.itemsize == 8
    width = max(count, 8)
    first_row, zero = load(scale, 0), splat(scale, 0)
    unknown, beyond, never = splat(symbols, UNKNOWN), splat(symbols, BEYOND), splat(symbols, BEFORE)
    for j in range(0, columns * count, count):
        store(above, j, first_row)
        store(insertion, j, zero)
    start = first_row
    for row in range(0, rows, BLOCK):
        row0, row1 = row_terms(bases, symbols, terms, row), row_terms(bases, symbols, terms, row + 1)
        row2, row3 = row_terms(bases, symbols, terms, row + 2), row_terms(bases, symbols, terms, row + 3)
        Y0, Y1 = where_equal(row0[0], never, first_row, zero), where_equal(row1[0], never, first_row, zero)
        Y2, Y3 = where_equal(row2[0], never, first_row, zero), where_equal(row3[0], never, first_row, zero)
        before0, before1, before2, before3, start = start, Y0, Y1, Y2, Y3
        for column in range(columns):
            j, symbol = column * count, load_bytes(haplotype, column * width, symbols)
            T0, X = load(above, j), load(insertion, j)
            T1, X, Y0 = cell(symbol, unknown, is_wide, before0, X, Y0, row0)
            T2, X, Y1 = cell(symbol, unknown, is_wide, before1, X, Y1, row1)
            T3, X, Y2 = cell(symbol, unknown, is_wide, before2, X, Y2, row2)
            T4, X, Y3 = cell(symbol, unknown, is_wide, before3, X, Y3, row3)
            before0, before1, before2, before3 = T0, T1, T2, T3
            store(above, j, T4)
            store(insertion, j, X)
    total = zero
    for column in range(columns):
        longer = plus(total, load(above, column * count))
        total = where_equal(load_bytes(haplotype, column * width, symbols), beyond, total, longer)
    store(sums, 0, total)
