"""Priors, strand bias and rank sums."""

import math

from readwarp.device.jit import scalar


@scalar
def genotype_prior(theta, others, distinct):
    """Of a genotype with `others` copies of alleles other than the reference's, of `distinct` kinds."""
    return theta**distinct / others


@scalar
def no_variant_prior(theta, copies):
    """Of the genotype that has only the reference's allele."""
    total = 0.0
    for k in range(1, copies + 1):
        total += 1.0 / k
    return 1.0 - theta * total


@scalar
def indel_prior(prior, unit, tract):
    """Heterozygosity of indels: it rises with the units of a repeat, beyond 4."""
    return min(0.01, prior * 1.4 ** max(0, tract // unit - 4))


@scalar
def log_choose_table(a, b, c, d):
    """log of the hypergeometric probability of a 2 x 2 table."""
    total = math.lgamma(a + b + 1.0) + math.lgamma(c + d + 1.0) + math.lgamma(a + c + 1.0) + math.lgamma(b + d + 1.0)
    own = math.lgamma(a + 1.0) + math.lgamma(b + 1.0) + math.lgamma(c + 1.0) + math.lgamma(d + 1.0)
    return total - own - math.lgamma(a + b + c + d + 1.0)


@scalar
def fisher_phred(a, b, c, d):
    """Phred of the two-sided P of Fisher's exact test of [[a, b], [c, d]]."""
    seen = log_choose_table(a, b, c, d) + 1e-9
    p = 0.0
    for x in range(max(0, a - d), min(a + b, a + c) + 1):
        other = log_choose_table(x, a + b - x, a + c - x, d - a + x)
        if other <= seen:
            p += math.exp(other)
    return max(0.0, -10.0 * math.log10(min(1.0, max(p, 1e-300))))


@scalar
def symmetric_odds_ratio(a, b, c, d):
    """GATK's StrandOddsRatio of [[a, b], [c, d]], rows reference and others, columns forward and reverse.

    ln(R + 1 / R) + ln(min(a, b) / max(a, b)) - ln(min(c, d) / max(c, d)) with R = a d / (b c), each count plus one.
    """
    a, b, c, d = a + 1.0, b + 1.0, c + 1.0, d + 1.0
    ratio = a * d / (b * c)
    return math.log(ratio + 1.0 / ratio) + math.log(min(a, b) / max(a, b)) - math.log(min(c, d) / max(c, d))


@scalar
def rank_sum_score(u, first, second, ties):
    """z of Mann and Whitney's U: pairs of a `first` and a `second` value in which the second is greater; a tie is half.

    `ties`: sum of t^3 - t over groups of t equal values. Positive if the second values are greater, 0 if all are equal;
    without continuity correction.
    """
    n = first + second
    if n < 2:
        return 0.0
    variance = first * second / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)))
    return (u - 0.5 * first * second) / math.sqrt(variance) if variance > 1e-9 else 0.0
