"""Compute QUAL, the confidence that any sample has another allele. See the step's contract."""

import math

import numpy as np

from readwarp.call.records.genotypes.order import rows_of
from readwarp.call.records.genotypes.score import no_variant_prior
from readwarp.device.jit import kernel, scalar

NATURAL = math.log(10.0) / 10.0  # one Phred in natural logarithms
NEGLIGIBLE = 1e-200  # likelihoods of counts, relative to the best, that are dropped


@kernel
def find_qualities(alleles, theta, tables, out):
    """Set QUAL of each site: Phred of the posterior probability that nobody has an allele but REF and `*`."""
    samples = out.ploidy.shape[1]
    has_prior, phred_offsets, own = out.has_prior, out.phred_offsets, np.empty(tables.alleles.shape[1] + 1)
    room = (samples + 1) * tables.alleles.shape[1] + 1
    current, following = np.zeros(room), np.zeros(room)
    for s in range(alleles.number.size):
        copies, low, high = 0, 0, 0  # other counts of ALT copies are negligible
        current[0], log_none, log_scale = 1.0, 0.0, 0.0
        for i in range(samples):
            if not out.is_informed[s, i]:
                continue
            p, column = out.ploidy[s, i], s * samples + i
            phred = out.phred[phred_offsets[column] : phred_offsets[column + 1]]
            genotypes = tables.alleles[rows_of(tables, p, alleles.number[s])]
            log_none += count_others(phred, genotypes, p, alleles.star[s], theta[s], own)
            if has_prior[s, i]:
                log_none -= math.log(take_prior(own, p, theta[s]))
            highest = 0.0
            for k in range(low, high + p + 1):
                total = 0.0
                for j in range(max(0, k - high), min(p, k - low) + 1):
                    total += current[k - j] * own[j] * share_of_ways(k, j, copies, p)
                following[k] = total
                highest = max(highest, total)
            high += p
            while high > low and following[high] < NEGLIGIBLE * highest:
                high -= 1
            while low < high and following[low] < NEGLIGIBLE * highest:
                low += 1
            for k in range(low, high + 1):
                following[k] /= highest
            log_scale += math.log(highest)
            copies += p
            current, following = following, current
        out.quality[s] = phred_of_none(current[low : high + 1], low, copies, theta[s], log_none, log_scale)


@kernel
def count_others(phred, genotypes, p, star, theta, own):
    """Fill `own` with the likelihood of each number of other copies among a sample's p; return log of that of none.

    That one is computed apart, since it may be too small for `own`.
    """
    own[: p + 1] = 0.0
    least, none = np.int64(1) << 40, 0.0  # PL and number of the likeliest genotypes without others
    for g in range(phred.size):
        others = kinds = 0
        last = -1
        for copy in range(p):
            a = genotypes[g, copy]
            if a != 0 and a != star:
                others += 1
                kinds += a != last
                last = a
        own[others] += math.exp(-NATURAL * phred[g]) * theta ** max(0, kinds - 1)
        if others == 0:
            none = none * math.exp(-NATURAL * max(0, least - phred[g])) + math.exp(-NATURAL * max(0, phred[g] - least))
            least = min(least, np.int64(phred[g]))
    return math.log(none) - NATURAL * least


@kernel
def take_prior(own, p, theta):
    """Divide the posterior of each number of other copies among a sample's p by its prior: a likelihood remains.

    Returns the prior of none.
    """
    for k in range(1, p + 1):
        own[k] *= k / theta
    rest = no_variant_prior(theta, p)
    own[0] /= rest
    return rest


@kernel
def phred_of_none(likelihood, low, copies, theta, log_none, log_scale):
    """Return QUAL: `likelihood[k - low]` times exp(log_scale) is y(k), and exp(log_none) is y(0)."""
    total = 0.0
    for k in range(max(1, low), low + likelihood.size):
        total += likelihood[k - low] * theta / k
    rest = 1.0
    for k in range(1, copies + 1):
        rest -= theta / k
    if total <= 0.0:
        return 0.0
    against = log_scale + math.log(total) - log_none - math.log(max(rest, theta))
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
    share, marks, free, places = 1.0, k, before + more - k, before + more
    for i in range(more):
        if i < j:
            share *= (i + 1 + more - j) / (i + 1.0) * marks / places
            marks -= 1
        else:
            share *= float(free) / places
            free -= 1
        places -= 1
    return share
