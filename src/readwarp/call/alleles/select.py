"""Which haplotypes of a region explain its reads (host only)."""

import math

import numpy as np

from readwarp.call.alleles import INDEL_COST, KEPT, MAX_MISFIT, MAX_WEIGHT, MOST_VARIANTS, SNV_COST
from readwarp.device.jit import kernel

ERRORS = 10.0 ** (-0.1 * np.arange(256))
LOG_MATCH = np.where(np.arange(256) > 1, np.log10(1.0 - np.minimum(ERRORS, 0.9)), 0.0)  # by base quality
TINY = 1e-200  # products are brought back to logarithms below


@kernel
def bound_reads(read_offsets, haplotype_offsets, value_offsets, values, mapping_quality, bases, qualities, row_offsets):
    """Subtract its best from each row (read) of `values` and bound it; -> bool [r], rows that say something.

    `mapping_quality` uint8 [r]; `bases`, `qualities` of the rows lie one behind the other (`row_offsets`). Bases that
    say nothing (quality below 2, or N) cost nothing, as in the PairHMM.
    """
    says = np.ones(row_offsets.size - 1, np.bool_)
    for g in range(read_offsets.size - 1):
        number = haplotype_offsets[g + 1] - haplotype_offsets[g]
        for r in range(read_offsets[g], read_offsets[g + 1]):
            perfect = 0.0
            for i in range(row_offsets[r], row_offsets[r + 1]):
                perfect += LOG_MATCH[qualities[i]] if bases[i] < 4 else 0.0
            row = value_offsets[g] + (r - read_offsets[g]) * number
            best = values[row]
            for h in range(1, number):
                best = max(best, values[row + h])
            says[r] = best - perfect > -MAX_MISFIT
            floor = -0.1 * min(mapping_quality[r], MAX_WEIGHT)
            for h in range(number):
                values[row + h] = max(values[row + h] - best, floor)
    return says


@kernel
def number_variants(haplotype_offsets, variant_offsets, begin, deleted, inserted, inserted_offsets):
    """The number of each variant among the distinct ones of its region (int32 [v]), in order of first appearance."""
    numbers = np.empty(begin.size, np.int32)
    for g in range(haplotype_offsets.size - 1):
        low, high = variant_offsets[haplotype_offsets[g]], variant_offsets[haplotype_offsets[g + 1]]
        found = 0
        for v in range(low, high):
            numbers[v] = -1
            for u in range(low, v):
                if same_variant(begin, deleted, inserted, inserted_offsets, u, v):
                    numbers[v] = numbers[u]
                    break
            if numbers[v] < 0:
                numbers[v] = found
                found += 1
    return numbers


@kernel
def same_variant(begin, deleted, inserted, inserted_offsets, u, v):
    size = inserted_offsets[u + 1] - inserted_offsets[u]
    same = begin[u] == begin[v] and deleted[u] == deleted[v] and size == inserted_offsets[v + 1] - inserted_offsets[v]
    for i in range(size if same else 0):
        same &= inserted[inserted_offsets[u] + i] == inserted[inserted_offsets[v] + i]
    return same


@kernel
def select_haplotypes(
    read_offsets, haplotype_offsets, value_offsets, values, says, sample, samples, ploidy,
    variant_offsets, numbers, deleted, inserted_offsets, kept, chosen,
):  # fmt: skip
    """Set `kept` (bool [h]) and `chosen` (int32 [g, samples, most copies], each sample's best combination).

    `ploidy`: int8 [g]; what lies behind it in `chosen` repeats the first haplotype of the combination.
    """
    for g in range(read_offsets.size - 1):
        first, number = haplotype_offsets[g], haplotype_offsets[g + 1] - haplotype_offsets[g]
        masks, costs = masks_of(first, number, variant_offsets, numbers, deleted, inserted_offsets)
        kept[first] = True
        for s in range(samples):
            linear = linear_of(read_offsets[g], read_offsets[g + 1], number, value_offsets[g], values, says, sample, s)
            chosen[g, s, :] = first
            if linear.shape[0] == 0:
                continue
            best = chosen[g, s, : ploidy[g]]
            if ploidy[g] == 2:
                try_pairs(linear, masks, costs, kept[first : first + number], best)
            else:
                climb(linear, masks, costs, kept[first : first + number], best)
            for copy in range(chosen.shape[2]):
                chosen[g, s, copy] = first + best[copy] if copy < ploidy[g] else chosen[g, s, 0]


