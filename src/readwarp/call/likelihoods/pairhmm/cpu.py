"""Compute PairHMM on CPU lanes, one pair per lane: the package's recurrence over vectors, BLOCK rows at a time.

X is in units of its own opening, o_(i-1), Y in units of o_i, and s of the row above is part of a row's SAME, OTHER and
FROM_N. In column j, the row below then needs from row i

    T(i, j) = M(i, j) + INSERTED * X(i, j) + DELETED * Y(i, j)      X(i+1, j) = INSERTION_STAYS * X(i, j) + M(i, j)

with M(i, j) = p * T(i-1, j-1) + FLOOR and Y(i, j+1) = DELETION_STAYS * Y(i, j) + M(i, j): five fma. The last row's T is
M + X: its INSERTED is o and its DELETED 0 (`fill_tables`). T and X are in `above` and `insertion`.

Every array is transposed, element `position * lanes + lane`. Reads of a group end in the same row; rows before a read's
first pass the scale on, bit for bit: in them SAME, OTHER, INSERTED, INSERTION_STAYS and FLOOR are 0, DELETED and
DELETION_STAYS 1, and Y begins as the scale. Columns after a haplotype's end are left out of the sum.
"""

from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.call.likelihoods.pairhmm.pairs import PairWork, items_of, log_probabilities, solve, sum_in_turn
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
    PROBABILITY,
    SAME,
    UNKNOWN,
    Precision,
    row_constants,
)
from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import (
    VECTOR_BYTES,
    empty_vectors,
    fused,
    lanes,
    load,
    load_bytes,
    plus,
    splat,
    store,
    store_transposed,
    where_equal,
)
from readwarp.pairwise.transpose import LaneSequences, transpose_groups
from readwarp.ragged import offsets_of, replace

BLOCK = 4  # rows whose states are held in registers
AT_ONCE = 1 << 14  # pairs laid out in lanes at a time


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


class RowTables(NamedTuple):
    """Row constants of reads, `terms[row * COLUMNS + column]`, in the dtype of the sums.

    The first two rows and the row before each read pass the scale on.
    """

    terms: ndarray
    starts: Annotated[ndarray, "int64 [reads]"]  # first row of each read


class LaneGroups(NamedTuple):
    """Pairs in groups of lanes; the last group may have lanes without a pair."""

    rows: Annotated[ndarray, "int64 [groups]"]
    columns: Annotated[ndarray, "int64 [groups]"]
    bases: Annotated[ndarray, "int8 [bytes]"]  # bases of the reads: [positions, lanes of bytes]
    haplotypes: Annotated[ndarray, "int8 [bytes]"]
    base_offsets: Annotated[ndarray, "int64 [groups + 1]"]  # counted in positions
    haplotype_offsets: Annotated[ndarray, "int64 [groups + 1]"]
    pads: Annotated[ndarray, "int64 [lanes]"]  # rows before each read's first
    starts: Annotated[ndarray, "int64 [lanes]"]  # first row of each read in the table
    scale: ndarray  # [lanes], T of the row above a group's first, in the dtype of the sums


