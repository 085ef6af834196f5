"""Which haplotypes of a region explain its reads (host only)."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.alleles import INDEL_COST, MAX_BEHIND, MAX_MISFIT, MAX_VARIANTS, MAX_WEIGHT, SNV_COST
from readwarp.call.haplotypes.drafts import is_equal
from readwarp.device.jit import kernel

ERRORS = 10.0 ** (-0.1 * np.arange(256))
LOG_MATCH = np.where(np.arange(256) > 1, np.log10(1.0 - np.minimum(ERRORS, 0.9)), 0.0)  # by base quality
TINY = 1e-200  # smaller products are brought back to logarithms


class Selection(NamedTuple):
    """What explains the reads of regions."""

    informs: Annotated[ndarray, "bool [rows]"]  # the read says something
    stays: Annotated[ndarray, "bool [haplotypes]"]
    best: Annotated[ndarray, "int32 [regions, samples, copies]"]  # each sample's best combination of haplotypes


@kernel
def bound_reads(weighed, reads):
    """Subtract its best from each row (read) of the values and bound it; -> bool [rows], those that say something.

    Bases that say nothing (quality below 2, or N) cost nothing, as in the PairHMM.
    """
    regions, haplotype_offsets, values = weighed.regions, weighed.haplotypes.haplotype_offsets, weighed.values
    bases, qualities, row_offsets = weighed.rows.bases, weighed.rows.qualities, weighed.rows.offsets
    informs = np.ones(row_offsets.size - 1, np.bool_)
    for g in range(haplotype_offsets.size - 1):
        row, number = weighed.pair_offsets[g], haplotype_offsets[g + 1] - haplotype_offsets[g]
        for r in range(regions.read_offsets[g], regions.read_offsets[g + 1]):
            perfect = 0.0
            for i in range(row_offsets[r], row_offsets[r + 1]):
                perfect += LOG_MATCH[qualities[i]] if bases[i] < 4 else 0.0
            best = values[row]
            for h in range(1, number):
                best = max(best, values[row + h])
            informs[r] = best - perfect > -MAX_MISFIT
            floor = -0.1 * min(reads.mapping_quality[regions.read[r]], MAX_WEIGHT)
            for h in range(number):
                values[row + h] = max(values[row + h] - best, floor)
            row += number
    return informs


@kernel
def number_variants(haplotypes):
    """The number of each variant among the distinct ones of its region (int32 [variants]), in order of appearance."""
    haplotype_offsets, variant_offsets = haplotypes.haplotype_offsets, haplotypes.variant_offsets
    numbers = np.empty(haplotypes.begin.size, np.int32)
    for g in range(haplotype_offsets.size - 1):
        low, high = variant_offsets[haplotype_offsets[g]], variant_offsets[haplotype_offsets[g + 1]]
        found = 0
        for v in range(low, high):
            numbers[v] = -1
            for u in range(low, v):
                if is_same(haplotypes, u, v):
                    numbers[v] = numbers[u]
                    break
            if numbers[v] < 0:
                numbers[v] = found
                found += 1
    return numbers


@kernel
def is_same(haplotypes, u, v):
    """Whether two variants are the same."""
    if haplotypes.begin[u] != haplotypes.begin[v] or haplotypes.deleted[u] != haplotypes.deleted[v]:
        return False
    inserted, offsets = haplotypes.inserted, haplotypes.inserted_offsets
    sizes = offsets[u + 1] - offsets[u], offsets[v + 1] - offsets[v]
    return is_equal(inserted, offsets[u], sizes[0], inserted, offsets[v], sizes[1])


@kernel
def select_haplotypes(weighed, reads, ploidy, numbers, selected):
    """Set `stays` and `best`. ploidy: int8 [regions]; beyond it `best` repeats the first haplotype of the combination.

    numbers: of `number_variants`.
    """
    haplotypes, best = weighed.haplotypes, selected.best
    for g in range(best.shape[0]):
        first, stop = haplotypes.haplotype_offsets[g], haplotypes.haplotype_offsets[g + 1]
        masks, costs = masks_of(first, stop - first, haplotypes, numbers)
        stays, copies = selected.stays[first:stop], np.int64(ploidy[g])
        stays[0] = True
        for s in range(best.shape[1]):
            linear = linear_of(weighed, g, s, reads, selected)
            best[g, s, :] = first
            if linear.shape[0] == 0:
                continue
            combination = best[g, s, :copies]
            if copies == 2:
                try_pairs(linear, masks, costs, stays, combination)
            else:
                climb(linear, masks, costs, stays, combination)
            for copy in range(best.shape[2]):
                best[g, s, copy] = first + combination[copy] if copy < copies else best[g, s, 0]


@kernel
def masks_of(first, number, haplotypes, numbers):
    """Variants of each haplotype as bits (bit 63 also for what has no bit of its own), and the cost of each bit."""
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
def linear_of(weighed, g, wanted, reads, selected):
    """P(r | h) over the best, float64 [reads of a region and sample that say something, its haplotypes]."""
    values, read, informs, sample = weighed.values, weighed.regions.read, selected.informs, reads.sample
    low, high = weighed.regions.read_offsets[g], weighed.regions.read_offsets[g + 1]
    number, n = weighed.haplotypes.haplotype_offsets[g + 1] - weighed.haplotypes.haplotype_offsets[g], 0
    for r in range(low, high):
        n += informs[r] and sample[read[r]] == wanted
    linear, n = np.empty((n, number)), 0
    for r in range(low, high):
        if informs[r] and sample[read[r]] == wanted:
            pair = weighed.pair_offsets[g] + (r - low) * number
            for h in range(number):
                linear[n, h] = 10.0 ** values[pair + h]
            n += 1
    return linear


@kernel
def score_pair(linear, a, b):
    """sum_r log10((P(r | a) + P(r | b)) / 2)"""
    total, product = 0.0, 1.0
    for r in range(linear.shape[0]):
        product *= 0.5 * (linear[r, a] + linear[r, b])
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)


@kernel
def try_pairs(linear, masks, costs, stays, combination):
    """All pairs of haplotypes."""
    number = masks.size
    scores, best = np.empty((number, number)), -np.inf
    for a in range(number):
        for b in range(a, number):
            scores[a, b] = score_pair(linear, a, b) - cost_of(masks[a] | masks[b], costs)
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
    """Exchange one haplotype of the combination at a time while that helps."""
    ploidy, number = combination.size, masks.size
    sums = np.zeros(linear.shape[0])
    best = -np.inf
    for h in range(number):
        score = score_exchange(linear, sums, h, ploidy, ploidy) - cost_of(masks[h], costs)
        if score > best:
            best = score
            combination[:] = h
    is_better = True
    while is_better:
        is_better = False
        for copy in range(ploidy):
            others = add_others(linear, masks, combination, copy, sums)
            for h in range(number):
                score = score_exchange(linear, sums, h, ploidy, 1) - cost_of(others | masks[h], costs)
                if score > best + 1e-9:
                    best, is_better = score, True
                    combination[copy] = h
    for copy in range(ploidy):
        others = add_others(linear, masks, combination, copy, sums)
        for h in range(number):
            if score_exchange(linear, sums, h, ploidy, 1) - cost_of(others | masks[h], costs) > best - MAX_BEHIND:
                stays[h] = True


@kernel
def add_others(linear, masks, combination, copy, sums):
    """Fill `sums` with what the combination's other haplotypes give each read; -> their variants."""
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
    """The combination's score with so many copies of haplotype h beside `sums`."""
    total, product = 0.0, 1.0
    for r in range(sums.size):
        product *= (sums[r] + copies * linear[r, h]) / ploidy
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)
