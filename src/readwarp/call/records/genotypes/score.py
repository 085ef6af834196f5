"""Score genotypes of all sites and samples; choose the alleles that a record keeps, its GT, GQ and PL."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import NOTHING
from readwarp.call.records.genotypes.emitted import MISSING_BASE, UNLISTED, Emitted
from readwarp.call.records.genotypes.order import GenotypeTables, insert_allele, number_of, rows_of
from readwarp.compiler.jit import kernel
from readwarp.ragged import empty

MAX_GENOTYPE_QUALITY = 99
LEAST, TINY = 1e-90, 1e-200  # least probability of a read; smaller products are turned into logarithms
LARGEST = float(1 << 28)  # PL limit, as in `formats.variants`: 32 bits hold it in VCF and BCF
UNREACHED = -1  # PL of a record's genotype that none of the site's becomes


class GenotypeScores(NamedTuple):
    """log10 P(D | G) of each genotype of each site and sample; a column is one sample at a site."""

    ploidy: Annotated[ndarray, "int8 [sites, samples]"]
    offsets: Annotated[ndarray, "int64 [columns + 1] of values"]
    values: Annotated[ndarray, "float64 [values]"]
    depth: Annotated[ndarray, "int32 [sites, samples]"]  # informative reads


class KeptAlleles(NamedTuple):
    """Alleles that a record keeps: those of a genotype, forced ones, and then also the reference's and <NON_REF>."""

    mark: Annotated[ndarray, "uint8 [alleles]"]  # set by `mark_alleles`
    is_kept: Annotated[ndarray, "bool [alleles]"]
    quality: Annotated[ndarray, "float64 [sites]"]  # QUAL


class SiteReads(NamedTuple):
    """Likelihoods of the reads of one site, sample after sample."""

    linear: Annotated[ndarray, "float64 [reads, alleles]"]  # P(r | a) over that of the read's best allele
    weight: Annotated[ndarray, "float64 [reads]"]  # probability that it is from the first haplotype
    first: Annotated[ndarray, "int64 [samples + 1] of reads"]
    place: Annotated[ndarray, "int64 [samples]"]  # place of its next read
    highest: Annotated[ndarray, "float64 [samples]"]  # sum of log10 P of its reads' best alleles
    number: Annotated[ndarray, "int64 [samples]"]  # reads that meet the site, informative or not
    shares: Annotated[ndarray, "float64 [alleles]"]  # share of each allele among a genotype's copies


def score_genotypes(
    sites: Sites, likelihoods: Likelihoods, odds: ndarray, tables: GenotypeTables, out: GenotypeScores
) -> None:
    """Fill Scores, zeros before. odds: of the haplotypes, float64 [pairs], or [0] if unknown."""
    most = int(np.diff(likelihoods.pair_offsets).max(initial=0))
    lengths = {"reads": most, "alleles": tables.first.shape[1], "samples": out.depth.shape[1]}
    score_all(sites, likelihoods, odds, tables, empty(SiteReads, lengths), out)


@kernel
def score_all(sites, likelihoods, odds, tables, reads, out):
    """Score all sites. reads: scratch for the reads of any site."""
    samples = out.depth.shape[1]
    for site in range(sites.begin.size):
        alleles = sites.allele_offsets[site + 1] - sites.allele_offsets[site]
        for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
            out.depth[site, likelihoods.sample[pair]] += likelihoods.allele[pair] != NOTHING
        reads.first[0] = 0
        for s in range(samples):
            reads.first[s + 1] = reads.first[s] + out.depth[site, s]
        gather_reads(site, likelihoods, odds, alleles, reads)
        for s in range(samples):
            own, copies = out.offsets[site * samples + s], np.int64(out.ploidy[site, s])
            table, linear = tables.first[copies, alleles], reads.linear[reads.first[s] : reads.first[s + 1]]
            weight = reads.weight[reads.first[s] : reads.first[s + 1]]
            for g in range(tables.size[copies, alleles] if copies else 0):
                reads.shares[:alleles] = 0.0
                for copy in range(copies):
                    reads.shares[tables.alleles[table + g, copy]] += 1.0
                reach = 0.0
                for a in range(alleles):
                    reads.shares[a] /= copies
                    reach += reads.shares[a] * sites.reach[sites.allele_offsets[site] + a]
                a, b = tables.alleles[table + g, 0], tables.alleles[table + g, copies - 1]
                total = reads.highest[s]
                if odds.size and copies == 2 and a != b:
                    one, other = sided_likelihood(linear, weight, a, b), sided_likelihood(linear, weight, b, a)
                    rarer = 10.0 ** (min(one, other) - max(one, other))
                    total += max(one, other) + math.log10(0.5 + 0.5 * rarer)
                else:
                    total += log_likelihood(linear, alleles, reads.shares)
                out.values[own + g] = total - reads.number[s] * math.log10(reach)


