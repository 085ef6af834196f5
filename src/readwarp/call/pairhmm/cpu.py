"""PairHMM on CPU lanes: pairs in groups of lanes, with the constants of their reads' rows from a table."""

from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.lanes import BLOCK, Space, sum_group
from readwarp.call.pairhmm.pairs import Work, items_of, log_probabilities, solve, sum_in_turn
from readwarp.call.pairhmm.scalar import (
    BEFORE,
    BEYOND,
    COLUMNS,
    DELETED,
    DELETION_STAYS,
    FLOOR,
    PROBABILITY,
    Precision,
    row_constants,
)
from readwarp.device.jit import kernel
from readwarp.device.simd import empty_vectors, lanes, store_transposed
from readwarp.pairwise.pairs import Pairs
from readwarp.pairwise.transpose import Sequences, rounded_up, transpose


class Tables(NamedTuple):
    """Constants of the rows of reads, `terms[row * COLUMNS + column]`, in the dtype of the sums.

    The two rows at the beginning and the one before each read pass the scale on.
    """

    terms: ndarray
    starts: Annotated[ndarray, "int64 [reads]"]  # the first row of each


def log_likelihoods(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract. May be called from several threads at once."""
    sequences = reads, haplotypes, haplotype_offsets
    engine = partial(sum_in_turn, partial(sum_pairs, *sequences))
    return solve(items_of(*sequences), pair_read, pair_haplotype, engine, partial(log_probabilities, *sequences))


def sum_pairs(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, work: Work, precision: Precision
) -> ndarray:
    """Sums of M + X over the last row of pairs, which are sorted by length; in the scale of the precision."""
    lengths = np.diff(reads.offsets)
    used = np.flatnonzero(np.bincount(work.read, minlength=len(reads)))
    starts = np.zeros(len(reads), np.int64)
    starts[used] = np.cumsum(lengths[used] + 1) - lengths[used] + 2
    tables = Tables(np.empty(int((lengths[used] + 1).sum() + 2) * COLUMNS, precision.number), starts)
    fill_tables(reads, used, precision.floor, tables)
    pairs = Pairs(
        queries=reads.bases,
        query_starts=reads.offsets[work.read],
        query_lengths=lengths[work.read],
        targets=haplotypes,
        target_starts=haplotype_offsets[work.haplotype],
        target_lengths=np.diff(haplotype_offsets)[work.haplotype],
    )
    sums, symbols = np.empty(len(pairs), precision.number), np.empty(lanes(precision.number), precision.symbol)
    sum_sorted(pairs, work.read, tables, precision.scale, symbols, sums)
    return sums


@kernel
def _set_row_before(terms, row):
    for column in range(COLUMNS):
        terms[row * COLUMNS + column] = 1.0 if column in (DELETED, DELETION_STAYS) else 0.0


@kernel
def fill_tables(reads, used, floor, tables):
    """Constants of the rows of the reads that are used."""
    bases, qualities, gap_open, gap_extend, offsets = reads
    terms, starts = tables
    _set_row_before(terms, 0)
    _set_row_before(terms, 1)
    for read in used:
        begin, stop = offsets[read], offsets[read + 1]
        _set_row_before(terms, starts[read] - 1)
        k = starts[read] * COLUMNS
        for i in range(begin, stop):
            constants = row_constants(bases, qualities, gap_open, gap_extend, PROBABILITY, i, begin, stop)
            for column in range(FLOOR):
                terms[k + column] = constants[column]
            terms[k + FLOOR] = floor
            k += COLUMNS


@kernel
def _terms_into_lanes(tables, starts, pads, count, rows, terms):
    """Each lane's rows end in the last one; before them are rows from the table's beginning, which pass the scale on.

    A transposed square holds two rows if there are more lanes than constants, else part of a row.
    """
    at = np.empty(count, np.int64)
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
def sum_sorted(pairs, read, tables, scale, symbols, sums):
    """Sums over the last row of pairs in the order given, a group of lanes at a time.

    read: of each pair, in `tables`. symbols: a vector of the integers that go with the dtype of the sums.
    """
    reads, read_starts, lengths, haplotypes, starts, sizes = pairs
    terms, table_starts = tables
    count, longest, widest = symbols.size, 0, 0
    for pair in range(lengths.size):
        longest, widest = max(longest, lengths[pair]), max(widest, sizes[pair])
    longest, widest = rounded_up(longest + BLOCK), rounded_up(widest)
    width = max(count, 8)
    space = Space(
        empty_vectors(longest * width, np.int8),
        empty_vectors(longest * COLUMNS * count, terms.dtype),
        empty_vectors(widest * width, np.int8),
        empty_vectors(widest * count, terms.dtype),
        empty_vectors(widest * count, terms.dtype),
    )
    first_row, found = np.zeros(count, terms.dtype), np.empty(count, terms.dtype)
    pads, none, own = np.empty(count, np.int64), np.zeros(count, np.int64), np.empty(count, np.int64)
    for begin in range(0, lengths.size, count):
        stop, rows, columns = min(begin + count, lengths.size), 0, 0
        for pair in range(begin, stop):
            rows, columns = max(rows, lengths[pair]), max(columns, sizes[pair])
        rows = (rows + BLOCK - 1) // BLOCK * BLOCK
        for lane in range(count):
            pair = begin + lane
            pads[lane] = rows - lengths[pair] if pair < stop else rows
            own[lane] = table_starts[read[pair]] if pair < stop else 1
            first_row[lane] = scale / sizes[pair] if pair < stop else 0.0
        bases, haplotype = space.bases, space.haplotype
        codes = Sequences(reads, read_starts[begin:stop], lengths[begin:stop], pads)
        transpose(codes, width, rows, BEFORE, bases)
        codes = Sequences(haplotypes, starts[begin:stop], sizes[begin:stop], none)
        transpose(codes, width, columns, BEYOND, haplotype)
        _terms_into_lanes(terms, own, pads, count, rows, space.terms)
        sum_group(space, rows, columns, first_row, symbols, found)
        for pair in range(begin, stop):
            sums[pair] = found[pair - begin]
