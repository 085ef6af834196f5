"""Call genotypes of sites from likelihoods, samples together, with alleles in phase. See the step's contract."""

import math

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods, Phase
from readwarp.call.likelihoods.evidence import DEPENDENT, NOTHING
from readwarp.call.places.bases import Window
from readwarp.call.reads.sides import SURE
from readwarp.call.records.genotypes.annotations import ANNOTATIONS, Columns, summarise
from readwarp.call.records.genotypes.calls import build_calls
from readwarp.call.records.genotypes.emitted import MISSING_BASE, Emitted, allocate
from readwarp.call.records.genotypes.filters import asks_for_surroundings
from readwarp.call.records.genotypes.order import GenotypeTables, rows_of, tables_for
from readwarp.call.records.genotypes.quality import find_qualities, theta_of
from readwarp.call.records.genotypes.score import (
    GenotypeScores,
    KeptAlleles,
    choose_alleles,
    fill_genotypes,
    score_genotypes,
)
from readwarp.call.records.genotypes.spell import ListedRecords, spell_alleles
from readwarp.call.records.genotypes.surroundings import SitePriors, find_typical_depth
from readwarp.compiler.jit import kernel
from readwarp.config import CallParameters
from readwarp.formats.variants.calls import Calls
from readwarp.ragged import offsets_of, replace

MIN_MARGIN = 1.0  # log10 by which one order of the alleles must be likelier than the other
REFERENCES = 1.0  # prior copies of REF, and theta of each other allele: a neutral site has density theta / f
STEPS, CLOSE = 50, 1e-6  # limit of rounds that estimate frequencies; change of a frequency that ends them


@kernel
def phase_records(sites, likelihoods, sides, out):
    """Set the phase sets of heterozygous diploid genotypes, and the order of their alleles, where it is certain.

    With w the probability that read r is from the first haplotype, the reads support the order (a, b) by

        sum_r log10( (w P(r | a) + (1 - w) P(r | b)) / (w P(r | b) + (1 - w) P(r | a)) )

    The site's own reads are part of w, since it may be one of the sites that made the haplotypes. Then a read that
    other sites place on one haplotype, and that shows its allele, becomes DEPENDENT: long reads share many sites, so
    the strands of a haplotype's reads are no evidence about one of its alleles. An error of one strand falls on both
    haplotypes alike, and shows in the reads that contradict their haplotype.
    """
    allele, sample = likelihoods.allele, likelihoods.sample
    (odds, whole, sets), genotypes = sides, out.genotype
    for row in range(out.site.size):
        site = out.site[row]
        first = sites.allele_offsets[site]
        number = sites.allele_offsets[site + 1] - first
        kept = out.kept_offsets[row]
        for s in range(out.ploidy.shape[1]):
            if out.ploidy[row, s] != 2 or sets[site, s] < 0 or genotypes[row, s, 0] == genotypes[row, s, 1]:
                continue
            a, b = out.allele[kept + genotypes[row, s, 0]] - first, out.allele[kept + genotypes[row, s, 1]] - first
            margin = 0.0
            for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
                if sample[pair] == s and allele[pair] != NOTHING:
                    at = likelihoods.value_offsets[site] + (pair - likelihoods.pair_offsets[site]) * number
                    one, other = likelihoods.values[at + a], likelihoods.values[at + b]
                    w, ratio = 1.0 / (1.0 + 10.0 ** -whole[pair]), 10.0 ** min(300.0, max(-300.0, other - one))
                    margin += math.log10((w + (1.0 - w) * ratio) / (w * ratio + 1.0 - w))
            if abs(margin) >= MIN_MARGIN:
                out.phase_set[row, s] = sets[site, s]
                if margin < 0:
                    genotypes[row, s, 0], genotypes[row, s, 1] = genotypes[row, s, 1], genotypes[row, s, 0]
                    a, b = b, a
                for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
                    if sample[pair] == s and abs(odds[pair]) >= SURE and allele[pair] == (a if odds[pair] > 0 else b):
                        likelihoods.strand[pair] |= DEPENDENT


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