@kernel
def gather_reads(site, likelihoods, odds, alleles, reads):
    """Fill `reads`, whose `first` are known, with the informative ones."""
    low, high = likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]
    for s in range(reads.place.size):
        reads.place[s], reads.highest[s], reads.number[s] = reads.first[s], 0.0, 0
    for pair in range(low, high):
        reads.number[likelihoods.sample[pair]] += 1
        if likelihoods.allele[pair] == NOTHING:
            continue
        s, row = likelihoods.sample[pair], likelihoods.value_offsets[site] + (pair - low) * alleles
        best = likelihoods.values[row : row + alleles].max()
        for a in range(alleles):
            reads.linear[reads.place[s], a] = 10.0 ** (likelihoods.values[row + a] - best)
        reads.weight[reads.place[s]] = 1.0 / (1.0 + 10.0 ** -odds[pair]) if odds.size else 0.5
        reads.highest[s] += best
        reads.place[s] += 1


@kernel
def log_likelihood(linear, alleles, shares):
    """Return sum_r log10( sum_a share of a * P(r | a) )."""
    total, product = 0.0, 1.0
    for r in range(linear.shape[0]):
        own = 0.0
        for a in range(alleles):
            own += shares[a] * linear[r, a]
        product *= max(own, LEAST)
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)


@kernel
def sided_likelihood(linear, weight, a, b):
    """Return sum_r log10( w P(r | a) + (1 - w) P(r | b) ), with a on the first haplotype, which has read r with w."""
    total, product = 0.0, 1.0
    for r in range(linear.shape[0]):
        product *= max(weight[r] * linear[r, a] + (1.0 - weight[r]) * linear[r, b], LEAST)
        if product < TINY:
            total += math.log10(product)
            product = 1.0
    return total + math.log10(product)


class RecordRoom(NamedTuple):
    """Scratch space for the record of one site."""

    numbers: Annotated[ndarray, "int64 [alleles]"]  # number of the site's alleles in the record, -1: dropped
    genotype: Annotated[ndarray, "int64 [copies]"]
    best: Annotated[ndarray, "float64 [genotypes]"]  # highest score that becomes each of the record's
    phred: Annotated[ndarray, "int32 [genotypes]"]


def room_for(tables: GenotypeTables) -> RecordRoom:
    copies, alleles = tables.alleles.shape[1], tables.first.shape[1]
    return empty(RecordRoom, {"alleles": alleles, "copies": copies, "genotypes": tables.largest})


def choose_alleles(sites: Sites, scores: GenotypeScores, tables: GenotypeTables, out: KeptAlleles) -> None:
    """Mark the alleles to keep in `out`."""
    choose_all(sites, scores, tables, room_for(tables), out)


@kernel
def choose_all(sites, scores, tables, room, out):
    samples = scores.depth.shape[1]
    for site in range(sites.begin.size):
        first = sites.allele_offsets[site]
        alleles = sites.allele_offsets[site + 1] - first
        is_any, last = False, first + alleles - 1
        has_star = samples > 1
        for a in range(alleles):
            out.is_kept[first + a] = a > 0 and sites.is_forced[first + a] and out.mark[first + a] != MISSING_BASE
            has_star |= out.is_kept[first + a]
        for a in range(alleles):
            is_plain = out.mark[first + a] != MISSING_BASE or has_star
            room.numbers[a] = 0 if not is_plain else -1 if out.mark[first + a] == UNLISTED else a
        for s in range(samples):
            copies, own = np.int64(scores.ploidy[site, s]), scores.values[scores.offsets[site * samples + s] :]
            if scores.depth[site, s] and copies:
                keep_carried(own, copies, tables, room, out.is_kept[first : last + 1])
        for a in range(first, last + 1):
            is_any |= out.is_kept[a] and out.mark[a] != MISSING_BASE
        for a in range(first, last + 1):
            out.is_kept[a] &= is_any
        out.is_kept[first] = is_any
        out.is_kept[last] |= is_any and out.mark[last] == UNLISTED


