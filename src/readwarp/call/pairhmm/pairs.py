"""Which pairs are computed, in which order and precision: equal ones once, and again where a sum came out too small."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.batches import Status
from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.logarithms import log_probabilities
from readwarp.call.pairhmm.scalar import FLOOR_BITS, MARGIN_BITS, SCALE_BITS, UNKNOWN, is_enough
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of

LOG10_2 = math.log10(2.0)
BUCKET = 8  # rows by which reads of one group of lanes may differ
PROBABILITY = 10.0 ** (-0.1 * np.arange(256))  # of an error, by Phred


@dataclass(frozen=True, slots=True)
class Items:
    """What of n reads and h haplotypes decides which pairs are computed, and how."""

    lengths: ndarray  # int64 [n], bases
    sizes: ndarray  # int64 [h], bases
    same_read: ndarray  # int64 [n], the first read with the same content
    same_haplotype: ndarray  # int64 [h]
    is_known: ndarray  # bool [h], has no unknown base: float32 may do


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of M + X over the last row of pairs."""

    value: ndarray  # float64 [p], in the scale of the type it was made in
    is_wide: ndarray  # bool [p], made in float64
    on_host: ndarray  # bool [p], no shape of the card holds it


# (read [p], haplotype [p], is_narrow bool [p]: float32 comes first) -> sums, in float64 where float32 was not enough
Engine = Callable[[ndarray, ndarray, ndarray], Sums]
# (read [p], haplotype [p], float32 or float64) -> sums in that type and its scale
Pass = Callable[[ndarray, ndarray, Any], ndarray]
# (read [p], haplotype [p]) -> log10 P
LastResort = Callable[[ndarray, ndarray], ndarray]


def items_of(reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray) -> Items:
    unknown = offsets_of(haplotypes >= UNKNOWN)
    return Items(
        np.diff(reads.offsets),
        np.diff(haplotype_offsets),
        first_of_kind((reads.bases, reads.qualities, reads.gap_open, reads.gap_extend), reads.offsets),
        first_of_kind((haplotypes,) * 4, haplotype_offsets),
        unknown[haplotype_offsets[1:]] == unknown[haplotype_offsets[:-1]],
    )


def solve(
    items: Items, pair_read: ndarray, pair_haplotype: ndarray, engine: Engine, last_resort: LastResort
) -> tuple[ndarray, ndarray]:
    """log10 P of each pair and its status, by sums that `engine` computes."""
    lengths, sizes = items.lengths, items.sizes
    if pair_haplotype.size and sizes[pair_haplotype].min() == 0:
        raise ValueError("a haplotype has no bases")
    keys = items.same_read[pair_read] * sizes.size + items.same_haplotype[pair_haplotype]
    keys, inverse = np.unique(keys, return_inverse=True)
    read, haplotype = np.divmod(keys, max(1, sizes.size))
    values, status = np.zeros(keys.size), np.full(keys.size, Status.OK, np.uint8)
    order = np.lexsort((read, sizes[haplotype], -(-lengths[read] // BUCKET)))
    order = order[lengths[read[order]] > 0]
    if order.size:
        sums = engine(read[order], haplotype[order], items.is_known[haplotype[order]])
        cells = lengths[read[order]] * sizes[haplotype[order]]
        for dtype, chosen in ((np.float32, ~sums.is_wide), (np.float64, sums.is_wide)):
            values[order[chosen]] = logarithms(sums.value[chosen], cells[chosen], *bits_of(dtype))
        status[order[sums.on_host]] = Status.TOO_LONG
    left = order[np.isnan(values[order])]
    if left.size:
        values[left], status[left] = last_resort(read[left], haplotype[left]), Status.OVERFLOW
    return values[inverse], status[inverse]


def in_turn(once: Pass, read: ndarray, haplotype: ndarray, is_narrow: ndarray, cells: ndarray) -> Sums:
    """float32 where that comes first, then float64 where it was not enough."""
    value, is_wide = np.zeros(read.size), ~is_narrow
    now = np.flatnonzero(is_narrow)
    if now.size:
        value[now] = once(read[now], haplotype[now], np.float32)
        is_wide[now] = ~enough(value[now], cells[now], bits_of(np.float32)[1])
    now = np.flatnonzero(is_wide)
    if now.size:
        value[now] = once(read[now], haplotype[now], np.float64)
    return Sums(value, is_wide, np.zeros(read.size, bool))


def bits_of(dtype: Any) -> tuple[int, float]:
    """(bits of the scale, what a sum must reach for each of its cells)"""
    bytes_each = np.dtype(dtype).itemsize
    return SCALE_BITS[bytes_each], 2.0 ** (FLOOR_BITS[bytes_each] + MARGIN_BITS)


def by_logarithms(reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray) -> LastResort:
    contents = (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend)

    def last_resort(read: ndarray, haplotype: ndarray) -> ndarray:
        return log_probabilities(contents, reads.offsets, haplotypes, haplotype_offsets, read, haplotype, PROBABILITY)

    return last_resort


@kernel
def enough(sums, cells, least):
    """Which sums hold in the type they were made in (bool)."""
    out = np.empty(sums.size, np.bool_)
    for k in range(sums.size):
        out[k] = is_enough(sums[k], np.float64(cells[k]), least)
    return out


@kernel
def logarithms(sums, cells, scale_bits, least):
    """log10 of the sums without their scale; NaN where they are not enough."""
    out = np.empty(sums.size, np.float64)
    for k in range(sums.size):
        is_good = is_enough(sums[k], np.float64(cells[k]), least)
        out[k] = math.log10(sums[k]) - scale_bits * LOG10_2 if is_good else math.nan
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
