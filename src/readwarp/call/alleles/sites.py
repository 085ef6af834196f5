"""Variants on the haplotypes that stay, as sites (host only)."""

from itertools import groupby

import numpy as np
from numpy import ndarray

from readwarp.batches import Haplotypes, Regions, Sites, Window
from readwarp.call.sites import MAX_ALLELES
from readwarp.call.sites.find import Site, sites_of

Variant = tuple[int, int, bytes]  # begin, deleted, inserted
MISSING = (1, b"\x04")  # deleted, inserted: the base is missing on a haplotype with a deletion across it


def forced_variants(sites: Sites) -> frozenset[Variant]:
    """The variants that the user asked for, of sites made from the pileup."""
    site = np.repeat(np.arange(len(sites)), np.diff(sites.allele_offsets))
    offsets = sites.inserted_offsets
    return frozenset(
        (int(sites.begin[site[a]]), int(sites.deleted[a]), sites.inserted[offsets[a] : offsets[a + 1]].tobytes())
        for a in np.flatnonzero(sites.is_forced).tolist()
    )


def keep_forced(haplotypes: Haplotypes, stays: ndarray, forced: frozenset[Variant]) -> None:
    """Let the first haplotype stay of each forced variant that no haplotype has which stays so far."""
    if not forced:
        return
    shown = {variant for h in np.flatnonzero(stays).tolist() for variant in variants_on(haplotypes, h)}
    for h in range(len(haplotypes)):
        missing = forced.intersection(variants_on(haplotypes, h)) - shown
        if missing:
            stays[h] = True
            shown.update(variants_on(haplotypes, h))


def variants_on(haplotypes: Haplotypes, haplotype: int) -> list[Variant]:
    span = range(haplotypes.variant_offsets[haplotype], haplotypes.variant_offsets[haplotype + 1])
    offsets = haplotypes.inserted_offsets
    return [
        (
            int(haplotypes.begin[v]),
            int(haplotypes.deleted[v]),
            haplotypes.inserted[offsets[v] : offsets[v + 1]].tobytes(),
        )
        for v in span
    ]


def regional_sites(
    regions: Regions, haplotypes: Haplotypes, stays: ndarray, forced: frozenset[Variant], window: Window
) -> tuple[Sites, ndarray]:
    """The sites in order of position, and the region of each (int64 [sites])."""
    rows: list[Site] = []
    for g in range(len(regions)):
        own = _variants_of(haplotypes, stays, g)
        inside = [v for v in own if regions.start[g] <= v[0] < regions.stop[g]]
        inside.sort(key=lambda v: (v[0], is_indel(v), v not in forced))  # stable: haplotypes' order within a place
        for (begin, indel), group in groupby(inside, key=lambda v: (v[0], is_indel(v))):
            alleles = [variant[1:] for variant in group]
            missing = [MISSING] if _is_deleted(begin, indel, own) else []
            unchanged = (0, b"") if indel else (1, bytes([window.bases[begin - window.first]]))
            asked = sum((begin, *allele) in forced for allele in alleles)
            room = max(MAX_ALLELES - 1 - len(missing), asked)
            rows.append((begin, indel, [unchanged, *alleles[:room], *missing]))
    sites = sites_of(rows, window, list(forced))
    return sites, np.searchsorted(regions.start, sites.begin, side="right") - 1


def is_indel(variant: Variant) -> bool:
    return variant[1] != len(variant[2])


def _variants_of(haplotypes: Haplotypes, stays: ndarray, region: int) -> list[Variant]:
    """Distinct variants on the haplotypes that stay, in their order."""
    found: dict[Variant, None] = {}
    for h in range(haplotypes.haplotype_offsets[region], haplotypes.haplotype_offsets[region + 1]):
        if stays[h]:
            found |= dict.fromkeys(variants_on(haplotypes, h))
    return list(found)


def _is_deleted(place: int, is_indel: bool, variants: list[Variant]) -> bool:
    """Whether a deletion of another place takes this one."""
    first = place - is_indel
    return any(begin <= first and place < begin + deleted for begin, deleted, bases in variants if not bases)