@kernel
def keep_carried(scores, copies, tables, room, is_kept):
    """Keep the ALT alleles of the genotype of one sample at a site."""
    genotypes = tables.alleles[rows_of(tables, copies, is_kept.size)]
    number = genotypes.shape[0]
    best = reduce_scores(scores, genotypes, copies, number, room, room.phred[:number])
    for copy in range(copies):
        is_kept[genotypes[best, copy]] |= genotypes[best, copy] > 0


@kernel
def reduce_scores(scores, genotypes, copies, listed, room, phred):
    """Fill PLs of a record's genotypes, each the best of the site's that become it; return the first one with PL 0.

    The room's `numbers` are known. phred: int32, UNREACHED if nothing becomes the genotype. Genotypes from `listed` on
    have an unlisted allele: they cannot be called, and are no better than the best one.
    """
    highest = -np.inf
    room.best[: phred.size] = -np.inf
    for g in range(genotypes.shape[0]):
        is_complete = True
        for copy in range(copies):
            number = room.numbers[genotypes[g, copy]]
            is_complete &= number >= 0
            insert_allele(room.genotype, copy, number)
        if is_complete:
            target = number_of(room.genotype, copies)
            room.best[target] = max(room.best[target], scores[g])
            if target < listed:
                highest = max(highest, scores[g])
    best = -1
    for g in range(phred.size):
        phred[g] = UNREACHED
        if room.best[g] > -np.inf:
            phred[g] = np.int32(min(LARGEST, max(0.0, math.floor(10.0 * (highest - room.best[g]) + 0.5))))
        if best < 0 and phred[g] == 0:
            best = g
    return best


def fill_genotypes(
    sites: Sites, scores: GenotypeScores, choice: KeptAlleles, tables: GenotypeTables, has_prior: bool, out: Emitted
) -> None:
    """Set GT, GQ and PL of each sample over the alleles that its record keeps; without reads unknown, 0 and 0.

    has_prior: the scores are posteriors.
    """
    fill_all(sites, scores, choice, tables, has_prior, room_for(tables), out)


@kernel
def fill_all(sites, scores, choice, tables, has_prior, room, out):
    samples = out.depth.shape[1]
    for row in range(out.site.size):
        site = out.site[row]
        first = sites.allele_offsets[site]
        alleles = sites.allele_offsets[site + 1] - first
        kept = 0
        for a in range(alleles):
            room.numbers[a] = kept if choice.is_kept[first + a] else 0 if choice.mark[first + a] == MISSING_BASE else -1
            kept += choice.is_kept[first + a]
        has_unlisted = choice.mark[first + alleles - 1] == UNLISTED
        for a in range(alleles):
            if room.numbers[a] < 0 and has_unlisted:
                room.numbers[a] = kept - 1
        for s in range(samples):
            copies, column = np.int64(out.ploidy[row, s]), row * samples + s
            if out.depth[row, s] == 0 or copies == 0:
                continue
            own = scores.values[scores.offsets[site * samples + s] :]
            phred = out.phred[out.phred_offsets[column] : out.phred_offsets[column + 1]]
            genotypes = tables.alleles[rows_of(tables, copies, alleles)]
            best = reduce_scores(own, genotypes, copies, tables.size[copies, kept - has_unlisted], room, phred)
            for copy in range(copies):
                out.genotype[row, s, copy] = tables.alleles[tables.first[copies, kept] + best, copy]
            genotypes = tables.alleles[rows_of(tables, copies, kept)]
            out.genotype_quality[row, s] = genotype_phred(phred, genotypes, copies, best, has_prior)


@kernel
def genotype_phred(phred, genotypes, copies, best, has_prior):
    """Return GQ: the Phred of the probability that another genotype is true, given that the site is a variant.

    Genotypes with k copies of ALT alleles then have a weight of 1 / k, as in the prior, unless PLs include one; none
    has a weight of 1.
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
    if others * 1e10 <= own:  # or all are 0, of very large PLs
        return np.int64(MAX_GENOTYPE_QUALITY)
    quality = -10.0 * math.log10(others / (own + others))
    return min(np.int64(MAX_GENOTYPE_QUALITY), np.int64(max(0.0, quality) + 0.5))
