"""Select the haplotypes of a region that explain its reads (host only)."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.alleles import INDEL_COST, MAX_BEHIND, MAX_MISFIT, MAX_VARIANTS, MAX_WEIGHT, SNV_COST
from readwarp.call.likelihoods.alleles.compare import WeighedReads
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.call.likelihoods.pairhmm.scalar import UNKNOWN
from readwarp.call.reads.usable import INFORMATIVE
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of, ranges

ERRORS = 10.0 ** (-0.1 * np.arange(256))
LOG_MATCH = np.where(np.arange(256) >= INFORMATIVE, np.log10(1.0 - np.minimum(ERRORS, 0.9)), 0.0)  # by base quality
TINY = 1e-200  # smaller products are turned into logarithms
ROUNDS, ALIVE = 60, 1e-4  # rounds of expectation-maximisation; initial fraction, which must be able to grow


class Selection(NamedTuple):
    """Haplotypes that explain the reads of regions."""

    informs: Annotated[ndarray, "bool [rows]"]  # the read is informative
    stays: Annotated[ndarray, "bool [haplotypes]"]
    best: Annotated[ndarray, "int32 [regions, copies]"]  # best combination of haplotypes


def bound_fragments(weighed: WeighedReads, reads: AlignedReads, weight: int = MAX_WEIGHT) -> ndarray:
    """Set the values of each row to its fragment's, less their best, and bound them; return which rows are informative.

    weight: the most that a read may count, in Phred. Values change in place. Returns bool [rows].
    """
    regions = weighed.regions
    number = np.repeat(np.diff(weighed.haplotypes.haplotype_offsets), np.diff(regions.read_offsets))  # of each row
    first = offsets_of(number)[:-1]
    of_fragment = np.repeat(first[weighed.fragment] - first, number) + np.arange(weighed.values.size)
    sums = np.bincount(of_fragment, weighed.values, weighed.values.size)
    best = np.maximum.reduceat(sums, first) if first.size else first
    mapping_quality = np.zeros(first.size)
    np.maximum.at(mapping_quality, weighed.fragment, reads.mapping_quality[regions.read])
    floor = -0.1 * np.minimum(mapping_quality, weight)
    weighed.values[:] = np.maximum(sums - np.repeat(best, number), np.repeat(floor, number))[of_fragment]
    perfect = find_perfect(weighed.rows, weighed.fragment, best <= -MAX_MISFIT)
    return np.asarray((best - perfect > -MAX_MISFIT)[weighed.fragment])


def find_perfect(rows: ReadRows, fragment: ndarray, is_wanted: ndarray) -> ndarray:
    """Return log10 P(errorless match) of the wanted fragments, 0 elsewhere (float64 [rows]).

    Bases that are not INFORMATIVE, or N, cost nothing, as in the PairHMM.
    """
    own = np.flatnonzero(is_wanted[fragment])
    bases = ranges(rows.offsets, own)
    values = np.where(rows.bases[bases] < UNKNOWN, LOG_MATCH[rows.qualities[bases]], 0.0)
    return np.bincount(np.repeat(fragment[own], np.diff(rows.offsets)[own]), values, fragment.size)


class VariantBits(NamedTuple):
    """Variants of haplotypes as bits: bit 63 for all of a region that have none of their own."""

    masks: Annotated[ndarray, "uint64 [haplotypes]"]
    costs: Annotated[ndarray, "float64 [regions, 64]"]  # cost of each bit


class SelectRoom(NamedTuple):
    """Scratch space for one region at a time."""

    linear: Annotated[ndarray, "float64 [rows, haplotypes]"]  # P(r | h) over that of r's best haplotype, h on the first
    other: Annotated[ndarray, "float64 [rows, haplotypes]"]  # and on the second copy, weighted by the odds of r
    sums: Annotated[ndarray, "float64 [rows]"]
    scores: Annotated[ndarray, "float64 [haplotypes or copies, haplotypes]"]


class Copies(NamedTuple):
    """Number of haplotypes that a sample may have."""

    ploidy: Annotated[ndarray, "int8 [regions, samples]"]
    odds: ndarray  # float64 [rows], log10 that each row's read is from the first of two copies; [0]: unknown
    are_fractions: bool = False  # any number of haplotypes, at any fraction of the molecules


def select_haplotypes(
    weighed: WeighedReads, ploidy: ndarray, numbers: ndarray, copies: Copies, selected: Selection
) -> None:
    """Set `stays` and `best`; beyond the ploidy (int8 [regions]) `best` repeats the combination's first haplotype.

    numbers: of `weigh.number_variants`. For fractions `best` is the reference haplotype.
    """
    offsets, read_offsets = weighed.haplotypes.haplotype_offsets, weighed.regions.read_offsets
    speaks = selected.informs & (weighed.fragment == np.arange(weighed.fragment.size))
    rows, row_offsets = np.flatnonzero(speaks), offsets_of(speaks)[read_offsets]
    number = np.repeat(np.diff(offsets), np.diff(read_offsets))
    most, deepest = int(np.diff(offsets).max(initial=1)), int(np.diff(row_offsets).max(initial=0))
    linear, other = np.empty((2, deepest, most))
    room = SelectRoom(linear, other, np.empty(deepest), np.empty((max(most, selected.best.shape[1], 3), most)))
    odds = copies.odds[rows] if copies.odds.size else copies.odds
    pairs = offsets_of(number)[rows], odds, copies.are_fractions
    bits = bits_of(weighed.haplotypes, numbers)
    select(offsets, row_offsets, pairs, weighed.values, ploidy, bits, selected, room)


def bits_of(haplotypes: Haplotypes, numbers: ndarray) -> VariantBits:
    own = np.repeat(np.arange(len(haplotypes)), np.diff(haplotypes.variant_offsets))
    region = np.searchsorted(haplotypes.haplotype_offsets, own, "right") - 1
    bit = np.minimum(numbers, MAX_VARIANTS - 1)
    masks = np.zeros(len(haplotypes), np.uint64)
    np.bitwise_or.at(masks, own, np.uint64(1) << bit.astype(np.uint64))
    costs = np.zeros((haplotypes.haplotype_offsets.size - 1, MAX_VARIANTS))
    is_snv = (haplotypes.deleted == 1) & (np.diff(haplotypes.inserted_offsets) == 1)
    costs[region, bit] = np.where(is_snv, SNV_COST, INDEL_COST)
    return VariantBits(masks, costs)


@kernel
def select(haplotype_offsets, row_offsets, pairs, values, ploidy, variants, selected, room):
    """Select haplotypes. row_offsets: of the informative rows in each region.

    pairs: of each such row, the first pair and the odds, and whether haplotypes are fractions.
    """
    best, (firsts, odds, are_fractions) = selected.best, pairs
    for g in range(best.shape[0]):
        first, stop = haplotype_offsets[g], haplotype_offsets[g + 1]
        low, high = row_offsets[g], row_offsets[g + 1]
        masks, costs = variants.masks[first:stop], variants.costs[g]
        stays = selected.stays[first:stop]
        linear, other = room.linear[: high - low], room.other[: high - low]
        sums = room.sums[: high - low]
        copies = np.int64(ploidy[g])
        is_sided = odds.size > 0 and copies == 2
        for r in range(high - low):
            weight = 2.0 / (1.0 + 10.0 ** -odds[low + r]) if is_sided else 1.0
            for h in range(stop - first):
                value = 10.0 ** values[firsts[low + r] + h]
                linear[r, h], other[r, h] = weight * value, (2.0 - weight) * value
        stays[0] = True
        best[g] = first
        if are_fractions and low < high:
            mix(linear[:, : stop - first], masks, costs, stays, sums, room.scores)
        if low == high or copies == 0 or are_fractions:
            continue
        combination = best[g, :copies]
        if copies == 2:
            try_pairs((linear, other), is_sided, masks, costs, stays, combination, sums, room.scores)
        else:
            climb(linear, masks, costs, stays, combination, sums, room.scores)
        for copy in range(best.shape[1]):
            best[g, copy] = first + combination[copy] if copy < copies else best[g, 0]


@kernel
def mix(linear, masks, costs, stays, sums, room):
    """Find the haplotypes that stay where each may have any fraction. sums, room: scratch space.

    Starting from all, try to drop the haplotype of the least fraction, of equal ones the costliest. It goes if the rest
    explain the reads as well, less its own variants' costs. The reference haplotype stays.
    """
    share, order = room[0], room[1]
    is_in = np.ones(masks.size, np.bool_)
    share[: masks.size] = 1.0 / masks.size
    best = fit_fractions(linear, is_in, share, room[2], sums) - cost_of(union_of(masks, is_in), costs) - masks.size
    order[: masks.size] = share[: masks.size]
    for _ in range(masks.size - 1):
        least = -1
        for h in range(1, masks.size):
            if order[h] < 0.0 or (least >= 0 and order[h] > order[least]):
                continue
            if least < 0 or order[h] < order[least] or cost_of(masks[h], costs) >= cost_of(masks[least], costs):
                least = h
        order[least] = -1.0
        is_in[least] = False
        before = share[: masks.size].copy()
        share[least] = 0.0
        rest = share[: masks.size].sum()
        for h in range(masks.size):
            share[h] = (share[h] / rest if rest > 0.0 else 0.0) + (ALIVE if is_in[h] else 0.0)
        fit = fit_fractions(linear, is_in, share, room[2], sums)
        score = fit - cost_of(union_of(masks, is_in), costs) - is_in.sum()
        if score >= best:
            best = score
        else:
            is_in[least] = True
            share[: masks.size] = before
    for h in range(masks.size):
        stays[h] |= is_in[h]


@kernel
def union_of(masks, is_in):
    mask = np.uint64(0)
    for h in range(masks.size):
        if is_in[h]:
            mask |= masks[h]
    return mask


@kernel
def fit_fractions(linear, is_in, share, fresh, sums):
    """Fit maximum-likelihood fractions of the haplotypes, from the given ones on; return the log10 likelihood."""
    reads, number = linear.shape
    last = -np.inf
    for _ in range(ROUNDS):
        fresh[:number] = 0.0
        for r in range(reads):
            total = TINY
            for h in range(number):
                total += share[h] * linear[r, h]
            sums[r] = total
            for h in range(number):
                fresh[h] += share[h] * linear[r, h] / total
        for h in range(number):
            share[h] = fresh[h] / reads if is_in[h] else 0.0
        score, product = 0.0, 1.0
        for r in range(reads):
            product *= sums[r]
            if product < TINY:
                score += math.log10(product)
                product = 1.0
        score += math.log10(product)
        if score - last < 0.01:
            break
        last = score
    return score


@kernel
def cost_of(mask, costs):
    total, bit = 0.0, 0
    while mask:
        if mask & np.uint64(1):
            total += costs[bit]
        mask >>= np.uint64(1)
        bit += 1
    return total


@kernel
def try_pairs(tables, is_sided, masks, costs, stays, combination, sums, scores):
    """Find the best of all pairs of haplotypes, and those that stay. sums, scores: scratch space.

    is_sided: the order of a pair matters.
    """
    best, (linear, other) = -np.inf, tables
    for a in range(masks.size):
        sums[:] = linear[:, a]
        for b in range(0 if is_sided else a, masks.size):
            scores[a, b] = score_exchange(other, sums, b, 2, 1) - cost_of(masks[a] | masks[b], costs)
            if scores[a, b] > best:
                best = scores[a, b]
                combination[0], combination[1] = a, b
    for a in range(masks.size):
        for b in range(0 if is_sided else a, masks.size):
            if scores[a, b] > best - MAX_BEHIND:
                stays[a] = True
                stays[b] = True


@kernel
def climb(linear, masks, costs, stays, combination, sums, scores):
    """Find a good combination by exchanging one haplotype at a time while that helps, and those that stay.

    sums, scores: scratch space.
    """
    ploidy, number = combination.size, masks.size
    best, first = -np.inf, 0
    is_better = True
    sums[:] = 0.0
    for h in range(number):
        score = score_exchange(linear, sums, h, ploidy, ploidy) - cost_of(masks[h], costs)
        if score > best:
            best, first = score, h
    combination[:] = first
    while is_better:
        is_better, is_changed = False, True
        for copy in range(ploidy):
            if not is_changed and combination[copy] == combination[copy - 1]:
                scores[copy, :number] = scores[copy - 1, :number]
                continue
            before, others = combination[copy], add_others(linear, masks, combination, copy, sums)
            for h in range(number):
                scores[copy, h] = score_exchange(linear, sums, h, ploidy, 1) - cost_of(others | masks[h], costs)
                if scores[copy, h] > best + 1e-9:
                    best, is_better = scores[copy, h], True
                    combination[copy] = h
            is_changed = combination[copy] != before
    for copy in range(ploidy):
        for h in range(number):
            if scores[copy, h] > best - MAX_BEHIND:
                stays[h] = True


@kernel
def add_others(linear, masks, combination, copy, sums):
    """Fill `sums` with P(r | h), summed over the combination's other haplotypes; return the variants on them."""
    mask = np.uint64(0)
    sums[:] = 0.0
    for other in range(combination.size):
        if other != copy:
            mask |= masks[combination[other]]
            for r in range(sums.size):
                sums[r] += linear[r, combination[other]]
    return mask


@kernel
def score_exchange(linear, sums, h, ploidy, copies):
    """Return sum_r log10((sums[r] + copies * P(r | h)) / ploidy)."""
    total, product = 0.0, 1.0
    for r in range(sums.size):
        product *= (sums[r] + copies * linear[r, h]) / ploidy
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)
