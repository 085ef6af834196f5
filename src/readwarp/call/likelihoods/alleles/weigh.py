"""Turn the haplotypes that explain the reads into sites and likelihoods of their alleles (host only).

Haplotypes of other samples are borrowed, so that each sample's reads are compared with every allele.
"""

from collections import Counter
from collections.abc import Callable
from itertools import compress, groupby, pairwise

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.sites.find import (
    MISSING,
    Site,
    Variant,
    limit_alleles,
    list_alleles,
    list_variants,
    sites_of,
)
from readwarp.call.likelihoods.alleles import INFORMED, MAX_WEIGHT, SURE_WEIGHT
from readwarp.call.likelihoods.alleles.compare import WeighedReads
from readwarp.call.likelihoods.alleles.reach import lies_within, weigh_fragments
from readwarp.call.likelihoods.alleles.select import Copies, Selection, bound_fragments, select_haplotypes
from readwarp.call.likelihoods.batches import Haplotypes, Likelihoods, Phase
from readwarp.call.likelihoods.evidence import FAR, NOTHING, count_ends_once, new_likelihoods, strand_at
from readwarp.call.places.bases import Window
from readwarp.call.reads.clips import clips_of
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import concatenate, first_alike, offsets_of, ranges, replace, take
from readwarp.rules.cigar import find_base, soft_clips

Variants = list[list[Variant]]  # variants of each haplotype
ABSENT = -1000.0  # log10, for an allele that no haplotype has, before reads are bounded


def variants_of(haplotypes: Haplotypes) -> Variants:
    """List the variants of each haplotype."""
    every = list_variants(haplotypes.begin, haplotypes.deleted, haplotypes.inserted, haplotypes.inserted_offsets)
    return [every[first:stop] for first, stop in pairwise(haplotypes.variant_offsets.tolist())]


def number_variants(haplotypes: Haplotypes, variants: Variants) -> ndarray:
    """Number each variant among the distinct ones of its region (int32 [variants]), in order of appearance."""
    found = list[int]()
    for first, stop in pairwise(haplotypes.haplotype_offsets.tolist()):
        numbers = dict[Variant, int]()
        found += [numbers.setdefault(variant, len(numbers)) for own in variants[first:stop] for variant in own]
    return np.array(found, np.int32)


def keep_forced(variants: Variants, stays: ndarray, forced: frozenset[Variant]) -> None:
    """Keep the first haplotype with each forced variant that none of those that stay has."""
    if not forced:
        return
    shown = {variant for own in compress(variants, stays) for variant in own}
    for h, own in enumerate(variants):
        if forced.intersection(own) - shown:
            stays[h] = True
            shown.update(own)


