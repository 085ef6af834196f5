"""Genotype likelihoods of all sites and samples, and the calls made of them."""

import math

import numpy as np

from readwarp.batches import Calls, Likelihoods, Phase, Sites
from readwarp.call.evidence import NOTHING
from readwarp.call.genotypes.annotations import annotate
from readwarp.call.genotypes.emitted import Emitted, missing_bases, unlisted
from readwarp.call.genotypes.order import genotype_tables, number_of
from readwarp.call.genotypes.records import build_calls
from readwarp.call.genotypes.scalar import genotype_prior, indel_prior, no_variant_prior
from readwarp.config import CallParameters
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of

MAX_GENOTYPE_QUALITY = 99
UNREACHED = -1  # genotypes of the model that no genotype of the record stands for


def genotype_sites(
    sites: Sites,
    likelihoods: Likelihoods,
    reference: np.ndarray,
    start: int,
    parameters: CallParameters,
    *,
    samples: int = 1,
    ploidy: np.ndarray | None = None,
    phase: Phase | None = None,
) -> Calls:
    """`reference`: bases from `start` on; `ploidy`: int8 [s], of each site (None: `parameters.ploidy` everywhere);
    `phase`: what is known of the alleles on haplotypes.

    See the step's contract. Raises ValueError where a read is of a sample beyond `samples`.
    """
    if likelihoods.sample.size and likelihoods.sample.max() >= samples:
        raise ValueError(f"a read of sample {likelihoods.sample.max()}, of {samples}")
    copies = np.full(len(sites), parameters.ploidy, np.int8) if ploidy is None else ploidy.astype(np.int8)
    number = np.diff(sites.allele_offsets)
    chosen_ploidies = tuple(np.unique(copies).tolist()) or (parameters.ploidy,)
    tables, firsts, sizes = genotype_tables(int(number.max(initial=1)), chosen_ploidies)
    model = (number, copies, tables, firsts, sizes)
    score_offsets = offsets_of(sizes[copies, number] * samples)
    scores, depth = np.zeros(score_offsets[-1]), np.zeros((len(sites), samples), np.int32)
    score_genotypes(
        *(likelihoods.pair_offsets, likelihoods.allele, likelihoods.sample, likelihoods.value_offsets),
        *(likelihoods.values, *model, score_offsets, scores, depth),
    )
    is_missing, is_unlisted = missing_bases(sites), unlisted(sites)
    is_kept = np.zeros(sites.deleted.size, np.bool_)
    quality = np.zeros(len(sites))
    choose_alleles(
        *(*model, sites.allele_offsets, is_missing, is_unlisted, sites.is_forced, sites.is_indel, sites.unit),
        *(sites.stop - sites.begin, parameters.snv_prior, parameters.indel_prior),
        *(score_offsets, scores, depth, is_kept, quality),
    )
    out = Emitted.of(sites, is_kept, copies, sizes, quality, depth)
    fill_calls(
        *(out.site, *model, sites.allele_offsets, is_missing, is_unlisted, is_kept, score_offsets, scores, depth),
        *(out.genotype, out.genotype_quality, out.phred_offsets, out.phred),
    )
    annotate(out, sites, likelihoods, is_kept)
    return build_calls(sites, out, reference, start, parameters, phase)


@kernel
def score_genotypes(
    pair_offsets, allele, sample, value_offsets, values, number, ploidy, tables, firsts, sizes, score_offsets, scores,
    depth,
):  # fmt: skip
    """log10 P(D | G) of each genotype of each site and sample, and each sample's reads that say something."""
    linear = np.empty(firsts.shape[1])
    for site in range(number.size):
        alleles, copies = number[site], ploidy[site]
        first, genotypes = firsts[copies, alleles], sizes[copies, alleles]
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            if allele[pair] == NOTHING:
                continue
            depth[site, sample[pair]] += 1
            own = score_offsets[site] + sample[pair] * genotypes
            row = value_offsets[site] + (pair - pair_offsets[site]) * alleles
            highest = values[row]
            for a in range(1, alleles):
                highest = max(highest, values[row + a])
            for a in range(alleles):
                linear[a] = 10.0 ** (values[row + a] - highest)
            for g in range(genotypes):
                total = 0.0
                for copy in range(copies):
                    total += linear[tables[first + g, copy]]
                scores[own + g] += highest + math.log10(total / copies)


@kernel
def reduce_scores(scores, own, tables, first, genotypes, copies, names, named, listed, phred):
    """PL of the genotypes of a record: the best of those of the model that become it by `names` (-1: left out).

    phred int32: UNREACHED where there is none. `named`: room for a genotype. Genotypes from `listed` on have an allele
    that is not listed: they are no call, and no better than the best one. -> the first genotype with PL 0.
    """
    top = np.full(phred.size, -np.inf)
    highest = -np.inf
    for g in range(genotypes):
        is_left = True
        for copy in range(copies):
            name = names[tables[first + g, copy]]
            is_left &= name >= 0
            place = copy
            while place > 0 and named[place - 1] > name:
                named[place] = named[place - 1]
                place -= 1
            named[place] = name
        if is_left:
            target = number_of(named, copies)
            top[target] = max(top[target], scores[own + g])
            if target < listed:
                highest = max(highest, scores[own + g])
    best = -1
    for g in range(phred.size):
        phred[g] = UNREACHED
        if top[g] > -np.inf:
            phred[g] = np.int32(max(0.0, math.floor(10.0 * (highest - top[g]) + 0.5)))
        if best < 0 and phred[g] == 0:
            best = g
    return best


