"""Candidate sites from a pileup (host only)."""

import numpy as np

from readwarp.batches import Pileup, Sites
from readwarp.call.pileup.scalar import DELETED
from readwarp.call.sites import MAX_ALLELES, MAX_TRACT
from readwarp.config import CallParameters
from readwarp.device.jit import kernel

OTHER_BASE = 0b1111  # bits of `find_bases` for A, C, G and T
Allele = tuple[int, bytes, int]  # deleted bases, inserted bases, allele of the pileup or -1
Site = tuple[int, bool, list[Allele]]  # begin, is_indel, alleles


def find_sites(pileup: Pileup, reference: np.ndarray, parameters: CallParameters) -> Sites:
    """See the step's contract."""
    sites = _substitutions(pileup, reference, parameters) + _indels(pileup, reference, parameters)
    sites.sort(key=lambda site: (site[0] - site[1], site[1]))
    alleles = [allele for _, _, own in sites for allele in own]
    begin = np.array([site[0] for site in sites], np.int64)
    out = Sites(
        contig=pileup.contig,
        begin=begin,
        stop=begin + 1,
        is_indel=np.array([site[1] for site in sites], bool),
        unit=np.ones(begin.size, np.int32),
        allele_offsets=_offsets([len(own) for _, _, own in sites]),
        deleted=np.array([deleted for deleted, _, _ in alleles], np.int32),
        inserted=np.frombuffer(b"".join(bases for _, bases, _ in alleles), np.uint8),
        inserted_offsets=_offsets([len(bases) for _, bases, _ in alleles]),
        source=np.array([source for _, _, source in alleles], np.int32),
        is_forced=np.zeros(len(alleles), bool),
    )
    extend_tracts(
        *(reference, pileup.start, out.begin, out.stop, out.unit, out.is_indel, out.allele_offsets),
        *(out.deleted, out.inserted, out.inserted_offsets),
    )
    return out


def _substitutions(pileup: Pileup, reference: np.ndarray, parameters: CallParameters) -> list[Site]:
    shown = np.zeros(reference.size, np.uint8)
    find_bases(pileup.counts, reference, parameters.min_alternate_count, parameters.min_alternate_fraction, shown)
    sites: list[Site] = []
    for w in np.flatnonzero(shown & OTHER_BASE).tolist():
        number = pileup.counts[w].sum(axis=1).tolist()
        others = sorted((base for base in range(DELETED + 1) if shown[w] >> base & 1), key=lambda base: -number[base])
        alleles = [(1, bytes([base]), -1) for base in (int(reference[w]), *others)]
        sites.append((pileup.start + w, False, alleles))
    return sites


@kernel
def find_bases(counts, reference, least, fraction, shown):
    """Set bit b of `shown` (uint8 [w]) where base b, not the reference's, has reads enough; DELETED is bit 4."""
    for w in range(reference.size):
        if reference[w] > 3:
            continue
        depth = 0
        for base in range(5):
            depth += counts[w, base, 0] + counts[w, base, 1]
        for base in range(5):
            number = counts[w, base, 0] + counts[w, base, 1]
            if base != reference[w] and number >= least and number >= fraction * depth:
                shown[w] |= np.uint8(1 << base)


def _indels(pileup: Pileup, reference: np.ndarray, parameters: CallParameters) -> list[Site]:
    number = pileup.allele_counts.sum(axis=1)
    depth = pileup.counts[pileup.allele_position - pileup.start].sum(axis=(1, 2))
    least = np.maximum(parameters.min_alternate_count, parameters.min_indel_fraction * depth)
    groups: dict[int, list[tuple[int, int, Allele]]] = {}
    for a in np.flatnonzero(number >= least).tolist():
        anchor, length = int(pileup.allele_position[a]), int(pileup.allele_length[a])
        bases = pileup.allele_bases[pileup.allele_offsets[a] : pileup.allele_offsets[a + 1]].tobytes()
        deleted = 0 if bases else length
        w = anchor - pileup.start
        if w + 1 + deleted < reference.size and (reference[w : w + 1 + deleted] < 4).all():
            groups.setdefault(anchor, []).append((-int(number[a]), a, (deleted, bases, a)))
    return [
        (anchor + 1, True, [(0, b"", -1), *(allele for _, _, allele in sorted(found)[: MAX_ALLELES - 1])])
        for anchor, found in groups.items()
    ]


def _offsets(sizes: list[int]) -> np.ndarray:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


@kernel
def extend_tracts(reference, start, begin, stop, unit, is_indel, allele_offsets, deleted, inserted, inserted_offsets):
    """Move each indel site's `stop` behind the rightmost place where an allele could be written; find its `unit`."""
    for site in range(begin.size):
        if not is_indel[site]:
            continue
        first = begin[site] - start
        furthest = first
        for a in range(allele_offsets[site] + 1, allele_offsets[site + 1]):
            length, source = inserted_offsets[a + 1] - inserted_offsets[a], inserted_offsets[a]
            shift, gap = 0, np.int64(deleted[a]) if length == 0 else length
            while shift < MAX_TRACT:
                right = first + shift + (gap if length == 0 else 0)
                if right >= reference.size or reference[right] > 3:
                    break
                left = inserted[source + shift] if shift < length else reference[right - gap]
                if left != reference[right]:
                    break
                shift += 1
            furthest = max(furthest, first + shift + deleted[a])
            if a == allele_offsets[site] + 1 and length:
                unit[site] = period(inserted, source, length)
            elif a == allele_offsets[site] + 1:
                unit[site] = period(reference, first, gap)
        stop[site] = furthest + start


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