def regional_sites(
    weighed: WeighedReads, variants: Variants, stays: ndarray, forced: frozenset[Variant], window: Window
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


def _rank_alleles(haplotypes: Haplotypes, variants: Variants, stays: ndarray, bounds: tuple[int, int]) -> list[Variant]:
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


def weigh_haplotypes(
    weighed: WeighedReads,
    compare_more: Callable[[Haplotypes], WeighedReads],
    reads: AlignedReads,
    window: Window,
    copies: Copies,
    forced: frozenset[Variant],
) -> tuple[Sites, Likelihoods, Phase, list[Variant]]:
    """Select haplotypes and weigh their alleles; see the step's contract. forced: variants that are always alleles.

    compare_more: compares reads with other haplotypes, like `weighed`. `weighed.values` are bounded in place.
    """
    regions, variants = weighed.regions, variants_of(weighed.haplotypes)
    weight = SURE_WEIGHT if copies.are_fractions else MAX_WEIGHT
    raw = weighed.values.copy() if len(regions.places) <= len(regions) else weighed.values
    selected = Selection(
        informs=bound_fragments(weighed, reads, weight),
        stays=np.zeros(len(weighed.haplotypes), bool),
        best=np.zeros((len(regions), int(copies.ploidy.max(initial=1))), np.int32),
    )
    own = copies.ploidy[np.arange(len(regions)), regions.sample]
    select_haplotypes(weighed, own, number_variants(weighed.haplotypes, variants), copies, selected)
    keep_forced(variants, selected.stays, forced)
    sites, place, span = regional_sites(weighed, variants, selected.stays, forced, window)
    sites, left_out = limit_alleles(sites, window)
    carriers = find_carriers(weighed, variants, selected.stays, alleles_by_place(sites, place, len(regions.places) - 1))
    if any(carriers):
        more = compare_more(take_carriers(weighed.haplotypes, carriers))
        weighed, number = join_tables(replace(weighed, values=raw), more)
        selected = join_selections(selected, number, len(weighed.haplotypes))
        selected = replace(selected, informs=bound_fragments(weighed, reads, weight))
    bounds = regions.start[regions.places[place]], regions.stop[regions.places[place]]
    phase = Phase(place, *bounds, np.zeros((len(sites), copies.ploidy.shape[1], selected.best.shape[1]), np.int8))
    number, rows = find_rows(sites, place, span, weighed, reads)
    out = new_likelihoods(reads, sites, number, regions.read[rows])
    weigh_rows(sites, weighed, selected, reads, rows, np.empty(len(weighed.haplotypes), np.int8), phase, out)
    sites = weigh_fragments(reads, sites, out)
    count_ends_once(reads, out)
    return sites, out, phase, left_out


def find_rows(
    sites: Sites, place: ndarray, span: ndarray, weighed: WeighedReads, reads: AlignedReads
) -> tuple[ndarray, ndarray]:
    """Count the fragments of its place that meet each site's span, and list a row of each, by site and sample."""
    regions = weighed.regions
    leading, trailing = clips_of(reads)  # clips count as if they continued along the diagonal
    first, stop = (reads.position - leading)[regions.read], (reads.reference_stop + trailing)[regions.read]
    offsets = regions.read_offsets[regions.places]
    rows, number = ranges(offsets, place), np.diff(offsets)[place]
    site = np.repeat(np.arange(len(sites)), number)
    reaches = (first[rows] < span[site, 1]) & (stop[rows] > span[site, 0])
    site, rows = site[reaches], rows[reaches]
    is_witness = ~lies_within(sites, site, first[rows], stop[rows])
    site, rows = site[is_witness], rows[is_witness]
    is_first = first_alike(weighed.fragment[rows], site) == np.arange(rows.size)
    return np.bincount(site[is_first], minlength=len(sites)), rows[is_first]


@kernel
def place_of(reads, read, target, haplotypes, h):
    """Return the index of the base at a reference position, or of the one before a deletion across it.

    Soft-clipped ends continue along the diagonal, beyond the bases that haplotype h deletes. Beyond h's ends it is the
    read's first or last base.
    """
    position, first = reads.position[read], reads.read_offsets[read]
    last = reads.read_offsets[read + 1] - 1
    start, stop = reads.cigar_offsets[read], reads.cigar_offsets[read + 1]
    place, operation = find_base(reads.cigar, start, stop, position, first, target)
    if operation >= 0:
        return place if place >= first else last
    leading, trailing = soft_clips(reads.cigar, start, stop)
    if target < position:
        return first + max(0, leading - (position - target) + count_deleted(haplotypes, h, target + 1, position))
    end = reads.reference_stop[read]
    return min(last, last + 1 - trailing + target - end - count_deleted(haplotypes, h, end, target))


@kernel
def count_deleted(haplotypes, h, low, high):
    """Count the reference bases [low, high) that haplotype h lacks."""
    begin, number = haplotypes.begin, np.int64(0)
    for v in range(haplotypes.variant_offsets[h], haplotypes.variant_offsets[h + 1]):
        if haplotypes.inserted_offsets[v] == haplotypes.inserted_offsets[v + 1]:
            number += max(0, min(high, begin[v] + haplotypes.deleted[v]) - max(low, begin[v]))
    return number


@kernel
def alleles_of_haplotypes(g, haplotypes, s, sites, out):
    """Set `out` (int8) to the allele of site s on each haplotype of region g; -1 if it is not listed."""
    begin, deleted = haplotypes.begin, haplotypes.deleted
    inserted, inserted_offsets = haplotypes.inserted, haplotypes.inserted_offsets
    place, is_indel = sites.begin[s], sites.is_indel[s]
    low, high = sites.allele_offsets[s], sites.allele_offsets[s + 1]
    for h in range(haplotypes.haplotype_offsets[g], haplotypes.haplotype_offsets[g + 1]):
        out[h] = 0
        for v in range(haplotypes.variant_offsets[h], haplotypes.variant_offsets[h + 1]):
            source, size = inserted_offsets[v], inserted_offsets[v + 1] - inserted_offsets[v]
            if begin[v] == place and (deleted[v] != size) == is_indel:
                out[h] = -1
                for a in range(low + 1, high):
                    own, length = sites.inserted_offsets[a], sites.inserted_offsets[a + 1] - sites.inserted_offsets[a]
                    if deleted[v] == sites.deleted[a] and is_equal(inserted, source, size, sites.inserted, own, length):
                        out[h] = a - low
            elif size == 0 and begin[v] < place + (not is_indel) and place < begin[v] + deleted[v]:
                out[h] = high - low - 1


@kernel
def is_equal(bases, first, size, other, begin, length):
    """Return whether bases [first, first + size) equal those of `other` [begin, begin + length)."""
    if size != length:
        return False
    same = True
    for i in range(size):
        same &= bases[first + i] == other[begin + i]
    return same


@kernel
def weigh_rows(sites, weighed, selected, reads, rows, shown, phase, out):
    """Fill the values, `allele`, `quality` and `end_distance` of `out`, whose pairs are `rows`, and `phase.allele`.

    shown: int8, scratch for an allele of each haplotype.
    """
    start = 0
    read_offsets, qualities = reads.read_offsets, reads.qualities
    for s in range(phase.region.size):
        begin = sites.begin[s] - sites.is_indel[s]
        while weighed.regions.place[start] < phase.region[s]:
            start += 1
        g = own = start
        while own < weighed.regions.sample.size and weighed.regions.place[own] == phase.region[s]:
            alleles_of_haplotypes(own, weighed.haplotypes, s, sites, shown)
            for copy in range(selected.best.shape[1]):
                phase.allele[s, weighed.regions.sample[own], copy] = shown[selected.best[own, copy]]
            own += 1
        alleles = sites.allele_offsets[s + 1] - sites.allele_offsets[s]
        for pair in range(out.pair_offsets[s], out.pair_offsets[s + 1]):
            r, low = rows[pair], out.value_offsets[s] + (pair - out.pair_offsets[s]) * alleles
            while r >= weighed.regions.read_offsets[g + 1]:
                g += 1
            first = weighed.haplotypes.haplotype_offsets[g]
            number = weighed.haplotypes.haplotype_offsets[g + 1] - first
            table = out.values[low : low + alleles]
            table[:] = ABSENT
            row, lowest = weighed.pair_offsets[g] + (r - weighed.regions.read_offsets[g]) * number, 0.0
            likeliest, most = first, -np.inf
            for h in range(number):
                lowest = min(lowest, weighed.values[row + h])
                allele = shown[first + h]
                if selected.stays[first + h] and allele >= 0:
                    table[allele] = max(table[allele], weighed.values[row + h])
                    if weighed.values[row + h] > most:
                        likeliest, most = first + h, weighed.values[row + h]
            out.allele[pair] = find_best(table, lowest, selected.informs[r])
            read = weighed.regions.read[r]
            place = place_of(reads, read, begin, weighed.haplotypes, likeliest)
            before, after = place - read_offsets[read], read_offsets[read + 1] - 1 - place
            out.quality[pair], out.strand[pair] = qualities[place], strand_at(reads.shared, reads.flag, read, before)
            out.end_distance[pair] = min(FAR, before + reads.hidden[read, 0], after + reads.hidden[read, 1])


@kernel
def find_best(table, lowest, informs):
    """Bound the values of alleles that no haplotype has; return the allele that fits best, or NOTHING."""
    best, second = 0, -np.inf
    for a in range(table.size):
        table[a] = max(table[a], lowest) if informs else 0.0
        if table[a] > table[best]:
            best = a
    for a in range(table.size):
        if a != best:
            second = max(second, table[a])
    if table[best] - second > INFORMED:
        return best
    table[:] = 0.0
    return NOTHING
