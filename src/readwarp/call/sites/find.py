"""Candidate sites from a pileup (host only)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from readwarp.batches import Pileup, Sites, Window
from readwarp.call.forced import Forced
from readwarp.call.pileup.scalar import DELETED
from readwarp.call.sites import MAX_ALLELES, MAX_TRACT
from readwarp.config import CallParameters
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of

OTHER_BASE = 0b1111  # bits of `find_bases` for A, C, G and T
Allele = tuple[int, bytes]  # deleted bases, inserted bases
Site = tuple[int, bool, list[Allele]]  # begin, is_indel, alleles
Variants = Sequence[tuple[int, int, bytes]]  # begin, deleted, inserted; as `Forced.within` gives them


class Limits(NamedTuple):
    """What a base other than the reference's must reach to be an allele."""

    min_count: int
    min_fraction: float
    min_quality: int  # sum over its reads


def find_sites(
    pileup: Pileup,
    window: Window,
    parameters: CallParameters,
    forced: Forced | None = None,
    of_samples: Iterable[Pileup] = (),
) -> Sites:
    """`forced` alleles are among those of the sites, whatever the reads show. See the step's contract."""
    window = window.trim()
    asked = forced.within(pileup.contig, pileup.start, pileup.stop) if forced else []
    limits = Limits(parameters.min_alternate_count, parameters.min_alternate_fraction, parameters.min_alternate_quality)
    shown, seen = np.zeros(window.bases.size, np.uint8), set()
    for own in of_samples or (pileup,):
        find_bases(own, window.bases, limits, shown)
        seen.update(_find_indels(own, pileup, parameters))
    sites = _sites_of_bases(pileup, window.bases, shown, asked)
    sites += _sites_of_indels(pileup, window.bases, sorted(seen - {-1}), asked)
    return sites_of(sites, window, asked)


def sites_of(sites: list[Site], window: Window, asked: Variants = ()) -> Sites:
    """Sites in order; `asked`: the alleles that are marked as forced."""
    sites.sort(key=lambda site: (site[0] - site[1], site[1]))
    alleles = [allele for _, _, own in sites for allele in own]
    begin = np.array([site[0] for site in sites], np.int64)
    marked = set(asked)
    out = Sites(
        contig=window.contig,
        begin=begin,
        stop=begin + 1,
        is_indel=np.array([site[1] for site in sites], bool),
        unit=np.ones(begin.size, np.int32),
        allele_offsets=offsets_of([len(own) for _, _, own in sites]),
        deleted=np.array([deleted for deleted, _ in alleles], np.int32),
        inserted=np.frombuffer(b"".join(bases for _, bases in alleles), np.uint8),
        inserted_offsets=offsets_of([len(bases) for _, bases in alleles]),
        is_forced=np.array([(at, *allele) in marked for at, _, own in sites for allele in own], bool),
    )
    extend_tracts(out, window)
    return out


def _sites_of_bases(pileup: Pileup, reference: np.ndarray, shown: np.ndarray, asked: Variants) -> list[Site]:
    """`shown` is filled by `find_bases`; the bases asked for are added to it."""
    for begin, deleted, bases in asked:
        if deleted == len(bases) == 1:
            shown[begin - pileup.start] |= 1 << bases[0]
    sites: list[Site] = []
    for w in np.flatnonzero(shown & OTHER_BASE).tolist():
        number = pileup.counts[w].sum(axis=1).tolist()
        others = sorted((base for base in range(DELETED + 1) if shown[w] >> base & 1), key=lambda base: -number[base])
        alleles = [(1, bytes([base])) for base in (int(reference[w]), *others)]
        sites.append((pileup.start + w, False, alleles))
    return sites


@kernel
def find_bases(pileup, reference, limits, shown):
    """Set bit b of `shown` (uint8 [positions]) where enough reads show row b of the counts, not the reference's."""
    counts, quality_sums = pileup.counts, pileup.quality_sums
    for w in range(reference.size):
        if reference[w] > 3:
            continue
        depth = 0
        for base in range(5):
            depth += counts[w, base, 0] + counts[w, base, 1]
        min_number = max(limits.min_count, limits.min_fraction * depth)
        for base in range(5):
            number = counts[w, base, 0] + counts[w, base, 1]
            quality = quality_sums[w, base, 0] + quality_sums[w, base, 1]
            if base != reference[w] and number >= min_number and quality >= limits.min_quality:
                shown[w] |= np.uint8(1 << base)


