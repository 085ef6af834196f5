"""Choose the pairs to compute, their order and their precision: equal pairs once, and again if a sum is too small."""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.call.likelihoods.pairhmm.scalar import (
    FLOAT32,
    FLOAT64,
    MIN_OPEN,
    PROBABILITY,
    UNKNOWN,
    Precision,
    emissions,
    is_enough,
)
from readwarp.compiler.jit import kernel
from readwarp.ragged import offsets_of, take
from readwarp.rules.hashes import BASIS, add_byte
from readwarp.rules.statuses import Status

LOG10_2 = math.log10(2.0)
BUCKET = 8  # largest difference in rows between the reads of a group of lanes
LastResort = Callable[[ndarray, ndarray], ndarray]  # read [pairs], haplotype [pairs] -> log10 P


class PairTraits(NamedTuple):
    """Properties of reads and haplotypes that decide which pairs are computed, and how."""

    lengths: Annotated[ndarray, "int64 [reads]"]  # bases
    sizes: Annotated[ndarray, "int64 [haplotypes]"]  # bases
    same_read: Annotated[ndarray, "int64 [reads]"]  # first read with the same content
    same_haplotype: Annotated[ndarray, "int64 [haplotypes]"]
    is_known: Annotated[ndarray, "bool [haplotypes]"]  # no base is unknown, so float32 may suffice


class PairWork(NamedTuple):
    """Pairs to compute, in this order."""

    read: Annotated[ndarray, "int64 [pairs]"]
    haplotype: Annotated[ndarray, "int64 [pairs]"]
    is_narrow: Annotated[ndarray, "bool [pairs]"]  # starts in float32
    cells: Annotated[ndarray, "int64 [pairs]"]


class PairSums(NamedTuple):
    """Sums of M + X over the last row of pairs."""

    value: Annotated[ndarray, "float64 [pairs]"]  # in the scale of the precision it was computed in
    is_wide: Annotated[ndarray, "bool [pairs]"]  # computed in float64
    on_host: Annotated[ndarray, "bool [pairs]"]  # fits no shape of the card


Engine = Callable[[PairWork], PairSums]  # repeats pairs in float64 where float32 does not suffice
Pass = Callable[[PairWork, Precision], ndarray]  # sums in that precision and its scale


def items_of(reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray) -> PairTraits:
    unknown = offsets_of(haplotypes >= UNKNOWN)
    return PairTraits(
        np.diff(reads.offsets),
        np.diff(haplotype_offsets),
        first_of_kind((reads.bases, reads.qualities, reads.gap_open, reads.gap_extend), reads.offsets),
        first_of_kind((haplotypes,) * 4, haplotype_offsets),
        unknown[haplotype_offsets[1:]] == unknown[haplotype_offsets[:-1]],
    )


def solve(
    items: PairTraits, pair_read: ndarray, pair_haplotype: ndarray, engine: Engine, last_resort: LastResort
) -> tuple[ndarray, ndarray]:
    """Return log10 P and the status of each pair."""
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
        own = read[order], haplotype[order]
        work = PairWork(own[0], own[1], items.is_known[own[1]], lengths[own[0]] * sizes[own[1]])
        sums = engine(work)
        for precision, rows in ((FLOAT32, ~sums.is_wide), (FLOAT64, sums.is_wide)):
            found = np.empty(int(rows.sum()))
            take_logarithms(sums.value[rows], work.cells[rows], precision.scale_bits, precision.min_per_cell, found)
            values[order[rows]] = found
        status[order[sums.on_host]] = Status.TOO_LONG
    left = order[np.isnan(values[order])]
    if left.size:
        values[left], status[left] = last_resort(read[left], haplotype[left]), Status.OVERFLOW
    return values[inverse], status[inverse]


def sum_in_turn(sum_pairs: Pass, work: PairWork) -> PairSums:
    """Sum in float32 where that comes first, then in float64 where it did not suffice."""
    value, is_wide = np.zeros(work.read.size), ~work.is_narrow
    now = np.flatnonzero(work.is_narrow)
    if now.size:
        value[now] = sum_pairs(take(work, "pairs", now), FLOAT32)
        is_wide[now] = ~are_enough(value[now], work.cells[now], FLOAT32.min_per_cell)
    now = np.flatnonzero(is_wide)
    if now.size:
        value[now] = sum_pairs(take(work, "pairs", now), FLOAT64)
    return PairSums(value, is_wide, np.zeros(work.read.size, bool))


def are_enough(sums: ndarray, cells: ndarray, min_per_cell: float) -> ndarray:
    """Return whether each sum is accurate in the precision it was computed in (bool [pairs])."""
    return np.asarray(is_enough.py_func(sums, cells, min_per_cell))


