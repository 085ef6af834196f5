"""Genotype likelihoods of all sites and samples; the alleles that a record keeps, its GT, GQ, PL and QUAL."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.evidence import NOTHING
from readwarp.call.genotypes.emitted import MISSING_BASE, UNLISTED
from readwarp.call.genotypes.order import insert_allele, number_of, table_of
from readwarp.device.jit import kernel, scalar

MAX_GENOTYPE_QUALITY = 99
LEAST, TINY = 1e-90, 1e-200  # the least probability of a read; of smaller products the logarithm is taken
UNREACHED = -1  # PL of a genotype of the record that none of the site's genotypes becomes


class Scores(NamedTuple):
    """log10 P(D | G) of each genotype of each site and sample. A column is one sample at a site."""

    ploidy: Annotated[ndarray, "int8 [sites, samples]"]
    offsets: Annotated[ndarray, "int64 [columns + 1] of values"]
    values: Annotated[ndarray, "float64 [values]"]
    depth: Annotated[ndarray, "int32 [sites, samples]"]  # informative reads


class Choice(NamedTuple):
    """Which alleles a record keeps: those of a genotype, forced ones, and with them the reference's and <NON_REF>."""

    mark: Annotated[ndarray, "uint8 [alleles]"]  # by `mark_alleles`
    is_kept: Annotated[ndarray, "bool [alleles]"]
    quality: Annotated[ndarray, "float64 [sites]"]  # QUAL


@kernel
def score_genotypes(sites, likelihoods, tables, out):
    """Likelihoods -> Scores, which are zeros before."""
    pair_offsets, allele, sample = likelihoods.pair_offsets, likelihoods.allele, likelihoods.sample
    ploidy, offsets, depth, rows = out.ploidy, out.offsets, out.depth, tables.alleles
    samples, room, most = depth.shape[1], tables.first.shape[1], 0
    for site in range(sites.begin.size):
        most = max(most, pair_offsets[site + 1] - pair_offsets[site])
    linear, shares = np.empty((most, room)), np.empty(room)  # P(r | a) over that of the read's best allele
    first, highest = np.empty(samples + 1, np.int64), np.empty(samples)
    for site in range(sites.begin.size):
        alleles = sites.allele_offsets[site + 1] - sites.allele_offsets[site]
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            depth[site, sample[pair]] += allele[pair] != NOTHING
        first[0] = 0
        for s in range(samples):
            first[s + 1] = first[s] + depth[site, s]
        gather_reads(site, likelihoods, alleles, linear, first, highest)
        for s in range(samples):
            own, copies = offsets[site * samples + s], ploidy[site, s]
            table = tables.first[copies, alleles]
            for g in range(tables.size[copies, alleles] if copies else 0):
                shares[:] = 0.0
                for copy in range(copies):
                    shares[rows[table + g, copy]] += 1.0
                for a in range(alleles):
                    shares[a] /= copies
                mine = linear[first[s] : first[s + 1], :alleles]
                out.values[own + g] = highest[s] + log_likelihood(mine, shares)


@kernel
def gather_reads(site, likelihoods, alleles, linear, first, highest):
    """Fill `linear` with the reads that say something, from `first` of their sample on; `first` is kept.

    highest: of each sample, the sum of the log10 P of the reads' best alleles.
    """
    allele, sample, values = likelihoods.allele, likelihoods.sample, likelihoods.values
    low, high = likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]
    place = first.copy()
    highest[:] = 0.0
    for pair in range(low, high):
        if allele[pair] == NOTHING:
            continue
        s, row = sample[pair], likelihoods.value_offsets[site] + (pair - low) * alleles
        best = values[row]
        for a in range(1, alleles):
            best = max(best, values[row + a])
        for a in range(alleles):
            linear[place[s], a] = 10.0 ** (values[row + a] - best)
        highest[s] += best
        place[s] += 1