def _find_indels(own: Pileup, pileup: Pileup, parameters: CallParameters) -> list[int]:
    """Alleles of `pileup` that have reads enough in `own`; -1 for one beyond its depth."""
    depth = own.counts[own.allele_position - own.start].sum(axis=(1, 2))
    min_number = np.maximum(parameters.min_alternate_count, parameters.min_indel_fraction * depth)
    found: list[int] = np.flatnonzero(own.allele_counts.sum(axis=1) >= min_number).tolist()
    if own is pileup:
        return found
    alleles = []
    for a in found:
        bases = own.allele_bases[own.allele_offsets[a] : own.allele_offsets[a + 1]].tobytes()
        deleted = 0 if bases else int(own.allele_length[a])
        alleles.append(_shown_by(pileup, int(own.allele_position[a]), deleted, bases))
    return alleles


def _sites_of_indels(pileup: Pileup, reference: np.ndarray, seen: list[int], asked: Variants) -> list[Site]:
    """`seen`: alleles of the pileup. Alleles beyond the limit give way, the last first, but none that is asked for."""
    groups: dict[int, list[tuple[int, int, Allele]]] = {}
    for a in seen:
        anchor, length = int(pileup.allele_position[a]), int(pileup.allele_length[a])
        bases = pileup.allele_bases[pileup.allele_offsets[a] : pileup.allele_offsets[a + 1]].tobytes()
        deleted = 0 if bases else length
        w = anchor - pileup.start
        if w + 1 + deleted < reference.size and (reference[w : w + 1 + deleted] < 4).all():
            groups.setdefault(anchor, []).append((-int(pileup.allele_counts[a].sum()), a, (deleted, bases)))
    wanted: dict[int, list[Allele]] = {}
    for begin, deleted, bases in asked:
        if deleted != len(bases):
            wanted.setdefault(begin - 1, []).append((deleted, bases))
    sites: list[Site] = []
    for anchor in groups.keys() | wanted.keys():
        first, found = wanted.get(anchor, []), [allele for _, _, allele in sorted(groups.get(anchor, []))]
        others = [allele for allele in found if allele not in first][: MAX_ALLELES - 1 - len(first)]
        alleles = [allele for allele in found if allele in first or allele in others]
        alleles += [allele for allele in first if allele not in found]
        sites.append((anchor + 1, True, [(0, b""), *alleles]))
    return sites


def _shown_by(pileup: Pileup, anchor: int, deleted: int, inserted: bytes) -> int:
    """The allele of the pileup that is this one, -1 for none."""
    first, last = np.searchsorted(pileup.allele_position, (anchor, anchor + 1)).tolist()
    for a in range(first, last):
        bases = pileup.allele_bases[pileup.allele_offsets[a] : pileup.allele_offsets[a + 1]].tobytes()
        if bases == inserted and (bases or pileup.allele_length[a] == deleted):
            return a
    return -1


@kernel
def extend_tracts(sites, window):
    """Move each indel site's `stop` beyond the rightmost place where an allele could be written; find its `unit`."""
    reference, deleted, inserted = window.bases, sites.deleted, sites.inserted
    inserted_offsets = sites.inserted_offsets
    for site in range(sites.begin.size):
        if not sites.is_indel[site]:
            continue
        begin = sites.begin[site] - window.first
        stop, first = begin, sites.allele_offsets[site] + 1
        for a in range(first, sites.allele_offsets[site + 1]):
            source, length = inserted_offsets[a], inserted_offsets[a + 1] - inserted_offsets[a]
            shift, gap = 0, np.int64(deleted[a]) if length == 0 else length
            is_replacement = deleted[a] > 0 and length > 0
            while shift < MAX_TRACT and not is_replacement:
                right = begin + shift + (gap if length == 0 else 0)
                if right >= reference.size or reference[right] > 3:
                    break
                left = inserted[source + shift] if shift < length else reference[right - gap]
                if left != reference[right]:
                    break
                shift += 1
            stop = max(stop, begin + shift + deleted[a])
            if a == first and is_replacement:
                sites.unit[site] = max(length, np.int64(deleted[a]))
            elif a == first:
                sites.unit[site] = period(inserted, source, length) if length else period(reference, begin, gap)
        sites.stop[site] = stop + window.first


@kernel
def period(bases, start, size):
    """Length of the shortest unit that bases [start, start + size) repeat."""
    for unit in range(1, size):
        repeats = size % unit == 0
        for k in range(start + unit, start + size):
            repeats &= bases[k] == bases[k - unit]
        if repeats:
            return unit
    return size