def log_likelihoods(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """Compute log10 P of pairs; see the step's contract. May be called from several threads at once."""
    sequences = reads, haplotypes, haplotype_offsets
    engine = partial(sum_in_turn, partial(sum_pairs, *sequences))
    return solve(items_of(*sequences), pair_read, pair_haplotype, engine, partial(log_probabilities, *sequences))


def sum_pairs(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, work: PairWork, precision: Precision
) -> ndarray:
    """Sum M + X over the last row of pairs sorted by length, in the scale of the precision."""
    lengths, sizes = np.diff(reads.offsets), np.diff(haplotype_offsets)
    used = np.flatnonzero(np.bincount(work.read, minlength=len(reads)))
    starts = np.zeros(len(reads), np.int64)
    starts[used] = np.cumsum(lengths[used] + 1) - lengths[used] + 2
    tables = RowTables(np.empty(int((lengths[used] + 1).sum() + 2) * COLUMNS, precision.number), starts)
    fill_tables(reads, used, precision.floor, tables)
    sums, symbols = np.empty(work.read.size, precision.number), np.empty(lanes(precision.number), precision.symbol)
    for begin in range(0, sums.size, AT_ONCE):
        own = slice(begin, begin + AT_ONCE)
        read, haplotype = work.read[own], work.haplotype[own]
        groups = lay_out(
            LaneSequences(reads.bases, reads.offsets[read], lengths[read], read),
            LaneSequences(haplotypes, haplotype_offsets[haplotype], sizes[haplotype], np.zeros_like(haplotype)),
            starts[read],
            precision,
        )
        found = np.empty(groups.scale.size, precision.number)
        sum_groups(groups, tables.terms, space_for(groups, precision), symbols, found)
        sums[own] = found[: read.size]
    return sums


def lay_out(reads: LaneSequences, haplotypes: LaneSequences, starts: ndarray, precision: Precision) -> LaneGroups:
    """Lay out pairs in lanes; `places` of the reads do not matter. starts: row of each read in the tables."""
    count = lanes(precision.number)
    first = np.arange(0, starts.size, count)
    rows = -(-np.maximum.reduceat(reads.lengths, first) // BLOCK) * BLOCK
    columns = np.maximum.reduceat(haplotypes.lengths, first)
    pads = np.repeat(rows, count)
    pads[: starts.size] -= reads.lengths
    base_offsets, haplotype_offsets = (offsets_of(-(-positions // 8) * 8) for positions in (rows, columns))
    spare = first.size * count - starts.size
    scale = np.append(precision.scale / haplotypes.lengths, np.zeros(spare)).astype(precision.number)
    width = max(count, 8)
    out = LaneGroups(
        rows,
        columns,
        empty_vectors(int(base_offsets[-1]) * width, np.int8),
        empty_vectors(int(haplotype_offsets[-1]) * width, np.int8),
        base_offsets,
        haplotype_offsets,
        pads,
        np.append(starts, np.ones(spare, np.int64)),
        scale,
    )
    reads = replace(reads, places=pads[: starts.size])
    transpose_groups(reads, width, count, base_offsets, BEFORE, out.bases)
    transpose_groups(haplotypes, width, count, haplotype_offsets, BEYOND, out.haplotypes)
    return out


def space_for(groups: LaneGroups, precision: Precision) -> LaneSpace:
    """Allocate space for the largest group."""
    count, number = lanes(precision.number), precision.number
    longest, widest = int(np.diff(groups.base_offsets).max()), int(np.diff(groups.haplotype_offsets).max())
    return LaneSpace(
        empty_vectors(longest * COLUMNS * count, number),
        empty_vectors(widest * count, number),
        empty_vectors(widest * count, number),
        np.empty(count, np.int64),
    )


@kernel
def _set_row_before(terms, row):
    for column in range(COLUMNS):
        terms[row * COLUMNS + column] = 1.0 if column in (DELETED, DELETION_STAYS) else 0.0


@kernel
def fill_tables(reads, used, floor, tables):
    """Fill the row constants of the reads that are used."""
    bases, qualities, gap_open, gap_extend, offsets = reads
    terms, starts = tables
    _set_row_before(terms, 0)
    _set_row_before(terms, 1)
    for k in range(used.size):
        read = used[k]
        begin, stop = offsets[read], offsets[read + 1]
        _set_row_before(terms, starts[read] - 1)
        place = starts[read] * COLUMNS
        for i in range(begin, stop):
            constants = row_constants(bases, qualities, gap_open, gap_extend, PROBABILITY, i, begin, stop)
            for column in range(FLOOR):
                terms[place + column] = constants[column]
            terms[place + FLOOR] = floor
            place += COLUMNS


@kernel
def _terms_into_lanes(tables, starts, pads, rows, at, terms):
    """Copy each lane's rows, to end in the last one, after rows of the table's beginning, which pass the scale on.

    A transposed square holds two rows if there are more lanes than constants, else part of a row. at: a place per lane.
    """
    count = at.size
    step = max(count, COLUMNS)
    for first in range(0, rows * COLUMNS, step):
        row = first // COLUMNS
        for lane in range(count):
            own = row - pads[lane]
            at[lane] = (starts[lane] + own if own >= -1 else 0) * COLUMNS
        for part in range(first, first + step, count):
            store_transposed(terms, part * count, tables, at)
            for lane in range(count):
                at[lane] += count


@kernel
def sum_groups(groups, tables, space, symbols, sums):
    """Sum the last rows of the pairs of all groups into sums [lanes], in the dtype of the tables.

    symbols: a vector of integers of the same width as the sums' dtype.
    """
    width = max(symbols.size, 8)
    for group in range(groups.rows.size):
        begin, stop = group * symbols.size, (group + 1) * symbols.size
        starts, pads = groups.starts[begin:stop], groups.pads[begin:stop]
        bases = groups.bases[groups.base_offsets[group] * width :]
        haplotype = groups.haplotypes[groups.haplotype_offsets[group] * width :]
        _terms_into_lanes(tables, starts, pads, groups.rows[group], space.at, space.terms)
        scale, own = groups.scale[begin:stop], sums[begin:stop]
        sum_group(bases, haplotype, space, groups.rows[group], groups.columns[group], scale, symbols, own)
