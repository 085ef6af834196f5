"""Compute QUAL, the confidence that any sample has an ALT allele, and its priors. See the step's contract."""

import math

import numpy as np

from readwarp.call.records.genotypes.emitted import MISSING_BASE, UNLISTED
from readwarp.call.records.genotypes.order import rows_of
from readwarp.compiler.jit import kernel, scalar

NATURAL = math.log(10.0) / 10.0  # one Phred in natural logarithms
NEGLIGIBLE = 1e-200  # likelihoods of counts, relative to the best, that are dropped


@scalar
def no_variant_prior(theta, copies):
    """Return the prior of the homozygous reference genotype; at least theta, however many copies there are."""
    total = 0.0
    for k in range(1, copies + 1):
        total += 1.0 / k
    return max(theta, 1.0 - theta * total)


@scalar
def substitution_prior(prior):
    """Return the heterozygosity of one other base: the three are alike."""
    return prior / 3.0


@scalar
def indel_prior(prior, unit, tract):
    """Return the heterozygosity of indels: it rises with each repeat unit beyond 4."""
    return min(0.01, prior * 1.4 ** max(0, tract // unit - 4))


@scalar
def theta_of(sites, site, snv, indel):
    if sites.is_indel[site]:
        return indel_prior(indel, sites.unit[site], sites.stop[site] - sites.begin[site])
    return substitution_prior(snv)


@kernel
def find_qualities(sites, scores, tables, snv, indel, choice):
    """Set QUAL of sites that keep an allele: Phred of the posterior that no copy in any sample is a listed ALT allele.

    snv, indel: heterozygosity of each.
    """
    samples, most = scores.depth.shape[1], scores.ploidy.shape[1] * (tables.alleles.shape[1] + 1)
    now, after = np.zeros(most + 1), np.zeros(most + 1)
    own, numbers = np.empty(tables.alleles.shape[1] + 1), np.empty(tables.first.shape[1], np.int64)
    for site in range(sites.begin.size):
        first = sites.allele_offsets[site]
        alleles = sites.allele_offsets[site + 1] - first
        is_any = False
        for a in range(alleles):
            mark = choice.mark[first + a]
            numbers[a] = 0 if mark == MISSING_BASE else -1 if mark == UNLISTED else a
            is_any |= choice.is_kept[first + a]
        if not is_any:
            continue
        theta, bounds = theta_of(sites, site, snv, indel), start(now)
        log_none = 0.0
        for s in range(samples):
            copies = np.int64(scores.ploidy[site, s])
            if scores.depth[site, s] == 0 or copies == 0:
                continue
            values = scores.values[scores.offsets[site * samples + s] : scores.offsets[site * samples + s + 1]]
            genotypes = tables.alleles[rows_of(tables, copies, alleles)]
            log_none += sum_by_copies(values, 10.0 * NATURAL, genotypes, copies, numbers, theta, own)
            bounds = add_sample(now, after, bounds, own, copies)
            now, after = after, now
        choice.quality[site] = phred_of_none(now, bounds, theta, log_none)


@kernel
def sum_by_copies(values, scale, genotypes, copies, numbers, theta, out):
    """Fill `out` with the likelihood of each number of ALT copies, over that of the best genotype; return log of none.

    That one is computed apart, since it may be too small for `out`. values * scale: natural logarithms of likelihoods.
    numbers: by allele, 0 for those like the reference's, -1 for an unlisted last one, whose genotypes are left out.
    """
    best = top = -np.inf  # greatest of all, and of those without ALT copies
    none = 0.0  # sum of the latter
    for g in range(values.size):
        if numbers[genotypes[g, copies - 1]] >= 0:
            best = max(best, scale * values[g])
    out[: copies + 1] = 0.0
    for g in range(values.size):
        if numbers[genotypes[g, copies - 1]] < 0:
            continue
        others = kinds = 0
        last, value = -1, scale * values[g]
        for copy in range(copies):
            a = genotypes[g, copy]
            if numbers[a] > 0:
                others += 1
                kinds += a != last
                last = a
        out[others] += math.exp(value - best) * theta ** max(0, kinds - 1)
        if others == 0 and value > top:
            top, none = value, none * math.exp(top - value) + 1.0
        elif others == 0:
            none += math.exp(value - top)
    return math.log(none) + top - best


@kernel
def start(terms):
    """Set the terms of no sample; return the first and last term that count, the copies, and the log of the scale."""
    terms[0] = 1.0
    return 0, 0, 0, 0.0


@kernel
def add_sample(now, after, bounds, own, p):
    """Fill `after`, the likelihoods by ALT copies, from those so far and a sample's `own`; return its bounds."""
    low, high, copies, log_scale = bounds
    highest = 0.0
    for k in range(low, high + p + 1):
        total = 0.0
        for j in range(max(0, k - high), min(p, k - low) + 1):
            total += now[k - j] * own[j] * share_of_ways(k, j, copies, p)
        after[k] = total
        highest = max(highest, total)
    high += p
    while high > low and after[high] < NEGLIGIBLE * highest:
        high -= 1
    while low < high and after[low] < NEGLIGIBLE * highest:
        low += 1
    for k in range(low, high + 1):
        after[k] /= highest
    return low, high, copies + p, log_scale + math.log(highest)


@kernel
def phred_of_none(terms, bounds, theta, log_none):
    """Return QUAL: `terms[k]` times exp(log_scale) is y(k), and exp(log_none) is y(0)."""
    low, high, copies, log_scale = bounds
    total = 0.0
    for k in range(max(1, low), high + 1):
        total += terms[k] * theta / k
    if total <= 0.0:
        return 0.0
    against = log_scale + math.log(total) - log_none - math.log(no_variant_prior(theta, copies))
    if against > 30.0:
        return against / NATURAL
    return math.log(1.0 + math.exp(against)) / NATURAL


@scalar
def share_of_ways(k, j, before, more):
    """Return the share of ways to place k marks on `before` + `more` places that put j on the latter.

    C(before, k - j) C(more, j) / C(before + more, k); 0 if there is no such way.
    """
    if j > k or j > more or k - j > before:
        return 0.0
    share, marks = 1.0, k
    free, places = before + more - k, before + more
    for i in range(more):
        if i < j:
            share *= (i + 1 + more - j) / (i + 1.0) * marks / places
            marks -= 1
        else:
            share *= float(free) / places
            free -= 1
        places -= 1
    return share