@kernel
def take_logarithms(sums, cells, scale_bits, min_per_cell, out):
    """Set `out` (float64 [pairs]) to log10 of each sum without its scale; NaN where it is not accurate."""
    for k in range(sums.size):
        is_good = is_enough(sums[k], np.float64(cells[k]), min_per_cell)
        out[k] = math.log10(sums[k]) - scale_bits * LOG10_2 if is_good else math.nan


@kernel
def _hash(contents, begin, stop):
    """Hash the bytes of the four arrays."""
    value = np.uint64(BASIS)
    one, two, three, four = contents
    for k in range(begin, stop):
        value = add_byte(add_byte(add_byte(add_byte(value, one[k]), two[k]), three[k]), four[k])
    return value


@kernel
def _are_equal(contents, a, b, length):
    one, two, three, four = contents
    for k in range(length):
        if one[a + k] != one[b + k] or two[a + k] != two[b + k]:
            return False
        if three[a + k] != three[b + k] or four[a + k] != four[b + k]:
            return False
    return True


def first_of_kind(contents: tuple[ndarray, ...], offsets: ndarray) -> ndarray:
    """Return, for each item, the first one with the same content in all arrays (int64 [items])."""
    first = np.empty(offsets.size - 1, np.int64)
    find_first(contents, offsets, np.full(2 << first.size.bit_length(), -1), first)
    return first


@kernel
def find_first(contents, offsets, table, first):
    """Fill `first`; see `first_of_kind`. table: -1 in each slot; its size is a power of 2, at least twice the items."""
    for item in range(first.size):
        begin, stop = offsets[item], offsets[item + 1]
        slot = np.int64(_hash(contents, begin, stop) & np.uint64(table.size - 1))
        while table[slot] >= 0:
            other = table[slot]
            length = offsets[other + 1] - offsets[other]
            if length == stop - begin and _are_equal(contents, offsets[other], begin, length):
                break
            slot = (slot + 1) & (table.size - 1)
        if table[slot] < 0:
            table[slot] = item
        first[item] = table[slot]


@kernel
def _log(value):
    return math.log(value) if value > 0 else -math.inf


@kernel
def _sum(a, b):
    """Return log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high)) if low > -math.inf else high


@kernel
def log_probabilities(reads, haplotypes, haplotype_offsets, pair_read, pair_haplotype):
    """Compute log10 P of pairs in logarithms, as a last resort; reads and haplotypes have at least one base each.

    For the rare pairs whose probability is too small even for float64 (below about 1e-570).
    """
    bases, qualities, gap_open, gap_extend, offsets = reads
    out = np.empty(pair_read.size, np.float64)
    for pair in range(pair_read.size):
        low = haplotype_offsets[pair_haplotype[pair]]
        size = haplotype_offsets[pair_haplotype[pair] + 1] - low
        M, X = np.full(size + 1, -math.inf), np.full(size + 1, -math.inf)
        Y = np.full(size + 1, -math.log(size))
        open_before = stay_before = straight = -math.inf
        close = 0.0
        for i in range(offsets[pair_read[pair]], offsets[pair_read[pair] + 1]):
            emission = emissions(PROBABILITY[qualities[i]], qualities[i], bases[i])
            opening, extending = PROBABILITY[max(gap_open[i], MIN_OPEN)], PROBABILITY[gap_extend[i]]
            open_here, stay_here = math.log(opening), math.log(extending)
            M_diagonal, gap_diagonal = M[0], _sum(X[0], Y[0])
            M[0] = X[0] = Y[0] = M_left = Y_left = -math.inf
            for j in range(1, size + 1):
                symbol = haplotypes[low + j - 1]
                kind = 2 if symbol >= UNKNOWN else 0 if symbol == bases[i] else 1
                M_above, X_above = M[j], X[j]
                gap_above = _sum(X[j], Y[j])
                M[j] = _log(emission[kind]) + _sum(M_diagonal + straight, gap_diagonal + close)
                X[j] = _sum(M_above + open_before, X_above + stay_before)
                Y[j] = _sum(M_left + open_here, Y_left + stay_here)
                M_diagonal, gap_diagonal = M_above, gap_above
                M_left, Y_left = M[j], Y[j]
            open_before, stay_before = open_here, stay_here
            straight, close = _log(1.0 - 2.0 * opening), _log(1.0 - extending)
        total = -math.inf
        for j in range(1, size + 1):
            total = _sum(total, _sum(M[j], X[j]))
        out[pair] = total / math.log(10.0)
    return out
