"""Variants on the haplotypes that stay, as sites (host only)."""

from itertools import groupby

import numpy as np
from numpy import ndarray

from readwarp.batches import Haplotypes, Regions, Sites
from readwarp.call.sites import MAX_ALLELES
from readwarp.call.sites.cpu import extend_tracts

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


def keep_forced(haplotypes: Haplotypes, kept: ndarray, forced: frozenset[Variant]) -> None:
    """Keep the first haplotype of each forced variant that no haplotype kept so far has."""
    if not forced:
        return
    shown = {variant for h in np.flatnonzero(kept).tolist() for variant in variants_on(haplotypes, h)}
    for h in range(len(haplotypes)):
        missing = forced.intersection(variants_on(haplotypes, h)) - shown
        if missing:
            kept[h] = True
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


def sites_of(
    regions: Regions,
    haplotypes: Haplotypes,
    kept: ndarray,
    forced: frozenset[Variant],
    reference: ndarray,
    start: int,
) -> tuple[Sites, ndarray]:
    """The sites in order of region and position, and the region of each (int64 [s])."""
    places: list[tuple[int, int, bool]] = []  # region, begin, is_indel
    alleles: list[list[Variant]] = []
    for g in range(len(regions)):
        own = _variants_of(haplotypes, kept, g)
        inside = [v for v in own if regions.start[g] <= v[0] - is_indel(v) < regions.stop[g]]
        inside.sort(key=lambda v: (v[0] - is_indel(v), is_indel(v)))  # stable: alleles stay in the haplotypes' order
        for (_, _), group in groupby(inside, key=lambda v: (v[0], is_indel(v))):
            found = sorted(group, key=lambda v: v not in forced)
            places.append((g, found[0][0], is_indel(found[0])))
            most = MAX_ALLELES - 1 - _is_deleted(found[0], own)
            alleles.append([_unchanged(found[0], reference, start), *found[:most]])
            if most < MAX_ALLELES - 1:
                alleles[-1].append((found[0][0], *MISSING))
    return _made(places, alleles, forced, regions.contig, reference, start)


def is_indel(variant: Variant) -> bool:
    return variant[1] != len(variant[2])


def _variants_of(haplotypes: Haplotypes, kept: ndarray, region: int) -> list[Variant]:
    """Distinct variants on the haplotypes kept, in their order."""
    found: dict[Variant, None] = {}
    for h in range(haplotypes.haplotype_offsets[region], haplotypes.haplotype_offsets[region + 1]):
        if kept[h]:
            found |= dict.fromkeys(variants_on(haplotypes, h))
    return list(found)


def _is_deleted(variant: Variant, others: list[Variant]) -> bool:
    """Whether a deletion among the others, that begins before the variant, takes its place."""
    first = variant[0] - is_indel(variant)
    return any(begin <= first and variant[0] < begin + deleted for begin, deleted, bases in others if not bases)


def _unchanged(variant: Variant, reference: ndarray, start: int) -> Variant:
    """The reference's allele at the variant's place."""
    begin = variant[0]
    return (begin, 0, b"") if is_indel(variant) else (begin, 1, reference[begin - start : begin - start + 1].tobytes())


def _made(
    places: list[tuple[int, int, bool]],
    alleles: list[list[Variant]],
    forced: frozenset[Variant],
    contig: int,
    reference: ndarray,
    start: int,
) -> tuple[Sites, ndarray]:
    flat = [allele for own in alleles for allele in own]
    begin = np.array([place[1] for place in places], np.int64)
    sites = Sites(
        contig=contig,
        begin=begin,
        stop=begin + 1,
        is_indel=np.array([place[2] for place in places], bool),
        unit=np.ones(begin.size, np.int32),
        allele_offsets=_offsets([len(own) for own in alleles]),
        deleted=np.array([deleted for _, deleted, _ in flat], np.int32),
        inserted=np.frombuffer(b"".join(bases for _, _, bases in flat), np.uint8),
        inserted_offsets=_offsets([len(bases) for _, _, bases in flat]),
        source=np.full(len(flat), -1, np.int32),
        is_forced=np.array([allele in forced for allele in flat], bool),
    )
    extend_tracts(
        *(reference, start, sites.begin, sites.stop, sites.unit, sites.is_indel, sites.allele_offsets),
        *(sites.deleted, sites.inserted, sites.inserted_offsets),
    )
    return sites, np.array([place[0] for place in places], np.int64)


def _offsets(sizes: list[int]) -> ndarray:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
