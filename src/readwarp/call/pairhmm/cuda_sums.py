"""Kernels of PairHMM on CUDA: constants of rows, sums of pairs, and which pairs float64 has to do again.

Thread r of a group holds rows r * K to r * K + K - 1 of the group's, and works on column j one step after thread r - 1
did: what that handed down then (T and X, see `lanes`) is what its first row takes. Rows, padding, places of fma and the
order of sums are those of the CPU lanes.

Emissions are not chosen but looked up: shared memory holds, for each base that a haplotype may have, those of a
thread's rows, 16 bytes of a thread beside those of its neighbours. So one load serves four rows (two in float64), and
no two threads meet in a bank, whatever their bases are.

Arrays that the kernels share, of p pairs:

    places    int32 [p, 5]: where the read begins, its length, where the haplotype begins, its size, the launch that
              would do the pair again in float64 (-1 none)
    segments  int32 [launches, 2]: where the launch's pairs begin in `chosen`, how many there are
    chosen    int32, pairs by launch
    sums      float64 [p]: of M + X over the last row; those made in float64 are negative
"""

from functools import lru_cache
from typing import Any

import numpy as np

from readwarp.call.pairhmm.scalar import (
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
    is_enough,
    row_constants,
)
from readwarp.device.cuda_launch import WARP
from readwarp.device.instructions import handed
from readwarp.device.jit import cuda, cuda_kernel

READ, LENGTH, HAPLOTYPE, SIZE, AGAIN = range(5)  # columns of places
BLOCK = 64  # threads
SYMBOLS = {4: 4, 8: 5}  # bases of a haplotype, by the bytes of a number; only float64 knows unknown ones


@cuda_kernel
def fill_tables(bases, qualities, gap_open, gap_extend, offsets, probability, narrow, wide):
    """Constants of a read's rows, in float32 and float64 [bases, COLUMNS]; a block per read."""
    begin, stop = offsets[cuda.blockIdx.x], offsets[cuda.blockIdx.x + 1]
    for i in range(begin + cuda.threadIdx.x, stop, cuda.blockDim.x):
        opening = probability[max(gap_open[i], LEAST_OPEN)]
        opening_before = probability[max(gap_open[max(i - 1, begin)], LEAST_OPEN)]
        constants = row_constants(
            probability[qualities[i]], qualities[i], bases[i],
            opening, probability[gap_extend[i]], opening_before, i == begin, i + 1 == stop,
        )  # fmt: skip
        for column in range(FLOOR):
            narrow[i, column] = wide[i, column] = constants[column]


@cuda_kernel
def find_small(number, least, places, segments, chosen, sums):
    """Append the pairs whose sum is too small for float32 to the launch that does them again, if there is one.

    One thread for each of the first `number` of `chosen`. least: what a sum must reach for each of its cells.
    """
    thread = cuda.grid(1)
    if thread >= number:
        return
    pair = chosen[thread]
    launch = places[pair, AGAIN]
    cells = np.float64(places[pair, LENGTH]) * np.float64(places[pair, SIZE])
    if launch >= 0 and not is_enough(sums[pair], cells, least):
        chosen[segments[launch, 0] + cuda.atomic.add(segments, (launch, 1), 1)] = pair


@cuda.jit(device=True)
def widest_of(places, chosen, first, behind):
    """The size of the longest haplotype among chosen[first : behind]."""
    widest = np.int32(0)
    for each in range(first, behind):
        widest = max(widest, places[chosen[each], SIZE])
    return widest


