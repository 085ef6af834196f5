"""Drop indels that are likelier slips of the sequencer than alleles (host only)."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup, Sites
from readwarp.call.candidates.sites import MAX_SHOWN, MAX_SLIP, MIN_SHOWN, SIDES
from readwarp.call.candidates.sites.find import Variant, extend_tracts, list_alleles, list_indels, sites_of
from readwarp.call.places.window import Window
from readwarp.call.reads.gap_models import MAX_TRACT, GapModel, opening_table
from readwarp.ragged import offsets_of, replace, take


def drop_slips(
    sites: Sites, window: Window, sided: Sequence[Sequence[Pileup]], ploidy: ndarray, model: GapModel
) -> Sites:
    """Drop slips; see the step's contract. sided: the pileups of `split_sides` of each sample's reads."""
    site = np.repeat(np.arange(len(sites)), np.diff(sites.allele_offsets))
    is_reference = np.zeros(site.size, bool)
    is_reference[sites.allele_offsets[:-1]] = True
    tried = np.flatnonzero(sites.is_indel[site] & ~is_reference & ~sites.is_forced)
    every = list_alleles(sites)
    variants = [every[allele] for allele in tried.tolist()]
    copies = ploidy[sites.position[site[tried]] - window.start]
    slip, stays = slip_rates(variants, window, model), np.ones(site.size, bool)
    stays[tried] = False
    for pileups, own_copies in zip(sided, copies.T, strict=True):
        odds = odds_against_slips(*_count(variants, pileups), 1.0 / np.maximum(1, own_copies), slip)
        stays[tried] |= odds >= 0
    fewer = replace(take(sites, "alleles", stays), allele_offsets=offsets_of(stays)[sites.allele_offsets])
    extend_tracts(fewer, window.trim())
    has_others = np.diff(fewer.allele_offsets) > 1
    return take(fewer, "sites", has_others | ~sites.is_indel)


def slip_rates(variants: Sequence[Variant], window: Window, model: GapModel) -> ndarray:
    """Return the share of reads that show each indel by a sequencer error (float64 [variants]).

    variants: sorted by position.
    """
    alone = sites_of([(at, True, [(0, b""), (gone, bases)]) for at, gone, bases in variants], window.trim())
    tract, unit = alone.stop - alone.begin, alone.unit
    deleted, gap = np.array([(gone, max(gone, len(bases))) for _, gone, bases in variants], np.int64).reshape(-1, 2).T
    k = np.minimum(unit, len(model.slips)) - 1
    is_tract = (unit <= len(model.slips)) & (tract >= model.repeats * unit)
    opening = np.where(is_tract, opening_table(model)[k, np.minimum(tract, MAX_TRACT)], model.opening)
    extension = np.where(is_tract, np.array(model.extensions)[k], model.extension)
    places = np.where(is_tract, tract, tract - deleted + 1)
    rates = places * 10 ** (-0.1 * (opening + extension * (gap - 1)))
    return np.asarray(np.minimum(MAX_SLIP, rates))


def odds_against_slips(number: ndarray, depth: ndarray, one_copy: ndarray, slip: ndarray) -> ndarray:
    """Return log10 of the likelihood ratio of the reads with carriers of the allele and with slips alone.

    number, depth: reads that show it, and all reads (int64 [sides, alleles]). one_copy: share of one copy among all;
    slip: share of reads that slip (float64 [alleles] each).
    """
    best = np.full(slip.size, -np.inf)
    for carriers in ((1.0, 0.0, 0.5), (0.0, 1.0, 0.5), (1.0, 1.0, 1.0), None):
        w = np.broadcast_to(one_copy, depth.shape) if carriers is None else np.array(carriers)[:, None]
        shown = (number * (w > 0)).sum(axis=0) / np.maximum(1, (w * depth).sum(axis=0))
        share = w * np.clip(shown, MIN_SHOWN, MAX_SHOWN) + (1 - w) * slip
        odds = number * np.log10(share / slip) + (depth - number) * np.log10((1 - share) / (1 - slip))
        best = np.maximum(best, odds.sum(axis=0))
    return best


def _count(variants: Sequence[Variant], pileups: Sequence[Pileup]) -> tuple[ndarray, ndarray]:
    """Count the reads that show each variant, and all reads (int64 [sides, variants] each)."""
    number, depth = np.zeros((2, SIDES, len(variants)), np.int64)
    begin = np.array([at for at, _, _ in variants], np.int64)
    for side, pileup in enumerate(pileups):
        shown = dict(zip(list_indels(pileup), pileup.allele_counts.sum(axis=1).tolist(), strict=True))
        number[side] = [shown.get(variant, 0) for variant in variants]
        depth[side] = pileup.counts[begin - 1 - pileup.start].sum(axis=(1, 2))
    return number, np.maximum(number, depth)
