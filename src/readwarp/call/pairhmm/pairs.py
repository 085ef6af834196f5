"""Which pairs are computed, in which order and precision: equal ones once, and again where a sum came out too small."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.batches import Status
from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.logarithms import log_probabilities
from readwarp.call.pairhmm.scalar import FLOOR_BITS, MARGIN_BITS, SCALE_BITS, UNKNOWN
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of

LOG10_2 = math.log10(2.0)
BUCKET = 8  # rows by which reads of one group of lanes may differ
PROBABILITY = 10.0 ** (-0.1 * np.arange(256))  # of an error, by Phred

# (read [n], haplotype [n], float32 or float64) -> sums of M + X over the last row, in that type and its scale
Engine = Callable[[ndarray, ndarray, Any], ndarray]


def solve(
    reads: ReadRows,
    haplotypes: ndarray,
    haplotype_offsets: ndarray,
    pair_read: ndarray,
    pair_haplotype: ndarray,
    engine: Engine,
) -> tuple[ndarray, ndarray]:
    """log10 P of each pair and its status, by sums that `engine` computes."""
    lengths, sizes = np.diff(reads.offsets), np.diff(haplotype_offsets)
    if pair_haplotype.size and sizes[pair_haplotype].min() == 0:
        raise ValueError("a haplotype has no bases")
    keys = pair_read.astype(np.int64) * sizes.size + pair_haplotype
    if keys.size:
        contents = (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend)
        same_read = first_of_kind(contents, reads.offsets)
        same_haplotype = first_of_kind((haplotypes,) * 4, haplotype_offsets)
        keys = same_read[pair_read] * sizes.size + same_haplotype[pair_haplotype]
    keys, inverse = np.unique(keys, return_inverse=True)
    read, haplotype = np.divmod(keys, max(1, sizes.size))
    values = np.where(lengths[read] > 0, np.nan, 0.0)
    order = np.lexsort((read, sizes[haplotype], -(-lengths[read] // BUCKET)))
    unknown = offsets_of(haplotypes >= UNKNOWN)
    is_known = unknown[haplotype_offsets[1:]] == unknown[haplotype_offsets[:-1]]
    for dtype in (np.float32, np.float64):
        left = order[np.isnan(values[order])]
        chosen = left[is_known[haplotype[left]]] if dtype is np.float32 else left
        if chosen.size:
            cells = lengths[read[chosen]] * sizes[haplotype[chosen]]
            sums = engine(read[chosen], haplotype[chosen], dtype)
            values[chosen] = logarithms(sums.astype(np.float64), cells, *bits_of(dtype))
    left = order[np.isnan(values[order])]
    if left.size:
        values[left] = log_probabilities(
            contents, reads.offsets, haplotypes, haplotype_offsets, read[left], haplotype[left], PROBABILITY
        )
    return values[inverse], np.full(pair_read.size, Status.OK, np.uint8)


def bits_of(dtype: Any) -> tuple[int, float]:
    """(bits of the scale, what a sum must reach for each of its cells)"""
    bytes_each = np.dtype(dtype).itemsize
    return SCALE_BITS[bytes_each], 2.0 ** (FLOOR_BITS[bytes_each] + MARGIN_BITS)


@kernel
def logarithms(sums, cells, scale_bits, least):
    """log10 of the sums without their scale; NaN where the floor, or what was rounded off below it, might matter."""
    out = np.empty(sums.size, np.float64)
    for k in range(sums.size):
        is_enough = least * cells[k] <= sums[k] < math.inf
        out[k] = math.log10(sums[k]) - scale_bits * LOG10_2 if is_enough else math.nan
    return out


@kernel
def _hash(contents, begin, stop):
    """FNV-1a over the bytes of all arrays."""
    value = np.uint64(14695981039346656037)
    for array in contents:
        for k in range(begin, stop):
            value = (value ^ np.uint64(array[k])) * np.uint64(1099511628211)
    return value


@kernel
def _equal(contents, a, b, length):
    for array in contents:
        for k in range(length):
            if array[a + k] != array[b + k]:
                return False
    return True


@kernel
def first_of_kind(contents, offsets):
    """For each item, the first one with the same content in all arrays (int64 [n])."""
    number = offsets.size - 1
    slots = 2
    while slots < 2 * number:
        slots *= 2
    table, first = np.full(slots, -1, np.int64), np.empty(number, np.int64)
    for item in range(number):
        begin, stop = offsets[item], offsets[item + 1]
        slot = np.int64(_hash(contents, begin, stop) & np.uint64(slots - 1))
        while table[slot] >= 0:
            other = table[slot]
            length = offsets[other + 1] - offsets[other]
            if length == stop - begin and _equal(contents, offsets[other], begin, length):
                break
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot] = item
        first[item] = table[slot]
    return first
