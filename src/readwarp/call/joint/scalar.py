"""Ploidy from the number of likelihoods, and the prior of a genotype given those of other samples."""

import math

from readwarp.device.jit import scalar

NATURAL = math.log(10.0) / 10.0  # of a Phred


@scalar
def ploidy_of(genotypes, alleles, highest):
    """The ploidy P at which `alleles` make this many genotypes, C(alleles + P - 1, P); 0 for none up to `highest`."""
    ways = 1
    for copies in range(1, highest + 1):
        ways = ways * (alleles + copies - 1) // copies
        if ways == genotypes:
            return copies
    return 0


@scalar
def copies_prior(genotype, ploidy, others):
    """P(genotype) given `others`, the expected copies of each allele, after a uniform prior over frequencies.

    `genotype` is in ascending order of its alleles. P! / prod c! * prod (1 + n)_(c) / (k + N)_P, copy by copy.
    """
    total = 0.0
    for a in range(others.size):
        total += others[a] + 1.0
    prior, same = 1.0, 0
    for copy in range(ploidy):
        same = same + 1 if copy and genotype[copy] == genotype[copy - 1] else 1
        prior *= (copy + 1.0) / same * (others[genotype[copy]] + same) / (total + copy)
    return prior


@scalar
def share_of_ways(k, j, before, more):
    """The share of the ways to place k marks on `before` + `more` places that put j on the latter.

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