@kernel
def log_likelihood(linear, shares):
    """sum_r log10( sum_a share of a * P(r | a) )"""
    total, product = 0.0, 1.0
    for r in range(linear.shape[0]):
        own = 0.0
        for a in range(linear.shape[1]):
            own += shares[a] * linear[r, a]
        product *= max(own, LEAST)
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)


@kernel
def choose_alleles(sites, scores, tables, snv, indel, out):
    """Mark the alleles to keep in the Choice `out`, and find QUAL. `snv`, `indel`: heterozygosity of either."""
    mark, is_kept, samples = out.mark, out.is_kept, scores.depth.shape[1]
    numbers, genotype = np.empty(tables.first.shape[1], np.int64), np.empty(tables.alleles.shape[1], np.int64)
    room = np.empty(tables.largest, np.int32)
    for site in range(sites.begin.size):
        first = sites.allele_offsets[site]
        alleles = sites.allele_offsets[site + 1] - first
        is_any, last = False, first + alleles - 1
        for a in range(alleles):
            numbers[a] = 0 if mark[first + a] == MISSING_BASE else -1 if mark[first + a] == UNLISTED else a
            is_kept[first + a] = a > 0 and sites.is_forced[first + a] and mark[first + a] != MISSING_BASE
        for s in range(samples):
            if scores.depth[site, s] == 0 or scores.ploidy[site, s] == 0:
                continue
            copies, column = scores.ploidy[site, s], site * samples + s
            genotypes, own = table_of(tables, copies, alleles), scores.values[scores.offsets[column] :]
            number = genotypes.shape[0]
            best = reduce_scores(own, genotypes, copies, numbers, genotype, number, room[:number])
            for copy in range(copies):
                a = genotypes[best, copy]
                is_kept[first + a] |= a > 0
        for a in range(first, last + 1):
            is_any |= is_kept[a]
        if not is_any:
            continue
        is_kept[first] = True
        is_kept[last] |= mark[last] == UNLISTED
        theta = substitution_prior(snv)
        if sites.is_indel[site]:
            theta = indel_prior(indel, sites.unit[site], sites.stop[site] - sites.begin[site])
        for s in range(samples):
            if scores.depth[site, s] and scores.ploidy[site, s]:
                copies, own = scores.ploidy[site, s], scores.values[scores.offsets[site * samples + s] :]
                out.quality[site] += variant_phred(own, table_of(tables, copies, alleles), copies, numbers, theta)


@kernel
def reduce_scores(scores, genotypes, copies, numbers, genotype, listed, phred):
    """PLs of a record's genotypes: for each, the best of the site's that become it -> the first one with PL 0.

    `numbers`: of the site's alleles in the record, -1: left out. `genotype`: space for one. phred: int32, UNREACHED if
    nothing becomes the genotype. Genotypes from `listed` on have an allele that is not listed: they cannot be called,
    and are no better than the best one.
    """
    top = np.empty(phred.size)
    top[:] = -np.inf
    highest = -np.inf
    for g in range(genotypes.shape[0]):
        is_complete = True
        for copy in range(copies):
            number = numbers[genotypes[g, copy]]
            is_complete &= number >= 0
            insert_allele(genotype, copy, number)
        if is_complete:
            target = number_of(genotype, copies)
            top[target] = max(top[target], scores[g])
            if target < listed:
                highest = max(highest, scores[g])
    best = -1
    for g in range(phred.size):
        phred[g] = UNREACHED
        if top[g] > -np.inf:
            phred[g] = np.int32(max(0.0, math.floor(10.0 * (highest - top[g]) + 0.5)))
        if best < 0 and phred[g] == 0:
            best = g
    return best