def genotype_sites(
    sites: Sites,
    likelihoods: Likelihoods,
    window: Window,
    expected: SitePriors,
    parameters: CallParameters,
    phase: Phase | None = None,
) -> Calls:
    """Call genotypes. `window`: the reference around the sites; `phase`: alleles on haplotypes.

    See the step's contract. Raises ValueError for a read of a sample that `ploidy` does not have.
    """
    ploidy, samples = expected.ploidy, expected.ploidy.shape[1]
    if likelihoods.sample.size and likelihoods.sample.max() >= samples:
        raise ValueError(f"a read of sample {likelihoods.sample.max()}, of {samples}")
    number = np.diff(sites.allele_offsets)
    tables = tables_for(ploidy, number[:, None])
    offsets = offsets_of(tables.size[ploidy, number[:, None]])
    scores = GenotypeScores(ploidy, offsets, np.zeros(offsets[-1]), np.zeros(ploidy.shape, np.int32))
    sides = expected.sides
    score_genotypes(sites, likelihoods, sides.odds if sides else np.empty(0), tables, scores)
    choice = KeptAlleles(mark_alleles(sites), np.zeros(sites.deleted.size, np.bool_), np.zeros(len(sites)))
    if samples > 1:
        posterior = weigh_together(sites, scores, tables, parameters, choice)
    else:
        choose_alleles(sites, scores, tables, choice)
    find_qualities(sites, scores, tables, parameters.snv_prior, parameters.indel_prior, choice)
    out = _emit(sites, scores, choice, tables)
    fill_genotypes(sites, scores, choice, tables, False, out)
    if samples > 1:
        out = fill_together(sites, posterior, choice, tables, out)
    if sides is not None:
        phase_records(sites, likelihoods, sides, out)
    columns = Columns._make(np.full((len(ANNOTATIONS), len(out)), np.nan))
    summarise(sites, likelihoods, choice.is_kept, out, columns)
    if expected.depths is not None:
        for row in np.flatnonzero(asks_for_surroundings(out, columns, parameters)).tolist():
            begin = int(sites.begin[out.site[row]])
            out.depth_around[row] = find_typical_depth(expected.depths, begin, out.depth[row])
    listed = ListedRecords(out.site, out.kept_offsets, out.allele, out.is_indel)
    spelled = spell_alleles(sites, listed, window)
    if sides is not None:
        calls = build_calls(spelled, out, columns, parameters)
        # PID is the position alone: the first call of the set may lie in another window.
        names = [tuple(f"{start + 1}" if start >= 0 else "" for start in own) for own in out.phase_set.tolist()]
        return replace(calls, phase_name=names)
    if phase is not None:
        out = phase_genotypes(out, sites, phase, spelled.position)
    return build_calls(spelled, out, columns, parameters)


def _emit(sites: Sites, scores: GenotypeScores, choice: KeptAlleles, tables: GenotypeTables) -> Emitted:
    """Make records of the sites that keep an allele."""
    kept = np.add.reduceat(np.append(choice.is_kept, False).astype(np.int64), sites.allele_offsets[:-1])
    site = np.flatnonzero(kept)
    out = allocate(site, kept[site], np.flatnonzero(choice.is_kept), scores.ploidy[site], tables)
    quality = np.round(choice.quality[site], 2)
    is_star = choice.mark[out.allele] == MISSING_BASE
    row = np.repeat(np.arange(site.size), np.diff(out.kept_offsets))[is_star]
    out.star[row] = np.flatnonzero(is_star) - out.kept_offsets[row]
    return replace(out, is_indel=sites.is_indel[site], quality=quality, depth=scores.depth[site])


def mark_alleles(sites: Sites) -> ndarray:
    """Return MISSING_BASE, UNLISTED, or 0 for an allele that has bases (uint8 [alleles])."""
    out = np.zeros(sites.deleted.size, np.uint8)
    alone = np.flatnonzero(np.diff(sites.inserted_offsets) == 1)
    base = sites.inserted[sites.inserted_offsets[alone]]
    out[alone] = np.where(base >= MISSING_BASE, base, 0)
    return out


def phase_genotypes(out: Emitted, sites: Sites, phase: Phase, position: ndarray) -> Emitted:
    """Add phase sets, and put the genotypes in them into the order of haplotypes. `position`: int64 [records]."""
    named = _on_haplotypes(out, sites, phase)
    agrees = np.all(np.sort(named, axis=2) == np.sort(out.genotype, axis=2), axis=2)
    fits = agrees & (out.genotype.max(axis=2, initial=-1) > out.genotype[:, :, 0])
    sets = out.phase_set.copy()
    _, region = np.unique(phase.region[out.site], return_inverse=True)
    for sample in range(fits.shape[1]):
        own = fits[:, sample]
        own &= np.bincount(region[own], minlength=region.size + 1)[region] > 1
        first = np.full(region.size, np.iinfo(np.int64).max)
        np.minimum.at(first, region[own], position[own])
        sets[own, sample] = first[region[own]]
    return replace(out, genotype=np.where(fits[:, :, None], named, out.genotype), phase_set=sets)


def _on_haplotypes(out: Emitted, sites: Sites, phase: Phase) -> ndarray:
    """Return each call's allele on each haplotype of a sample, -1 for none (int8, shaped like Emitted.genotype)."""
    name = np.where(mark_alleles(sites) == MISSING_BASE, 0, -1).astype(np.int8)
    name[out.allele] = np.arange(out.allele.size) - np.repeat(out.kept_offsets[:-1], np.diff(out.kept_offsets))
    copies = np.arange(out.genotype.shape[2])
    shown = phase.allele[out.site][:, :, np.minimum(copies, phase.allele.shape[2] - 1)]
    known = name[sites.allele_offsets[out.site][:, None, None] + np.maximum(shown, 0)]
    is_copy = copies < np.minimum(out.ploidy, phase.allele.shape[2])[:, :, None]
    return np.where(is_copy & (shown >= 0), known, np.int8(-1))
