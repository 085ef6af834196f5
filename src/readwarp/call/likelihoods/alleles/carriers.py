"""Borrow haplotypes of other samples, so that each sample's reads are compared with every allele (host only)."""

from collections import Counter
from itertools import pairwise

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.sites.find import Variant, list_alleles
from readwarp.call.likelihoods.alleles.compare import WeighedReads
from readwarp.call.likelihoods.alleles.select import Selection
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.ragged import concatenate, offsets_of, ranges, replace, take

Variants = list[list[Variant]]  # variants of each haplotype


def alleles_by_place(sites: Sites, place: ndarray, number: int) -> list[set[Variant]]:
    """Collect the alleles of the sites of each place. `place`: int64 [sites]."""
    out = [set[Variant]() for _ in range(number)]
    every, bounds = list_alleles(sites), pairwise(sites.allele_offsets.tolist())
    for own, (first, stop) in zip(place.tolist(), bounds, strict=True):
        out[own].update(every[first + 1 : stop])
    return out


def find_carriers(
    weighed: WeighedReads, variants: Variants, stays: ndarray, wanted: list[set[Variant]]
) -> list[list[int]]:
    """Find, for each region, other samples' haplotypes with the wanted alleles of its place that none of its own has.

    An allele found only on haplotypes that do not stay lets one of these stay. Other samples' haplotypes are taken if
    they stay: first those that stay for most samples, then those of fewest variants.
    """
    offsets, places = weighed.haplotypes.haplotype_offsets.tolist(), weighed.regions.places.tolist()
    carriers: list[list[int]] = [[] for _ in range(len(weighed.regions))]
    for number, (first, stop) in enumerate(pairwise(places)):
        if stop - first > 1:
            donors = _rank_donors(variants, stays, offsets[first], offsets[stop])
            for region in range(first, stop):
                own = range(offsets[region], offsets[region + 1])
                missing = wanted[number].difference(*(variants[h] for h in own if stays[h]))
                idle = sorted((h for h in own if not stays[h]), key=lambda h: len(variants[h]))
                stays[_cover(missing, idle, variants)] = True
                carriers[region] = _cover(missing, donors, variants)
    return carriers


def _rank_donors(variants: Variants, stays: ndarray, first: int, stop: int) -> list[int]:
    """Rank the distinct haplotypes of a place that stay."""
    number, found = Counter[tuple[Variant, ...]](), dict[tuple[Variant, ...], int]()
    for h in (np.flatnonzero(stays[first:stop]) + first).tolist():
        number[tuple(variants[h])] += 1
        found.setdefault(tuple(variants[h]), h)
    return [h for _, h in sorted(found.items(), key=lambda item: (-number[item[0]], len(item[0]), item[0]))]


def _cover(missing: set[Variant], haplotypes: list[int], variants: Variants) -> list[int]:
    """Choose haplotypes in turn that have an allele still missing, and remove these from `missing`."""
    out = []
    for h in haplotypes:
        if not missing.isdisjoint(variants[h]):
            missing.difference_update(variants[h])
            out.append(h)
        if not missing:
            break
    return out


def take_carriers(haplotypes: Haplotypes, carriers: list[list[int]]) -> Haplotypes:
    """Take the given haplotypes of each region."""
    rows = np.array([h for own in carriers for h in own], np.int64)
    return replace(take(haplotypes, "haplotypes", rows), haplotype_offsets=offsets_of([len(own) for own in carriers]))


def join_tables(own: WeighedReads, more: WeighedReads) -> tuple[WeighedReads, ndarray]:
    """Join the haplotypes of each region side by side; also return the new number of each of `own` (int64)."""
    numbers = [np.diff(part.haplotypes.haplotype_offsets) for part in (own, more)]
    offsets, rows = offsets_of(numbers[0] + numbers[1]), np.diff(own.regions.read_offsets)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    is_own = within < np.repeat(numbers[0], np.diff(offsets))
    number = np.flatnonzero(is_own)
    order = np.argsort(np.concatenate((number, np.flatnonzero(~is_own))))
    haplotypes = take(concatenate([own.haplotypes, more.haplotypes], "haplotypes"), "haplotypes", order)
    each = is_own[ranges(offsets, np.repeat(np.arange(rows.size), rows))]
    values, status = np.empty(each.size), np.empty(each.size, np.uint8)
    for part, chosen in ((own, each), (more, ~each)):
        values[chosen], status[chosen] = part.values, part.status
    joined = replace(
        own,
        haplotypes=replace(haplotypes, haplotype_offsets=offsets, status=own.haplotypes.status),
        pair_offsets=offsets_of(rows * np.diff(offsets)),
        values=values,
        status=status,
    )
    return joined, number


def join_selections(selected: Selection, number: ndarray, haplotypes: int) -> Selection:
    """Extend the selection by carriers, which stay, to that many haplotypes. number: of `join_tables`."""
    stays = np.ones(haplotypes, bool)
    stays[number] = selected.stays
    return replace(selected, stays=stays, best=number[selected.best].astype(np.int32))