@kernel
def variant_phred(scores, genotypes, copies, numbers, theta):
    """Phred of the posterior probability that one sample has none of the listed ALT alleles.

    Sums are kept relative to their highest term, so that a great depth has no limit.
    """
    highest = np.full(2, -np.inf)  # of genotypes without and with ALT alleles
    sums = np.zeros(2)
    for turn in range(2):
        for g in range(genotypes.shape[0]):
            others = distinct = 0
            last = -1
            if numbers[genotypes[g, copies - 1]] < 0:
                continue
            for copy in range(copies):
                a = genotypes[g, copy]
                if numbers[a] > 0:
                    others += 1
                    distinct += a != last
                    last = a
            kind = 1 if others else 0
            if turn == 0:
                highest[kind] = max(highest[kind], scores[g])
            else:
                prior = theta**distinct / others if others else no_variant_prior(theta, copies)
                sums[kind] += 10.0 ** (scores[g] - highest[kind]) * prior
    if sums[1] <= 0.0:
        return 0.0
    against = highest[1] - highest[0] + math.log10(sums[1] / sums[0])
    return 10.0 * (against if against > 15.0 else math.log10(1.0 + 10.0**against))


@kernel
def fill_genotypes(sites, scores, choice, tables, has_prior, out):
    """GT, GQ and PL of each sample over the alleles that its record keeps; without reads unknown, 0 and 0.

    has_prior: the scores are posteriors.
    """
    is_kept, samples = choice.is_kept, out.depth.shape[1]
    numbers, genotype = np.empty(tables.first.shape[1], np.int64), np.empty(tables.alleles.shape[1], np.int64)
    for row in range(out.site.size):
        site = out.site[row]
        first = sites.allele_offsets[site]
        alleles = sites.allele_offsets[site + 1] - first
        kept = 0
        for a in range(alleles):
            numbers[a] = kept if is_kept[first + a] else 0 if choice.mark[first + a] == MISSING_BASE else -1
            kept += is_kept[first + a]
        has_unlisted = choice.mark[first + alleles - 1] == UNLISTED
        for a in range(alleles):
            if numbers[a] < 0 and has_unlisted:
                numbers[a] = kept - 1
        for s in range(samples):
            copies, column = out.ploidy[row, s], row * samples + s
            if out.depth[row, s] == 0 or copies == 0:
                continue
            own = scores.values[scores.offsets[site * samples + s] :]
            phred = out.phred[out.phred_offsets[column] : out.phred_offsets[column + 1]]
            genotypes, listed = table_of(tables, copies, alleles), tables.size[copies, kept - has_unlisted]
            best = reduce_scores(own, genotypes, copies, numbers, genotype, listed, phred)
            for copy in range(copies):
                out.genotype[row, s, copy] = tables.alleles[tables.first[copies, kept] + best, copy]
            genotypes = table_of(tables, copies, kept)
            out.genotype_quality[row, s] = genotype_phred(phred, genotypes, copies, best, has_prior)


@kernel
def genotype_phred(phred, genotypes, copies, best, has_prior):
    """GQ: Phred of the probability that another genotype is the true one, if the site is a variant.

    Genotypes with k copies of ALT alleles then have a weight of 1 / k, as in the prior, unless PLs have one; that of
    none is 1.
    """
    own = others = 0.0
    for g in range(phred.size):
        alternates = 0
        for copy in range(copies):
            alternates += genotypes[g, copy] > 0 and not has_prior
        weight = 10.0 ** (-0.1 * phred[g]) / max(1, alternates) if phred[g] != UNREACHED else 0.0
        if g == best:
            own = weight
        else:
            others += weight
    if others * 1e10 < own:
        return np.int64(MAX_GENOTYPE_QUALITY)
    quality = -10.0 * math.log10(others / (own + others))
    return min(np.int64(MAX_GENOTYPE_QUALITY), np.int64(max(0.0, quality) + 0.5))


@scalar
def no_variant_prior(theta, copies):
    """Of the genotype that has only the reference's allele; at least theta, however many copies there are."""
    total = 0.0
    for k in range(1, copies + 1):
        total += 1.0 / k
    return max(theta, 1.0 - theta * total)


@scalar
def substitution_prior(prior):
    """Heterozygosity of one other base: the three are alike."""
    return prior / 3.0


@scalar
def indel_prior(prior, unit, tract):
    """Heterozygosity of indels: it rises with each repeat unit beyond 4."""
    return min(0.01, prior * 1.4 ** max(0, tract // unit - 4))
