"""Compute annotations from the genotypes of a record's samples, and for its alleles (host only)."""

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy import ndarray

from readwarp.call.records.genotypes.emitted import Emitted
from readwarp.call.records.genotypes.order import genotypes_of
from readwarp.call.records.genotypes.quality import no_variant_prior

MIN_SAMPLES = 2  # diploid samples with a genotype, for ExcessHet ...
MIN_INBRED = 10  # ... and for InbreedingCoeff, as in GATK


def excess_heterozygosity(out: Emitted) -> ndarray:
    """Return the Phred of P(at least as many heterozygous samples) (float64 [records]); NaN for fewer than two."""
    counts = count_diploids(out)
    return np.array([phred_of_excess(*row) if sum(row) >= MIN_SAMPLES else math.nan for row in counts.tolist()])


def inbreeding_coefficient(out: Emitted) -> ndarray:
    """Return 1 - observed / expected heterozygous samples (float64 [records]); NaN below ten samples."""
    none, one, both = count_diploids(out).T
    samples = none + one + both
    frequency = (one + 2 * both) / np.maximum(1, 2 * samples)
    expected = 2 * frequency * (1 - frequency) * samples
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((samples >= MIN_INBRED) & (expected > 0), 1 - one / expected, np.nan)


def count_diploids(out: Emitted) -> ndarray:
    """Count diploid samples with no, one and two alleles other than the reference's (int64 [records, 3])."""
    if out.genotype.shape[2] < 2:
        return np.zeros((len(out), 3), np.int64)
    pair = out.genotype[:, :, :2]
    is_known, others = (out.ploidy == 2) & (pair >= 0).all(axis=2), (pair > 0).sum(axis=2)
    return np.stack([(is_known & (others == k)).sum(axis=1) for k in range(3)], axis=1)


@lru_cache(maxsize=1 << 14)
def phred_of_excess(none: int, one: int, both: int) -> float:
    """Return the one-sided mid-P value of the exact test of Hardy-Weinberg equilibrium (Wigginton et al. 2005).

    P(h) = N! / (a! h! b!) * 2^h * A! B! / (2 N)! for h heterozygous samples, A and B copies of the alleles.
    """
    first, second = 2 * none + one, 2 * both + one
    samples = none + one + both
    fixed = math.lgamma(samples + 1) + math.lgamma(first + 1) + math.lgamma(second + 1) - math.lgamma(2 * samples + 1)

    def share(h: int) -> float:
        counts = (first - h) // 2, h, (second - h) // 2
        return math.exp(fixed + h * math.log(2) - sum(math.lgamma(count + 1) for count in counts))

    p = 0.5 * share(one) + sum(share(h) for h in range(one + 2, min(first, second) + 1, 2))
    return max(0.0, -10 * math.log10(max(p, 1e-300)))


def allele_qualities_by_depth(out: Emitted, quality_by_depth: ndarray, theta: float) -> ndarray:
    """Return AS_QD: tuples with a value for each other allele, 0 for `*` and absent alleles (object [records]).

    The Phred that no sample has the allele, from its PLs under the prior of `call` with `theta`, summed over samples,
    divided by the DP of the samples that have it. With one other allele, it is QD.
    """
    values = np.empty(len(out), object)
    for row, (first, last) in enumerate(pairwise(out.kept_offsets.tolist())):
        alleles, only = last - first, float(quality_by_depth[row])
        if alleles == 2:
            values[row] = (only if only == only else 0.0,)
            continue
        found = []
        for allele in range(1, alleles):
            carriers = (out.genotype[row] == allele).any(axis=1) & (allele != out.star[row])
            depth = int(out.depth[row, carriers].sum())
            found.append(round(phred_without(out, row, alleles, allele, theta) / depth, 2) if depth else 0.0)
        values[row] = tuple(found)
    return values


def phred_without(out: Emitted, row: int, alleles: int, allele: int, theta: float) -> float:
    """Return the Phred of P(no sample has the allele). Samples are independent; PLs of only 0 are ignored."""
    samples, total = out.ploidy.shape[1], 0.0
    for ploidy in np.unique(out.ploidy[row][out.ploidy[row] > 0]).tolist():
        prior, has = priors_of(alleles, ploidy, allele, theta)
        columns = row * samples + np.flatnonzero(out.ploidy[row] == ploidy)
        phred = out.phred[out.phred_offsets[columns][:, None] + np.arange(prior.size)]
        weights = -0.1 * phred[phred.any(axis=1)] + np.log10(prior)
        total += float(10 * (log_sums(weights) - log_sums(weights[:, ~has])).sum())
    return max(0.0, total)


def log_sums(weights: ndarray) -> ndarray:
    """Return log10 of the sums of 10 ** weights in each row, however small they are."""
    highest = weights.max(axis=1, keepdims=True)
    sums: ndarray = highest[:, 0] + np.log10((10.0 ** (weights - highest)).sum(axis=1))
    return sums


@lru_cache(maxsize=1 << 12)
def priors_of(alleles: int, ploidy: int, allele: int, theta: float) -> tuple[ndarray, ndarray]:
    """Return the prior of each genotype, float64, and whether it has the allele, bool."""
    table = genotypes_of(alleles, ploidy)
    rest = no_variant_prior.py_func(theta, ploidy)  # in Python: a kernel for two numbers would have to be compiled
    others = [[a for a in genotype if a] for genotype in table]
    prior = [theta ** len(set(own)) / len(own) if own else rest for own in others]
    return np.array(prior), np.array([allele in own for own in others])
