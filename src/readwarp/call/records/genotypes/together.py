"""Combine the evidence of several samples about a site and about each other's genotypes (host only)."""

import math

import numpy as np

from readwarp.call.candidates.batches import Sites
from readwarp.call.records.genotypes.emitted import Emitted
from readwarp.call.records.genotypes.order import GenotypeTables, rows_of
from readwarp.call.records.genotypes.quality import theta_of
from readwarp.call.records.genotypes.score import GenotypeScores, KeptAlleles, choose_alleles, fill_genotypes
from readwarp.compiler.jit import kernel
from readwarp.config import CallParameters
from readwarp.ragged import replace

REFERENCES = (
    1.0  # copies of the reference's allele as prior, and theta of each other: a neutral site has density theta / f
)
STEPS, CLOSE = 50, 1e-6  # limit of rounds that estimate frequencies; change of a frequency that ends them


def weigh_together(
    sites: Sites, scores: GenotypeScores, tables: GenotypeTables, parameters: CallParameters, choice: KeptAlleles
) -> GenotypeScores:
    """Mark the alleles to keep in `choice`; return scores with the prior of the samples' frequencies.

    For several samples, `choose_alleles` does it for one; see the step's contract.
    """
    posterior = replace(scores, values=scores.values.copy())
    add_priors(sites, scores, tables, parameters.snv_prior, parameters.indel_prior, posterior.values)
    choose_alleles(sites, posterior, tables, choice)
    return posterior


def fill_together(
    sites: Sites, posterior: GenotypeScores, choice: KeptAlleles, tables: GenotypeTables, out: Emitted
) -> Emitted:
    """Fill the records, which have PLs, with the genotypes and GQ of the posterior."""
    likely = replace(out, phred=out.phred.copy(), genotype=out.genotype.copy(), genotype_quality=out.depth.copy())
    fill_genotypes(sites, posterior, choice, tables, True, likely)
    return replace(out, genotype=likely.genotype, genotype_quality=likely.genotype_quality)


@kernel
def add_priors(sites, scores, tables, snv, indel, values):
    """Add log10 of each genotype's prior to `values`, which equal the scores."""
    ploidy, offsets = scores.ploidy, scores.offsets
    samples, room = scores.depth.shape[1], tables.first.shape[1]
    counts, logs = np.empty(room), np.empty(room)
    for site in range(sites.begin.size):
        alleles = sites.allele_offsets[site + 1] - sites.allele_offsets[site]
        theta = theta_of(sites, site, snv, indel)
        first, last = offsets[site * samples], offsets[(site + 1) * samples]
        fits = np.empty(last - first)
        for s in range(samples):
            low, high = offsets[site * samples + s], offsets[site * samples + s + 1]
            best = -np.inf
            for g in range(low, high):
                best = max(best, scores.values[g])
            for g in range(low, high):
                fits[g - first] = 10.0 ** (scores.values[g] - best)
        logs[:alleles] = -math.log10(alleles)
        for _ in range(STEPS):
            counts[:alleles] = theta
            counts[0] = REFERENCES
            for s in range(samples):
                if scores.depth[site, s] and ploidy[site, s]:
                    low = offsets[site * samples + s] - first
                    add_copies(
                        fits[low:],
                        tables.alleles[rows_of(tables, ploidy[site, s], alleles)],
                        ploidy[site, s],
                        logs,
                        counts,
                    )
            total, change = 0.0, 0.0
            for a in range(alleles):
                total += counts[a]
            for a in range(alleles):
                change = max(change, abs(counts[a] / total - 10.0 ** logs[a]))
                logs[a] = math.log10(counts[a] / total)
            if change < CLOSE:
                break
        for s in range(samples):
            if ploidy[site, s]:
                genotypes, low = tables.alleles[rows_of(tables, ploidy[site, s], alleles)], offsets[site * samples + s]
                for g in range(genotypes.shape[0]):
                    values[low + g] += log_prior(genotypes[g], ploidy[site, s], logs)


@kernel
def add_copies(fits, genotypes, copies, logs, counts):
    """Add the expected copies of each allele in one sample."""
    total, weights = 0.0, np.empty(genotypes.shape[0])
    for g in range(genotypes.shape[0]):
        weights[g] = fits[g] * 10.0 ** log_prior(genotypes[g], copies, logs) if fits[g] > 0.0 else 0.0
        total += weights[g]
    for g in range(genotypes.shape[0]):
        if weights[g] > 0.0:
            for copy in range(copies):
                counts[genotypes[g, copy]] += weights[g] / total


@kernel
def log_prior(genotype, copies, logs):
    """Return log10 of a genotype's share in Hardy-Weinberg equilibrium. genotype: ascends; logs: of the frequencies."""
    total, run = math.lgamma(copies + 1.0) / math.log(10.0), 0
    for copy in range(copies):
        run = run + 1 if copy and genotype[copy] == genotype[copy - 1] else 1
        total += logs[genotype[copy]] - math.log10(run)
    return total