@lru_cache
def sum_kernel(rows: int, bytes_each: int) -> Any:
    """The kernel of that many rows per thread, in numbers of that many bytes."""
    number, symbols = (np.float32 if bytes_each == 4 else np.float64), SYMBOLS[bytes_each]
    width = next(n for n in (16 // bytes_each, 2) if rows % n == 0)  # numbers that are loaded at once
    room, symbol_step, row_step = symbols * rows * BLOCK, rows * BLOCK, width * BLOCK
    least_normal, scale = 2.0 ** FLOOR_BITS[bytes_each], 2.0 ** SCALE_BITS[bytes_each]
    mask, sign = (3, 1.0) if bytes_each == 4 else (255, -1.0)

    @cuda_kernel
    def sum_pairs(bases, tables, haplotypes, launch, group, places, segments, chosen, sums):
        """Sum of M + X over the last row of each pair of one launch, a group of threads for each."""
        thread, own = np.int32(cuda.grid(1)), np.uint32(cuda.threadIdx.x)
        rank, slot, begin, count = thread % group, thread // group, segments[launch, 0], segments[launch, 1]
        ahead = np.int32((thread - thread % np.int32(WARP)) // group)
        if ahead >= count:
            return
        widest = widest_of(places, chosen, begin + ahead, begin + min(ahead + np.int32(WARP) // group, count))
        pair = chosen[begin + min(slot, np.int32(count - 1))]
        size, read, haplotype = places[pair, SIZE], places[pair, READ], np.uint32(places[pair, HAPLOTYPE])
        first, zero, one = number(scale / size), number(0), number(1)
        profile = cuda.shared.array(room, number, alignment=16)
        inserted, deleted = cuda.local.array(rows, number), cuda.local.array(rows, number)
        x_stays, y_stays = cuda.local.array(rows, number), cuda.local.array(rows, number)
        floor, before = cuda.local.array(rows, number), cuda.local.array(rows, number)
        M, Y = cuda.local.array(rows, number), cuda.local.array(rows, number)
        top = np.int32(rank * np.int32(rows) - (group * np.int32(rows) - places[pair, LENGTH]))
        for k in range(rows):
            i, base = top + np.int32(k), np.int32(UNKNOWN)
            same = other = from_n = zero
            before[k] = first if i <= 0 else zero
            inserted[k] = x_stays[k] = floor[k] = zero
            deleted[k] = y_stays[k] = one
            Y[k] = first if i < 0 else zero
            if i >= 0:
                i += read
                base, same, other, from_n = np.int32(bases[i]), tables[i, SAME], tables[i, OTHER], tables[i, FROM_N]
                inserted[k], deleted[k] = tables[i, INSERTED], tables[i, DELETED]
                x_stays[k], y_stays[k] = tables[i, INSERTION_STAYS], tables[i, DELETION_STAYS]
                floor[k] = number(least_normal)
            for code in range(symbols):
                at = np.uint32(code * symbol_step + k // width * row_step + k % width) + own * np.uint32(width)
                profile[at] = from_n if code == UNKNOWN else same if code == base else other
        T = X = total = zero
        place, stop = np.uint32(haplotype - rank), np.uint32(haplotype - rank + widest + group - 1)
        behind, symbol = np.uint32(haplotype + size), np.uint32(haplotypes[place] & mask)
        while place != stop:
            T, X = handed(T), handed(X)
            if rank == 0:
                T, X = first, zero
            following = np.uint32(haplotypes[place + np.uint32(1)] & mask)
            if place >= haplotype:
                at = symbol * np.uint32(symbol_step) + own * np.uint32(width)
                for k in range(rows):  # all of M before any T: the registers of `before` are then free for T
                    emission = profile[at + np.uint32(k // width * row_step + k % width)]
                    M[k] = cuda.fma(emission, before[k], floor[k])
                for k in range(rows):
                    before[k] = T
                    T = cuda.fma(Y[k], deleted[k], cuda.fma(X, inserted[k], M[k]))
                    X = cuda.fma(X, x_stays[k], M[k])
                    Y[k] = cuda.fma(Y[k], y_stays[k], M[k])
                if place < behind:
                    total += T
            symbol, place = following, np.uint32(place + np.uint32(1))
        if rank == group - 1 and slot < count:
            sums[pair] = sign * total

    return sum_pairs
