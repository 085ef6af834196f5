"""Call genotypes of sites from likelihoods, with alleles on haplotypes in phase. See the step's contract."""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods, Phase
from readwarp.call.places.window import Window
from readwarp.call.records.genotypes.annotations import ANNOTATIONS, Columns, summarise
from readwarp.call.records.genotypes.calls import build_calls
from readwarp.call.records.genotypes.emitted import MISSING_BASE, Emitted, allocate
from readwarp.call.records.genotypes.filters import asks_for_surroundings
from readwarp.call.records.genotypes.order import GenotypeTables, tables_for
from readwarp.call.records.genotypes.quality import find_qualities
from readwarp.call.records.genotypes.score import (
    GenotypeScores,
    KeptAlleles,
    choose_alleles,
    fill_genotypes,
    score_genotypes,
)
from readwarp.call.records.genotypes.sided import name_long_sets, phase_records
from readwarp.call.records.genotypes.spell import spell_alleles
from readwarp.call.records.genotypes.surroundings import Depths, SitePriors, find_typical_depth
from readwarp.call.records.genotypes.together import fill_together, weigh_together
from readwarp.config import CallParameters
from readwarp.formats.variants.calls import Calls
from readwarp.ragged import offsets_of, replace


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
        _look_around(expected.depths, sites, columns, parameters, out)
    spelled = spell_alleles(sites, out, window)
    if sides is not None:
        calls = build_calls(spelled, out, columns, parameters)
        return replace(calls, phase_name=name_long_sets(out.phase_set))
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


def _look_around(depths: Depths, sites: Sites, columns: Any, parameters: CallParameters, out: Emitted) -> None:
    """Set `depth_around` of the records whose filters need it. `columns`: Columns."""
    for row in np.flatnonzero(asks_for_surroundings(out, columns, parameters)).tolist():
        out.depth_around[row] = find_typical_depth(depths, int(sites.begin[out.site[row]]), out.depth[row])


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
