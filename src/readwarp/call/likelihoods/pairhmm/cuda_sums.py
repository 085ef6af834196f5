"""CUDA kernels of PairHMM: row constants, sums of pairs, and the choice of pairs to repeat in float64.

Thread r of a group holds rows r * K to r * K + K - 1 and computes column j one step after thread r - 1, which passes T
and X (see `cpu`) to its first row. Rows, padding, the places of fma and the order of sums are those of the CPU lanes.

Emissions are looked up rather than selected: shared memory holds those of a thread's rows for each possible haplotype
base, in pieces of 16 bytes, next to the neighbouring threads' pieces. So one load serves four rows (two in float64),
and threads have no bank conflicts, whatever their bases are. The emissions of the next column are loaded while a
column's rows wait for one another.

Rows before a read add FLOOR to their M like all others; it is lost to rounding beside the scale that they pass on.

float32 takes its constants from a table that holds each read once; float64, which few pairs need, computes them.

Arrays that the kernels share, of p pairs:

    warps     int32 [warps, 2]: the warp's segment, the number of its pairs that earlier warps take
    places    int32 [p, 5]: start of the read, its length, start of the haplotype, its size, the segment in which to
              repeat the pair in float64 (-1: none)
    segments  int32 [segments, 3]: first pair in `order`, number of pairs, threads per pair
    order     int32, pairs by segment
    sums      float64 [p]: sum of M + X over the last row; negative if computed in float64
"""

from typing import Any

import numpy as np

from readwarp.call.likelihoods.pairhmm.scalar import (
    DELETED,
    DELETION_STAYS,
    FLOAT32,
    FLOOR,
    INSERTED,
    INSERTION_STAYS,
    OTHER,
    SAME,
    UNKNOWN,
    Precision,
    is_enough,
    row_constants,
)
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP
from readwarp.device.instructions import shuffle_up
from readwarp.device.launch import kernel_factory

READ, LENGTH, HAPLOTYPE, SIZE, AGAIN = range(5)  # columns of places
BEGIN, COUNT, GROUP = range(3)  # columns of segments
SEGMENT, AHEAD = range(2)  # columns of warps


@cuda.jit(device=True)
def constants_at(phreds, i, begin, stop):
    """Return `row_constants` of base i of the read [begin, stop); phreds: the reads' arrays and P(error) by Phred."""
    bases, qualities, gap_open, gap_extend, probability = phreds
    return row_constants(bases, qualities, gap_open, gap_extend, probability, i, begin, stop)


@cuda_kernel
def fill_table(phreds, offsets, table):
    """Fill float32 [bases, COLUMNS] with the row constants of reads; a block per read."""
    begin, stop = offsets[cuda.blockIdx.x], offsets[cuda.blockIdx.x + 1]
    for i in range(begin + cuda.threadIdx.x, stop, cuda.blockDim.x):
        constants = constants_at(phreds, i, begin, stop)
        for column in range(FLOOR):
            table[i, column] = constants[column]


@cuda_kernel
def find_small(number, min_per_cell, places, segments, order, sums):
    """Append pairs whose sum is too small for float32 to the segment that repeats them, if there is one.

    One thread for each of the first `number` in `order`. min_per_cell: see `Precision`.
    """
    thread = cuda.grid(1)
    if thread >= number:
        return
    pair = order[thread]
    segment = places[pair, AGAIN]
    cells = np.float64(places[pair, LENGTH]) * np.float64(places[pair, SIZE])
    if segment >= 0 and not is_enough(sums[pair], cells, min_per_cell):
        order[segments[segment, BEGIN] + cuda.atomic.add(segments, (segment, COUNT), 1)] = pair


@cuda.jit(device=True)
def largest_of_warp(value):
    """Return the largest value among the threads of a warp, all of which take part."""
    for distance in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, distance))
    return value


@cuda.jit(device=True)
def constants_from_table(reads, i, begin, stop):
    """Return `constants_at` from the table, in float32, where haplotypes have no unknown base."""
    table = reads[1]
    return (
        table[i, SAME], table[i, OTHER], np.float32(0),
        table[i, INSERTED], table[i, DELETED], table[i, INSERTION_STAYS], table[i, DELETION_STAYS],
    )  # fmt: skip


