"""PairHMM on CUDA: a group of 4 to 32 threads per pair, each with several rows of the read in registers.

Thread r of a group holds rows r * K to r * K + K - 1 of the group's, and works on column j one step after thread r - 1
did: what that handed down then (T and X, see `lanes`) is what its first row takes. Rows, padding, places of fma and the
order of sums are those of the CPU lanes, so sums have the same bits. Group and K follow from the read's
length; reads that no shape holds (more than 512 bases, 256 in float64) are computed on the host.

The simulator has neither shuffles nor fma: there `handed` goes through shared memory, with all of a block in step, and
`fused` rounds a float64 sum to float32, which differs from an fma in the last bit, rarely.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows, cpu
from readwarp.call.pairhmm.pairs import PROBABILITY, solve
from readwarp.call.pairhmm.scalar import (
    BEFORE,
    COLUMNS,
    DELETED,
    DELETION_STAYS,
    FLOOR,
    FLOOR_BITS,
    FROM_N,
    INSERTED,
    INSERTION_STAYS,
    LEAST_OPEN,
    OTHER,
    SAME,
    SCALE_BITS,
    UNKNOWN,
    emissions,
    transitions,
)
from readwarp.device.backend import is_simulated
from readwarp.device.jit import cuda

GROUPS = (4, 8, 16, 32)  # threads per pair
ROWS = {4: (6, 8, 10, 12, 14, 16), 8: (4, 6, 8)}  # per thread, by the bytes of a number: even ones compile to less
OF_ROW, OF_STEP = 7, 26  # instructions of the inner loop, about
MARGIN = 32  # bases around all haplotypes, which threads that are early or late may touch
WARP = 32
BLOCK = 128  # threads; one group in the simulator


def log_likelihoods(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract. Takes and gives host arrays."""
    lengths, sizes = np.diff(reads.offsets), np.diff(haplotype_offsets)

    def engine(read: ndarray, haplotype: ndarray, dtype: Any) -> ndarray:
        columns = (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend, reads.offsets)
        there, padded = [cuda.to_device(x) for x in columns], cuda.to_device(np.pad(haplotypes, MARGIN))
        tables = tables_of(there, dtype)
        sums = np.empty(read.size, dtype)
        shapes = shape_table(np.dtype(dtype).itemsize)
        shape = shapes[np.minimum(lengths[read], shapes.size - 1)]
        for each in np.unique(shape).tolist():
            chosen = np.flatnonzero(shape == each)
            some_reads, some = read[chosen], haplotype[chosen]
            if each == 0:
                sums[chosen] = cpu.sums_of(reads, haplotypes, haplotype_offsets, some_reads, some, dtype)
                continue
            where = (reads.offsets[some_reads], lengths[some_reads], haplotype_offsets[some] + MARGIN, sizes[some])
            sums[chosen] = launch(each // 100, each % 100, dtype, there[0], tables, padded, where)
        return sums

    return solve(reads, haplotypes, haplotype_offsets, pair_read, pair_haplotype, engine)


@lru_cache
def shape_table(bytes_each: int) -> ndarray:
    """By read length: 100 * threads + rows of each, the fewest instructions for a column; 0 behind the longest."""
    shapes = [(group, rows) for rows in ROWS[bytes_each] for group in GROUPS]
    table = np.zeros(max(group * rows for group, rows in shapes) + 2, np.int64)
    for length in range(table.size - 1):
        costs = [(g * (OF_ROW * k + OF_STEP), g, k) for g, k in shapes if g * k >= length]
        table[length] = 100 * min(costs)[1] + min(costs)[2]
    return table


def launch(
    group: int, rows: int, dtype: Any, bases: Any, tables: Any, haplotypes: Any, where: tuple[ndarray, ...]
) -> ndarray:
    """Sums of pairs: where their reads begin, lengths, where their haplotypes begin, sizes."""
    pairs = where[0].size
    warp, block = (group, group) if is_simulated() else (WARP, BLOCK)
    steps = np.maximum.reduceat(where[3], np.arange(0, pairs, warp // group)) + group - 1
    read_starts, lengths, starts, sizes = (
        cuda.to_device(x.astype(t)) for x, t in zip(where, (np.int64, np.int32, np.int64, np.int32), strict=True)
    )
    sums = cuda.device_array(pairs, dtype)
    sum_kernel(rows, np.dtype(dtype).itemsize)[-(-pairs * group // block), block](
        bases, tables, read_starts, lengths, haplotypes, starts, sizes, cuda.to_device(steps.astype(np.int32)),
        np.int32(group), np.int32(warp), 2.0 ** SCALE_BITS[np.dtype(dtype).itemsize], sums,
    )  # fmt: skip
    return sums.copy_to_host()


def tables_of(reads: list[Any], dtype: Any) -> Any:
    """Constants of all rows, on the card."""
    tables = cuda.device_array((max(1, reads[0].size), COLUMNS), dtype)
    number = reads[4].size - 1
    floor = 2.0 ** FLOOR_BITS[np.dtype(dtype).itemsize]
    threads = 8 if is_simulated() else BLOCK
    fill_tables[-(-number // threads), threads](*reads, cuda.to_device(PROBABILITY), floor, tables)
    return tables


@cuda.jit
def fill_tables(bases, qualities, gap_open, gap_extend, offsets, probability, floor, tables):
    """See groups.fill_tables; one read a thread."""
    read = cuda.grid(1)
    if read >= offsets.size - 1:
        return
    begin, stop = offsets[read], offsets[read + 1]
    straight_before = 1.0
    for i in range(begin, stop):
        opening = probability[max(gap_open[i], LEAST_OPEN)]
        opening_before = probability[max(gap_open[max(i - 1, begin)], LEAST_OPEN)]
        extending = probability[gap_extend[i]]
        same, other, from_n = emissions(probability[qualities[i]], qualities[i], bases[i])
        straight, inserted, deleted, stays = transitions(opening, extending, opening_before)
        tables[i, SAME] = same * straight_before
        tables[i, OTHER] = other * straight_before
        tables[i, FROM_N] = from_n * straight_before
        tables[i, INSERTED] = inserted if i + 1 < stop else opening_before
        tables[i, DELETED] = deleted if i + 1 < stop else 0.0
        tables[i, INSERTION_STAYS] = stays
        tables[i, DELETION_STAYS] = extending
        tables[i, FLOOR] = floor
        straight_before = straight


if is_simulated():

    @cuda.jit(device=True)
    def handed(value):
        """The value of the thread before."""
        shared = cuda.shared.array(WARP, np.float64)
        cuda.syncthreads()
        shared[cuda.threadIdx.x] = value
        cuda.syncthreads()
        return type(value)(shared[max(cuda.threadIdx.x, 1) - 1])

    @cuda.jit(device=True)
    def fused(a, b, c):
        """a * b + c"""
        return type(c)(np.float64(a) * np.float64(b) + np.float64(c))

else:

    @cuda.jit(device=True)
    def handed(value):
        """The value of the thread before."""
        return cuda.shfl_up_sync(0xFFFFFFFF, value, 1)

    @cuda.jit(device=True)
    def fused(a, b, c):
        """a * b + c, rounded once."""
        return cuda.fma(a, b, c)


@lru_cache
def sum_kernel(rows: int, bytes_each: int) -> Any:
    """The kernel of that many rows per thread, in numbers of that many bytes."""
    number, is_wide = (np.float32, False) if bytes_each == 4 else (np.float64, True)

    @cuda.jit
    def sum_pairs(bases, tables, read_starts, lengths, haplotypes, starts, sizes, steps, group, warp, scale, sums):
        """Sum of M + X over the last row of one pair; steps: columns of a warp's longest pair, and group - 1."""
        thread = np.int32(cuda.grid(1))
        rank = thread % group
        pair = min(thread // group, np.int32(sums.size - 1))
        first, zero, one = number(scale / sizes[pair]), number(0), number(1)
        base = cuda.local.array(rows, np.int32)
        same = cuda.local.array(rows, number)
        other = cuda.local.array(rows, number)
        from_n = cuda.local.array(rows, number)
        inserted = cuda.local.array(rows, number)
        deleted = cuda.local.array(rows, number)
        x_stays = cuda.local.array(rows, number)
        y_stays = cuda.local.array(rows, number)
        floor = cuda.local.array(rows, number)
        before = cuda.local.array(rows, number)
        M = cuda.local.array(rows, number)
        Y = cuda.local.array(rows, number)
        top = np.int32(rank * np.int32(rows) - (group * np.int32(rows) - lengths[pair]))
        for k in range(rows):
            row, base[k], Y[k] = top + np.int32(k), np.int32(BEFORE), zero
            before[k] = first if row <= 0 else zero
            same[k] = other[k] = from_n[k] = inserted[k] = x_stays[k] = floor[k] = zero
            deleted[k] = y_stays[k] = one
            if row < 0:
                Y[k] = first
            else:
                i = read_starts[pair] + row
                base[k] = bases[i]
                same[k], other[k], from_n[k] = tables[i, SAME], tables[i, OTHER], tables[i, FROM_N]
                inserted[k], deleted[k] = tables[i, INSERTED], tables[i, DELETED]
                x_stays[k], y_stays[k] = tables[i, INSERTION_STAYS], tables[i, DELETION_STAYS]
                floor[k] = tables[i, FLOOR]
        T = X = total = zero
        place, columns = np.uint64(starts[pair] - rank), np.int32(sizes[pair] + rank)
        step, stop = np.int32(0), steps[min(thread // warp, np.int32(steps.size - 1))]
        symbol = np.int32(haplotypes[place])
        while step < stop:
            T, X = handed(T), handed(X)
            if rank == 0:
                T, X = first, zero
            place += np.uint64(1)
            following = np.int32(haplotypes[place])
            if step >= rank:
                for k in range(rows):  # all of M before any T: the registers of `before` are then free for T
                    emission = same[k] if symbol == base[k] else other[k]
                    if is_wide and symbol == UNKNOWN:
                        emission = from_n[k]
                    M[k] = fused(emission, before[k], floor[k])
                for k in range(rows):
                    before[k] = T
                    T = fused(Y[k], deleted[k], fused(X, inserted[k], M[k]))
                    X = fused(X, x_stays[k], M[k])
                    Y[k] = fused(Y[k], y_stays[k], M[k])
                if step < columns:
                    total += T
            symbol, step = following, np.int32(step + 1)
        if rank == group - 1 and thread // group < sums.size:
            sums[pair] = total

    return sum_pairs
