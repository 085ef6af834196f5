"""Make sites of the variants on the haplotypes that stay (host only)."""

from itertools import compress, groupby, pairwise

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.sites.find import MISSING, Site, Variant, list_alleles, list_variants, sites_of
from readwarp.call.likelihoods.alleles.compare import WeighedReads
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.places.window import Window


def forced_variants(sites: Sites) -> frozenset[Variant]:
    """Return the variants that the user asked for, from sites made of the pileup."""
    return frozenset(compress(list_alleles(sites), sites.is_forced))


def variants_of(haplotypes: Haplotypes) -> list[list[Variant]]:
    """List the variants of each haplotype."""
    every = list_variants(haplotypes.begin, haplotypes.deleted, haplotypes.inserted, haplotypes.inserted_offsets)
    return [every[first:stop] for first, stop in pairwise(haplotypes.variant_offsets.tolist())]


def number_variants(haplotypes: Haplotypes, variants: list[list[Variant]]) -> ndarray:
    """Number each variant among the distinct ones of its region (int32 [variants]), in order of appearance."""
    found = list[int]()
    for first, stop in pairwise(haplotypes.haplotype_offsets.tolist()):
        numbers = dict[Variant, int]()
        found += [numbers.setdefault(variant, len(numbers)) for own in variants[first:stop] for variant in own]
    return np.array(found, np.int32)


def keep_forced(variants: list[list[Variant]], stays: ndarray, forced: frozenset[Variant]) -> None:
    """Keep the first haplotype with each forced variant that none of those that stay has."""
    if not forced:
        return
    shown = {variant for own in compress(variants, stays) for variant in own}
    for h, own in enumerate(variants):
        if forced.intersection(own) - shown:
            stays[h] = True
            shown.update(own)


def regional_sites(
    weighed: WeighedReads, variants: list[list[Variant]], stays: ndarray, forced: frozenset[Variant], window: Window
) -> tuple[Sites, ndarray, ndarray]:
    """Return the sorted sites, the place of each (int64 [sites]), and the span [start, stop) that its reads meet.

    The span is the site and the deletions across it, since reads across these show that a copy lacks it. Alleles of a
    place that stay for most samples come first, then those on better haplotypes.
    """
    regions, rows = weighed.regions, list[Site]()
    spans = list[tuple[int, int]]()
    starts = regions.places[:-1]
    for g, (first, stop) in zip(starts, pairwise(weighed.haplotypes.haplotype_offsets[regions.places]), strict=True):
        own = _rank_alleles(weighed.haplotypes, variants, stays, (first, stop))
        inside = [v for v in own if regions.start[g] <= v[0] < regions.stop[g]]
        inside.sort(key=lambda v: (_place_of(v), v not in forced))  # stable
        for (position, is_indel), group in groupby(inside, key=_place_of):
            alleles, begin = [variant[1:] for variant in group], position + is_indel
            ends = [(at, at + gone) for at, gone, bases in own if not bases and at <= position and begin < at + gone]
            missing = [MISSING] if ends else []
            spans.append((min((at - 1 for at, _ in ends), default=begin), max((at for _, at in ends), default=begin)))
            unchanged = (0, b"") if is_indel else (1, bytes([window.bases[begin - window.first]]))
            rows.append((begin, is_indel, [unchanged, *alleles, *missing]))
    sites = sites_of(rows, window, forced)
    low, high = np.array(spans, np.int64).reshape(-1, 2).T
    span = np.stack((np.minimum(sites.position, low), np.maximum(sites.stop, high)), axis=1)
    return sites, np.searchsorted(regions.start[starts], sites.begin, side="right") - 1, span


def _rank_alleles(
    haplotypes: Haplotypes, variants: list[list[Variant]], stays: ndarray, bounds: tuple[int, int]
) -> list[Variant]:
    """Rank the distinct variants of haplotypes [first, stop) that stay, by number of regions, then in their order."""
    first, stop = bounds
    region = np.searchsorted(haplotypes.haplotype_offsets, np.arange(first, stop), side="right")
    found = dict[Variant, set[int]]()
    for h in np.flatnonzero(stays[first:stop]).tolist():
        for variant in variants[first + h]:
            found.setdefault(variant, set()).add(int(region[h]))
    return sorted(found, key=lambda variant: -len(found[variant]))


def _place_of(variant: Variant) -> tuple[int, bool]:
    """Return the variant's position and whether it is an indel: variants that share both are alleles of one site."""
    is_indel = variant[1] != len(variant[2])
    return variant[0] - is_indel, is_indel