def row_functions(rows: int, precision: Precision) -> tuple[Any, ...]:
    """Make (set_rows, look_up, go_down) of a thread with that many rows; its part of `profile` begins at `own`."""
    number, codes = precision.number, precision.codes
    width = next(n for n in (16 // np.dtype(number).itemsize, 2) if rows % n == 0)  # numbers per load
    symbol_step, row_step, floor = rows * WARP, width * WARP, number(precision.floor)
    constants_of = constants_from_table if precision is FLOAT32 else constants_at

    @cuda.jit(device=True)
    def set_rows(reads, span, top, first, profile, constants, M, Y):
        """Set the constants and first column of the rows from `top` on of the read [span); first: T above its rows."""
        begin, stop = span
        inserted, deleted, x_stays, y_stays = constants
        own, zero, one = np.uint32(cuda.threadIdx.x) * np.uint32(width), number(0), number(1)
        for k in range(rows):
            i, base = top + np.int32(k), np.int32(UNKNOWN)
            same = other = from_n = zero
            M[k] = first if i <= begin else zero
            inserted[k] = x_stays[k] = zero
            deleted[k] = y_stays[k] = one
            Y[k] = first if i < begin else zero
            if i >= begin:
                base = np.int32(reads[0][i])
                same, other, from_n, inserted[k], deleted[k], x_stays[k], y_stays[k] = constants_of(
                    reads, i, begin, stop
                )
            for code in range(codes):
                at = np.uint32(code * symbol_step + k // width * row_step + k % width) + own
                profile[at] = from_n if code == UNKNOWN else same if code == base else other

    @cuda.jit(device=True)
    def look_up(profile, own, symbol, emission):
        """Look up the emissions of the thread's rows in a column with that base."""
        at = symbol * np.uint32(symbol_step) + own * np.uint32(width)
        for k in range(rows):
            emission[k] = profile[at + np.uint32(k // width * row_step + k % width)]

    @cuda.jit(device=True)
    def go_down(T, X, constants, emission, M, Y):
        """Return (T, X) below the thread's rows in a column. emission, M: of the next column; M is first this one's."""
        inserted, deleted, x_stays, y_stays = constants
        for k in range(rows):
            above = T
            T = cuda.fma(Y[k], deleted[k], cuda.fma(X, inserted[k], M[k]))
            X = cuda.fma(X, x_stays[k], M[k])
            Y[k] = cuda.fma(Y[k], y_stays[k], M[k])
            M[k] = cuda.fma(emission[k], above, floor)
        return T, X

    return set_rows, look_up, go_down


@kernel_factory
def sum_kernel(rows: int, precision: Precision) -> Any:
    """Make the kernel for that many rows per thread in that precision; a warp per block.

    reads: (bases, table) in float32, the arguments of `constants_at` in float64.
    """
    set_rows, look_up, go_down = row_functions(rows, precision)
    number, room = precision.number, precision.codes * rows * WARP
    floor, scale = number(precision.floor), precision.scale
    mask, sign = (3, 1.0) if precision is FLOAT32 else (255, -1.0)

    @cuda_kernel
    def sum_pairs(reads, haplotypes, warps, places, segments, order, sums):
        """Sum M + X over the last row of each pair, a group of threads for each."""
        warp, lane = cuda.blockIdx.x, np.int32(cuda.threadIdx.x)
        segment, ahead = warps[warp, SEGMENT], warps[warp, AHEAD]
        begin, count, group = segments[segment, BEGIN], segments[segment, COUNT], segments[segment, GROUP]
        if ahead >= count:
            return
        own, rank = np.uint32(lane), np.int32(lane & (group - 1))
        slot = np.int32(ahead + np.int32(np.uint32(lane) // np.uint32(group)))
        pair = order[begin + min(slot, np.int32(count - 1))]
        size, read, haplotype = places[pair, SIZE], places[pair, READ], np.uint32(places[pair, HAPLOTYPE])
        stop, widest, first = read + places[pair, LENGTH], largest_of_warp(size), number(scale / size)
        profile = cuda.shared.array(room, number, alignment=16)
        constants = (
            cuda.local.array(rows, number), cuda.local.array(rows, number),
            cuda.local.array(rows, number), cuda.local.array(rows, number),
        )  # fmt: skip
        emission, M, Y = cuda.local.array(rows, number), cuda.local.array(rows, number), cuda.local.array(rows, number)
        top = np.int32(stop - (group - rank) * np.int32(rows))
        set_rows(reads, (read, stop), top, first, profile, constants, M, Y)
        look_up(profile, own, np.uint32(haplotypes[haplotype] & mask), emission)
        for k in range(rows):
            M[k] = cuda.fma(emission[k], M[k], floor)
        T = X = total = number(0)
        place, end = np.uint32(haplotype - np.uint32(rank)), np.uint32(haplotype + size)
        last = np.uint32(place + np.uint32(widest + group - 1))
        symbol = np.uint32(haplotypes[haplotype + np.uint32(1)] & mask)
        while place != last:
            T, X = shuffle_up(T), shuffle_up(X)
            if rank == 0:
                T, X = first, number(0)
            if place >= haplotype:  # threads begin one after the other
                following = np.uint32(haplotypes[place + np.uint32(2)] & mask)
                look_up(profile, own, symbol, emission)
                T, X = go_down(T, X, constants, emission, M, Y)
                if place < end:
                    total += T
                symbol = following
            place = np.uint32(place + np.uint32(1))
        if rank == np.int32(group - 1) and slot < count:
            sums[pair] = sign * total

    return sum_pairs
