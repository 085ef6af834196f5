"""Priors and strand bias."""

import math

from readwarp.device.jit import scalar


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
def indel_prior(prior, unit, tract):
    """Heterozygosity of indels: repeats of more than 4 units vary more, the more units they have."""
    return min(0.01, prior * 1.4 ** max(0, tract // unit - 4))
