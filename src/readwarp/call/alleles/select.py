"""Which haplotypes of a region explain its reads (host only)."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads
from readwarp.call.alleles import INDEL_COST, MAX_BEHIND, MAX_MISFIT, MAX_VARIANTS, MAX_WEIGHT, SNV_COST
from readwarp.call.alleles.compare import Weighed
from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.scalar import UNKNOWN
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of, ranges

ERRORS = 10.0 ** (-0.1 * np.arange(256))
LOG_MATCH = np.where(np.arange(256) > 1, np.log10(1.0 - np.minimum(ERRORS, 0.9)), 0.0)  # by base quality
TINY = 1e-200  # of smaller products the logarithm is taken


class Selection(NamedTuple):
    """The haplotypes that explain the reads of regions."""

    informs: Annotated[ndarray, "bool [rows]"]  # the read says something
    stays: Annotated[ndarray, "bool [haplotypes]"]
    best: Annotated[ndarray, "int32 [regions, copies]"]  # the best combination of haplotypes


def bound_fragments(weighed: Weighed, reads: AlignedReads) -> ndarray:
    """Make the values of each row those of its fragment less its best, and bound them -> which rows say something.

    Values change in place. Returns bool [rows].
    """
    regions, values, fragment = weighed.regions, weighed.values, weighed.fragment
    number = np.repeat(np.diff(weighed.haplotypes.haplotype_offsets), np.diff(regions.read_offsets))  # of each row
    first = offsets_of(number)[:-1]
    of_fragment = np.repeat(first[fragment] - first, number) + np.arange(values.size)
    sums = np.bincount(of_fragment, values, values.size)
    best = np.maximum.reduceat(sums, first) if first.size else first
    mapping_quality = np.zeros(first.size)
    np.maximum.at(mapping_quality, fragment, reads.mapping_quality[regions.read])
    floor = -0.1 * np.minimum(mapping_quality, MAX_WEIGHT)
    values[:] = np.maximum(sums - np.repeat(best, number), np.repeat(floor, number))[of_fragment]
    perfect = find_perfect(weighed.rows, fragment, best <= -MAX_MISFIT)
    return np.asarray((best - perfect > -MAX_MISFIT)[fragment])


def find_perfect(rows: ReadRows, fragment: ndarray, is_wanted: ndarray) -> ndarray:
    """log10 of the probability of an errorless match of the wanted fragments, 0 elsewhere (float64 [rows]).

    Bases that say nothing (quality below 2, or N) cost nothing, as in the PairHMM.
    """
    own = np.flatnonzero(is_wanted[fragment])
    bases = ranges(rows.offsets, own)
    values = np.where(rows.bases[bases] < UNKNOWN, LOG_MATCH[rows.qualities[bases]], 0.0)
    return np.bincount(np.repeat(fragment[own], np.diff(rows.offsets)[own]), values, fragment.size)


@kernel
def select_haplotypes(weighed, ploidy, numbers, selected):
    """Set `stays` and `best`, which beyond the ploidy (int8 [regions]) repeats the combination's first haplotype.

    numbers: of `sites.number_variants`.
    """
    haplotypes, best = weighed.haplotypes, selected.best
    for g in range(best.shape[0]):
        first, stop = haplotypes.haplotype_offsets[g], haplotypes.haplotype_offsets[g + 1]
        masks, costs = masks_of(first, stop - first, haplotypes, numbers)
        stays, copies = selected.stays[first:stop], np.int64(ploidy[g])
        stays[0] = True
        linear = linear_of(weighed, g, selected)
        best[g, :] = first
        if linear.shape[0] == 0 or copies == 0:
            continue
        combination = best[g, :copies]
        if copies == 2:
            try_pairs(linear, masks, costs, stays, combination)
        else:
            climb(linear, masks, costs, stays, combination)
        for copy in range(best.shape[1]):
            best[g, copy] = first + combination[copy] if copy < copies else best[g, 0]


@kernel
def masks_of(first, number, haplotypes, numbers):
    """The variants on each haplotype as bits (bit 63 for all that have none of their own), and the cost of each bit."""
    variant_offsets, inserted_offsets = haplotypes.variant_offsets, haplotypes.inserted_offsets
    masks, costs = np.zeros(number, np.uint64), np.zeros(MAX_VARIANTS)
    for h in range(number):
        for v in range(variant_offsets[first + h], variant_offsets[first + h + 1]):
            bit = min(numbers[v], MAX_VARIANTS - 1)
            masks[h] |= np.uint64(1) << np.uint64(bit)
            is_snv = haplotypes.deleted[v] == 1 and inserted_offsets[v + 1] - inserted_offsets[v] == 1
            costs[bit] = SNV_COST if is_snv else INDEL_COST
    return masks, costs


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
def linear_of(weighed, g, selected):
    """P(r | h) over that of r's best, float64 [fragments of the region that say something, haplotypes]."""
    values, informs, fragment = weighed.values, selected.informs, weighed.fragment
    low, high = weighed.regions.read_offsets[g], weighed.regions.read_offsets[g + 1]
    number, n = weighed.haplotypes.haplotype_offsets[g + 1] - weighed.haplotypes.haplotype_offsets[g], 0
    for r in range(low, high):
        n += informs[r] and fragment[r] == r
    linear, n = np.empty((n, number)), 0
    for r in range(low, high):
        if informs[r] and fragment[r] == r:
            pair = weighed.pair_offsets[g] + (r - low) * number
            for h in range(number):
                linear[n, h] = 10.0 ** values[pair + h]
            n += 1
    return linear


@kernel
def try_pairs(linear, masks, costs, stays, combination):
    """Find the best of all pairs of haplotypes, and those that stay."""
    number, sums = masks.size, np.empty(linear.shape[0])
    scores, best = np.empty((number, number)), -np.inf
    for a in range(number):
        for r in range(sums.size):
            sums[r] = linear[r, a]
        for b in range(a, number):
            scores[a, b] = score_exchange(linear, sums, b, 2, 1) - cost_of(masks[a] | masks[b], costs)
            if scores[a, b] > best:
                best = scores[a, b]
                combination[0], combination[1] = a, b
    for a in range(number):
        for b in range(a, number):
            if scores[a, b] > best - MAX_BEHIND:
                stays[a] = True
                stays[b] = True


@kernel
def climb(linear, masks, costs, stays, combination):
    """Find a good combination by exchanging one haplotype at a time while that helps, and those that stay."""
    ploidy, number = combination.size, masks.size
    sums, scores = np.zeros(linear.shape[0]), np.empty((ploidy, number))
    best, is_better = -np.inf, True
    for h in range(number):
        score = score_exchange(linear, sums, h, ploidy, ploidy) - cost_of(masks[h], costs)
        if score > best:
            best = score
            combination[:] = h
    while is_better:
        is_better, is_changed = False, True
        for copy in range(ploidy):
            if not is_changed and combination[copy] == combination[copy - 1]:
                scores[copy] = scores[copy - 1]
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
    """Fill `sums` with P(r | h), summed over the combination's other haplotypes; returns the variants on them."""
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
    """sum_r log10((sums[r] + copies * P(r | h)) / ploidy)"""
    total, product = 0.0, 1.0
    for r in range(sums.size):
        product *= (sums[r] + copies * linear[r, h]) / ploidy
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)