@kernel
def masks_of(first, number, variant_offsets, numbers, deleted, inserted_offsets):
    """Variants of each haplotype as bits (bit 63 also for what has no bit of its own), and the cost of each bit."""
    masks, costs = np.zeros(number, np.uint64), np.zeros(MOST_VARIANTS)
    for h in range(number):
        for v in range(variant_offsets[first + h], variant_offsets[first + h + 1]):
            bit = min(numbers[v], MOST_VARIANTS - 1)
            masks[h] |= np.uint64(1) << np.uint64(bit)
            is_snv = deleted[v] == 1 and inserted_offsets[v + 1] - inserted_offsets[v] == 1
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
def linear_of(low, high, number, offset, values, says, sample, wanted):
    """P(r | h) over the best, float64 [reads of the sample that say something, haplotypes]."""
    n = 0
    for r in range(low, high):
        n += says[r] and sample[r] == wanted
    linear, n = np.empty((n, number)), 0
    for r in range(low, high):
        if says[r] and sample[r] == wanted:
            for h in range(number):
                linear[n, h] = 10.0 ** values[offset + (r - low) * number + h]
            n += 1
    return linear


@kernel
def mixture(linear, a, b):
    """sum_r log10((P(r | a) + P(r | b)) / 2)"""
    total, product = 0.0, 1.0
    for r in range(linear.shape[0]):
        product *= 0.5 * (linear[r, a] + linear[r, b])
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)


@kernel
def try_pairs(linear, masks, costs, kept, chosen):
    """All pairs of haplotypes."""
    number = masks.size
    scores, best = np.empty((number, number)), -np.inf
    for a in range(number):
        for b in range(a, number):
            scores[a, b] = mixture(linear, a, b) - cost_of(masks[a] | masks[b], costs)
            if scores[a, b] > best:
                best = scores[a, b]
                chosen[0], chosen[1] = a, b
    for a in range(number):
        for b in range(a, number):
            if scores[a, b] > best - KEPT:
                kept[a] = True
                kept[b] = True


@kernel
def climb(linear, masks, costs, kept, chosen):
    """Exchange one haplotype of the combination at a time while that helps."""
    ploidy, number = chosen.size, masks.size
    sums = np.zeros(linear.shape[0])
    best = -np.inf
    for h in range(number):
        score = exchanged(linear, sums, h, ploidy, ploidy) - cost_of(masks[h], costs)
        if score > best:
            best = score
            chosen[:] = h
    is_better = True
    while is_better:
        is_better = False
        for copy in range(ploidy):
            others = rest_of(linear, masks, chosen, copy, sums)
            for h in range(number):
                score = exchanged(linear, sums, h, ploidy, 1) - cost_of(others | masks[h], costs)
                if score > best + 1e-9:
                    best, is_better = score, True
                    chosen[copy] = h
    for copy in range(ploidy):
        others = rest_of(linear, masks, chosen, copy, sums)
        for h in range(number):
            if exchanged(linear, sums, h, ploidy, 1) - cost_of(others | masks[h], costs) > best - KEPT:
                kept[h] = True


@kernel
def rest_of(linear, masks, chosen, copy, sums):
    """Fill `sums` with what the combination's other haplotypes give each read; -> their variants."""
    mask = np.uint64(0)
    sums[:] = 0.0
    for other in range(chosen.size):
        if other != copy:
            mask |= masks[chosen[other]]
            for r in range(sums.size):
                sums[r] += linear[r, chosen[other]]
    return mask


@kernel
def exchanged(linear, sums, h, ploidy, copies):
    """The combination's score with so many copies of haplotype h beside `sums`."""
    total, product = 0.0, 1.0
    for r in range(sums.size):
        product *= (sums[r] + copies * linear[r, h]) / ploidy
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)
