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
    FROM_N,
    INSERTED,
    INSERTION_STAYS,
    LEAST_OPEN,
    OTHER,
    SAME,
    emissions,
    transitions,
)
from readwarp.device.jit import kernel
from readwarp.pairwise.transpose import rounded_up, transpose


@kernel
def fill_tables(reads, chosen, probability, floor, table_offsets, tables):
    """Constants of the rows of the chosen reads, as `tables` [row * COLUMNS + column] in its dtype.

    reads: bases, qualities, gap_open, gap_extend, offsets. probability [256]: 10 ** (-Phred / 10).
    table_offsets [reads]: first row of each chosen read.
    """
    bases, qualities, gap_open, gap_extend, offsets = reads
    for read in chosen:
        begin, stop = offsets[read], offsets[read + 1]
        k = table_offsets[read] * COLUMNS
        straight_before = 1.0
        for i in range(begin, stop):
            opening = probability[max(gap_open[i], LEAST_OPEN)]
            opening_before = probability[max(gap_open[max(i - 1, begin)], LEAST_OPEN)]
            extending = probability[gap_extend[i]]
            same, other, from_n = emissions(probability[qualities[i]], qualities[i], bases[i])
            straight, inserted, deleted, stays = transitions(opening, extending, opening_before)
            tables[k + SAME] = same * straight_before
            tables[k + OTHER] = other * straight_before
            tables[k + FROM_N] = from_n * straight_before
            tables[k + INSERTED] = inserted if i + 1 < stop else opening_before
            tables[k + DELETED] = deleted if i + 1 < stop else 0.0
            tables[k + INSERTION_STAYS] = stays
            tables[k + DELETION_STAYS] = extending
            tables[k + FLOOR] = floor
            k, straight_before = k + COLUMNS, straight


@kernel
def _terms_into_lanes(tables, starts, lengths, count, rows, terms):
    """Each lane's rows end in the last one; what the rows before them hold is said in `lanes`."""
    for lane in range(count):
        length = lengths[lane] if lane < lengths.size else 0
        pads = rows - length
        for row in range(pads):
            for column in range(COLUMNS):
                stays = column in (DELETED, DELETION_STAYS)
                terms[(row * COLUMNS + column) * count + lane] = 1.0 if stays else 0.0
    chunk = 32 * COLUMNS
    for begin in range(0, rows * COLUMNS, chunk):
        for lane in range(lengths.size):
            first = (rows - lengths[lane]) * COLUMNS
            source = starts[lane] * COLUMNS - first
            for k in range(max(begin, first), min(begin + chunk, rows * COLUMNS)):
                terms[k * count + lane] = tables[source + k]


@kernel
def sum_sorted(read_bases, read_starts, lengths, tables, table_starts, haplotypes, starts, sizes, scale, symbols, sums):
    """Sums over the last row of pairs in the order given, a group of lanes at a time.

    Per pair: read_starts, lengths, table_starts of its read; starts, sizes of its haplotype. symbols: a vector's worth
    of the integers that go with the dtype of `tables`.
    """
    count = symbols.size
    longest, widest = rounded_up(lengths.max() + BLOCK), rounded_up(sizes.max())
    bases, terms = np.empty(longest * count, symbols.dtype), np.empty(longest * COLUMNS * count, tables.dtype)
    haplotype, narrow = np.empty(widest * count, symbols.dtype), np.empty(max(longest, widest) * max(count, 8), np.int8)
    above, insertion = np.empty(widest * count, tables.dtype), np.empty(widest * count, tables.dtype)
    first_row, found = np.zeros(count, tables.dtype), np.empty(count, tables.dtype)
    for begin in range(0, lengths.size, count):
        stop = min(begin + count, lengths.size)
        rows = (lengths[begin:stop].max() + BLOCK - 1) // BLOCK * BLOCK
        columns = sizes[begin:stop].max()
        pads = rows - lengths[begin:stop]
        transpose(read_bases, read_starts[begin:stop], lengths[begin:stop], pads, count, rows, BEFORE, narrow, bases)
        transpose(
            haplotypes, starts[begin:stop], sizes[begin:stop], 0 * pads, count, columns, BEYOND, narrow, haplotype
        )
        _terms_into_lanes(tables, table_starts[begin:stop], lengths[begin:stop], count, rows, terms)
        for lane in range(stop - begin):
            first_row[lane] = scale / sizes[begin + lane]
        sum_group(haplotype, columns, bases, terms, rows, first_row, above, insertion, found)
        for lane in range(stop - begin):
            sums[begin + lane] = found[lane]
