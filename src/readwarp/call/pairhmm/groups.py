"""Pairs into groups of lanes, and the constants of the rows of reads. Kernels only; `cpu` chooses what runs."""

import numpy as np

from readwarp.call.pairhmm.lanes import BLOCK, sum_group
from readwarp.call.pairhmm.scalar import (
    BEFORE,
    BEYOND,
    COLUMNS,
    DELETED,
    DELETION_STAYS,
    FLOOR,
    LEAST_OPEN,
    row_constants,
)
from readwarp.device.jit import kernel
from readwarp.device.simd import empty_vectors, store_transposed
from readwarp.pairwise.transpose import Sequences, rounded_up, transpose


@kernel
def _row_before(tables, row):
    for column in range(COLUMNS):
        tables[row * COLUMNS + column] = 1.0 if column in (DELETED, DELETION_STAYS) else 0.0


@kernel
def fill_tables(reads, chosen, probability, floor, table_offsets, tables):
    """Constants of the rows of the chosen reads, as `tables` [row * COLUMNS + column] in its dtype.

    reads: bases, qualities, gap_open, gap_extend, offsets. probability [256]: 10 ** (-Phred / 10).
    table_offsets [reads]: first row of each chosen read. The two rows at the beginning and the one before each read
    hand the scale down.
    """
    bases, qualities, gap_open, gap_extend, offsets = reads
    _row_before(tables, 0)
    _row_before(tables, 1)
    for read in chosen:
        begin, stop = offsets[read], offsets[read + 1]
        _row_before(tables, table_offsets[read] - 1)
        k = table_offsets[read] * COLUMNS
        for i in range(begin, stop):
            opening = probability[max(gap_open[i], LEAST_OPEN)]
            opening_before = probability[max(gap_open[max(i - 1, begin)], LEAST_OPEN)]
            constants = row_constants(
                probability[qualities[i]], qualities[i], bases[i],
                opening, probability[gap_extend[i]], opening_before, i == begin, i + 1 == stop,
            )  # fmt: skip
            for column in range(FLOOR):
                tables[k + column] = constants[column]
            tables[k + FLOOR] = floor
            k += COLUMNS


@kernel
def _terms_into_lanes(tables, starts, pads, count, rows, terms):
    """Each lane's rows end in the last one; before them lie rows of its table's beginning, which hand the scale down.

    A square of `transposed` holds two rows where there are more lanes than constants, else a part of a row.
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
def sum_sorted(read_bases, read_starts, lengths, tables, table_starts, haplotypes, starts, sizes, scale, symbols, sums):
    """Sums over the last row of pairs in the order given, a group of lanes at a time.

    Per pair: read_starts, lengths, table_starts of its read; starts, sizes of its haplotype. symbols: a vector's worth
    of the integers that go with the dtype of `tables`.
    """
    count, longest, widest = symbols.size, 0, 0
    for pair in range(lengths.size):
        longest, widest = max(longest, lengths[pair]), max(widest, sizes[pair])
    longest, widest = rounded_up(longest + BLOCK), rounded_up(widest)
    width, terms = max(count, 8), empty_vectors(longest * COLUMNS * count, tables.dtype)
    bases, haplotype = empty_vectors(longest * width, np.int8), empty_vectors(widest * width, np.int8)
    above, insertion = empty_vectors(widest * count, tables.dtype), empty_vectors(widest * count, tables.dtype)
    first_row, found = np.zeros(count, tables.dtype), np.empty(count, tables.dtype)
    pads, none, own = np.empty(count, np.int64), np.zeros(count, np.int64), np.empty(count, np.int64)
    for begin in range(0, lengths.size, count):
        stop, rows, columns = min(begin + count, lengths.size), 0, 0
        for pair in range(begin, stop):
            rows, columns = max(rows, lengths[pair]), max(columns, sizes[pair])
        rows = (rows + BLOCK - 1) // BLOCK * BLOCK
        for lane in range(count):
            pair = begin + lane
            pads[lane] = rows - lengths[pair] if pair < stop else rows
            own[lane] = table_starts[pair] if pair < stop else 1
            first_row[lane] = scale / sizes[pair] if pair < stop else 0.0
        codes = Sequences(read_bases, read_starts[begin:stop], lengths[begin:stop], pads)
        transpose(codes, count, rows, BEFORE, bases, bases)
        codes = Sequences(haplotypes, starts[begin:stop], sizes[begin:stop], none)
        transpose(codes, count, columns, BEYOND, bases, haplotype)
        _terms_into_lanes(tables, own, pads, count, rows, terms)
        sum_group(haplotype, columns, bases, symbols, terms, rows, first_row, above, insertion, found)
        for pair in range(begin, stop):
            sums[pair] = found[pair - begin]