@kernel
def choose_alleles(
    number, ploidy, tables, firsts, sizes, allele_offsets, is_missing, is_unlisted, is_forced, is_indel, unit, tract,
    snv_prior, indel_prior_, score_offsets, scores, depth, is_kept, quality,
):  # fmt: skip
    """Mark the alleles of any sample's genotype, forced ones, and beside them the reference's; QUAL of each site."""
    names, named = np.empty(firsts.shape[1], np.int64), np.empty(tables.shape[1], np.int64)
    phred = np.empty(sizes.max(), np.int32)
    for site in range(number.size):
        first, alleles, copies = allele_offsets[site], number[site], ploidy[site]
        table, genotypes = firsts[copies, alleles], sizes[copies, alleles]
        is_any = False
        for a in range(alleles):
            names[a] = 0 if is_missing[first + a] else -1 if is_unlisted[first + a] else a
            is_kept[first + a] = a > 0 and is_forced[first + a] and not is_missing[first + a]
        for s in range(depth.shape[1]):
            if depth[site, s] == 0:
                continue
            own = score_offsets[site] + s * genotypes
            room = phred[:genotypes]
            best = reduce_scores(scores, own, tables, table, genotypes, copies, names, named, genotypes, room)
            for copy in range(copies):
                a = tables[table + best, copy]
                is_kept[first + a] |= a > 0
        for a in range(alleles):
            is_any |= is_kept[first + a]
        if not is_any:
            continue
        is_kept[first] = True
        is_kept[first + alleles - 1] |= is_unlisted[first + alleles - 1]
        theta = indel_prior(indel_prior_, unit[site], tract[site]) if is_indel[site] else snv_prior
        for s in range(depth.shape[1]):
            if depth[site, s]:
                own = score_offsets[site] + s * genotypes
                quality[site] += variant_phred(scores, own, tables, table, genotypes, copies, names, theta)


@kernel
def variant_phred(scores, own, tables, table, genotypes, copies, names, theta):
    """Phred of the posterior probability that one sample has none of the other alleles, among those listed."""
    highest = -np.inf
    for g in range(genotypes):
        if names[tables[table + g, copies - 1]] >= 0:
            highest = max(highest, scores[own + g])
    none = some = 0.0
    for g in range(genotypes):
        others = distinct = 0
        last = -1
        if names[tables[table + g, copies - 1]] < 0:
            continue
        for copy in range(copies):
            a = tables[table + g, copy]
            if names[a] > 0:
                others += 1
                distinct += a != last
                last = a
        weight = 10.0 ** (scores[own + g] - highest)
        if others:
            some += weight * genotype_prior(theta, others, distinct)
        else:
            none += weight * no_variant_prior(theta, copies)
    return max(0.0, -10.0 * math.log10(max(none, 1e-300) / (none + some)))


@kernel
def fill_calls(
    rows, number, ploidy, tables, firsts, sizes, allele_offsets, is_missing, is_unlisted, is_kept, score_offsets,
    scores, depth, genotype, genotype_quality, phred_offsets, phred,
):  # fmt: skip
    """GT, GQ and PL of each sample over the kept alleles of the sites to write; without reads: unknown, 0 and 0."""
    names, named = np.empty(firsts.shape[1], np.int64), np.empty(tables.shape[1], np.int64)
    for row in range(rows.size):
        site = rows[row]
        first, alleles, copies = allele_offsets[site], number[site], ploidy[site]
        table, genotypes = firsts[copies, alleles], sizes[copies, alleles]
        kept = 0
        for a in range(alleles):
            names[a] = kept if is_kept[first + a] else 0 if is_missing[first + a] else -1
            kept += is_kept[first + a]
        has_unlisted = is_unlisted[first + alleles - 1]
        for a in range(alleles):
            if names[a] < 0 and has_unlisted:
                names[a] = kept - 1
        size, listed = sizes[copies, kept], sizes[copies, kept - has_unlisted]
        for s in range(depth.shape[1]):
            mine = phred_offsets[row] + s * size
            if depth[site, s] == 0:
                phred[mine : mine + size] = 0
                continue
            own = score_offsets[site] + s * genotypes
            own_phred = phred[mine : mine + size]
            best = reduce_scores(scores, own, tables, table, genotypes, copies, names, named, listed, own_phred)
            for copy in range(copies):
                genotype[row, s, copy] = tables[firsts[copies, kept] + best, copy]
            second = MAX_GENOTYPE_QUALITY
            for g in range(size):
                if g != best:
                    second = min(second, own_phred[g])
            genotype_quality[row, s] = second
