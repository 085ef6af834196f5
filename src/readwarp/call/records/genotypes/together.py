"""Combine the evidence of several samples about a site and about each other's genotypes (host only)."""

import math

import numpy as np

from readwarp.batches import Sites
from readwarp.call.records.genotypes.emitted import MISSING_BASE, UNLISTED, Emitted
from readwarp.call.records.genotypes.order import GenotypeTables, rows_of
from readwarp.call.records.genotypes.score import (
    GenotypeScores,
    KeptAlleles,
    choose_alleles,
    fill_genotypes,
    indel_prior,
    no_variant_prior,
    substitution_prior,
)
from readwarp.config import CallParameters
from readwarp.device.jit import kernel, scalar
from readwarp.ragged import replace

REFERENCES = (
    1.0  # copies of the reference's allele as prior, and theta of each other: a neutral site has density theta / f
)
STEPS, CLOSE = 50, 1e-6  # limit of rounds that estimate frequencies; change of a frequency that ends them
NEGLIGIBLE = 1e-60  # share of the greatest term


def weigh_together(
    sites: Sites, scores: GenotypeScores, tables: GenotypeTables, parameters: CallParameters, choice: KeptAlleles
) -> GenotypeScores:
    """Mark the alleles to keep in `choice`, and compute QUAL; return scores with the prior of the samples' frequencies.

    For several samples, `choose_alleles` does it for one; see the step's contract.
    """
    snv, indel = parameters.snv_prior, parameters.indel_prior
    posterior = replace(scores, values=scores.values.copy())
    add_priors(sites, scores, tables, snv, indel, posterior.values)
    choose_alleles(sites, posterior, tables, snv, indel, choice)
    find_qualities(sites, scores, tables, snv, indel, choice)
    return posterior


def fill_together(
    sites: Sites, posterior: GenotypeScores, choice: KeptAlleles, tables: GenotypeTables, out: Emitted
) -> Emitted:
    """Fill the records, which have PLs, with the genotypes and GQ of the posterior."""
    likely = replace(out, phred=out.phred.copy(), genotype=out.genotype.copy(), genotype_quality=out.depth.copy())
    fill_genotypes(sites, posterior, choice, tables, True, likely)
    return replace(out, genotype=likely.genotype, genotype_quality=likely.genotype_quality)


@scalar
def theta_of(sites, site, snv, indel):
    if sites.is_indel[site]:
        return indel_prior(indel, sites.unit[site], sites.stop[site] - sites.begin[site])
    return substitution_prior(snv)


@kernel
def add_priors(sites, scores, tables, snv, indel, values):
    """Add log10 of each genotype's prior to `values`, which equal the scores."""
    ploidy, depth, offsets = scores.ploidy, scores.depth, scores.offsets
    samples, room = depth.shape[1], tables.first.shape[1]
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
                if depth[site, s] and ploidy[site, s]:
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


@kernel
def find_qualities(sites, scores, tables, snv, indel, choice):
    """Set QUAL of sites that keep an allele: Phred of the posterior that no copy in any sample is a listed ALT allele.

    P(k of the M copies) = theta / k; every choice of k copies is equally likely.
    """
    ploidy, depth, offsets, samples = scores.ploidy, scores.depth, scores.offsets, scores.depth.shape[1]
    numbers, most = np.empty(tables.first.shape[1], np.int64), np.int64(0)
    for site in range(sites.begin.size):
        most = max(most, ploidy[site].astype(np.int64).sum())
    now, after = np.empty(most + 1), np.empty(most + 1)
    own = np.empty(tables.alleles.shape[1] + 1)
    for site in range(sites.begin.size):
        first = sites.allele_offsets[site]
        alleles = sites.allele_offsets[site + 1] - first
        is_any = False
        for a in range(alleles):
            mark = choice.mark[first + a]
            numbers[a] = 0 if mark == MISSING_BASE else -1 if mark == UNLISTED else a
            is_any |= choice.is_kept[first + a]
        choice.quality[site] = 0.0
        if not is_any:
            continue
        theta = theta_of(sites, site, snv, indel)
        now[0], low, high, scale, against, total = 1.0, 0, 1, 0.0, 0.0, np.int64(0)
        for s in range(samples):
            copies = np.int64(ploidy[site, s])
            if depth[site, s] == 0 or copies == 0:
                continue
            values = scores.values[offsets[site * samples + s] : offsets[site * samples + s + 1]]
            none = sum_by_copies(values, tables.alleles[rows_of(tables, copies, alleles)], copies, numbers, theta, own)
            against += none
            low, high, more = convolve(now, after, low, high, own, copies)
            scale += more
            total += copies
            now, after = after, now
        choice.quality[site] = phred_of(now, low, high, scale - against, total, theta)


@kernel
def sum_by_copies(values, genotypes, copies, numbers, theta, out):
    """Fill `out` with P(D | k ALT copies), less the greatest; return log10 of the term without ALT copies, less it too.

    Genotypes with several ALT alleles are theta times as likely for each beyond the first.
    """
    best, top = -np.inf, -np.inf
    for g in range(values.size):
        best = max(best, values[g])
    out[: copies + 1] = 0.0
    bare = 0.0
    for turn in range(2):
        for g in range(values.size):
            others, distinct, last, is_listed = 0, 0, -1, True
            for copy in range(copies):
                a = genotypes[g, copy]
                is_listed &= numbers[a] >= 0
                if numbers[a] > 0:
                    others += 1
                    distinct += a != last
                    last = a
            if not is_listed:
                continue
            if turn == 0 and others == 0:
                top = max(top, values[g])
            elif turn == 1:
                out[others] += 10.0 ** (values[g] - best) * theta ** max(0, distinct - 1)
                bare += 10.0 ** (values[g] - top) if others == 0 else 0.0
    return top - best + math.log10(bare)


@kernel
def convolve(now, after, low, high, own, copies):
    """Add one sample: now [low, high), by ALT copies so far, to `after`; return its bounds and log10 of its scale."""
    after[low : high + copies] = 0.0
    ways = 1.0
    for k in range(copies + 1):
        for i in range(low, high):
            after[i + k] += now[i] * own[k] * ways
        ways = ways * (copies - k) / (k + 1)
    high, most = high + copies, 0.0
    for i in range(low, high):
        most = max(most, after[i])
    for i in range(low, high):
        after[i] /= most
    while after[low] < NEGLIGIBLE:
        low += 1
    while after[high - 1] < NEGLIGIBLE:
        high -= 1
    return low, high, math.log10(most)


@kernel
def phred_of(terms, low, high, scale, total, theta):
    """Return QUAL of the terms by ALT copies, of `total` copies. scale: of the terms over that of no ALT copy."""
    highest = -np.inf
    whole = math.lgamma(total + 1.0)
    for turn in range(2):
        some = 0.0
        for k in range(max(1, low), high):
            if terms[k] > 0.0:
                ways = (whole - math.lgamma(k + 1.0) - math.lgamma(total - k + 1.0)) / math.log(10.0)
                own = math.log10(terms[k]) + math.log10(theta / k) - ways
                if turn == 0:
                    highest = max(highest, own)
                else:
                    some += 10.0 ** (own - highest)
    if some <= 0.0:
        return 0.0
    against = highest + math.log10(some) + scale - math.log10(no_variant_prior(theta, total))
    return 10.0 * (against if against > 15.0 else math.log10(1.0 + 10.0**against))
