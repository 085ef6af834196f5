"""Find candidate sites in a pileup, less indels that are likelier slips of the sequencer (host only)."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress, pairwise, repeat

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup, Sites
from readwarp.call.candidates.pileup import DELETED
from readwarp.call.candidates.sites import (
    INDEL_ERROR,
    MAX_ALLELES,
    MAX_SHOWN,
    MAX_SLIP,
    MAX_TRACT,
    MIN_SHOWN,
    SHARED,
    SIDES,
)
from readwarp.call.candidates.sites.forced import Forced
from readwarp.call.places.bases import Window
from readwarp.call.reads.gap_models import GapModel, opening_table
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_PLOIDY, CallParameters
from readwarp.ragged import offsets_of, replace, take
from readwarp.rules.bases import OUTSIDE
from readwarp.rules.shares import scale_shares

LEAST = 1e-9  # least share of an allele's reads, whatever the parameters say
LOG10_3 = math.log10(3.0)
OTHER_BASE = 0b1111  # bits of `find_bases` for A, C, G and T
Allele = tuple[int, bytes]  # deleted bases, inserted bases
Variant = tuple[int, int, bytes]  # begin, deleted bases, inserted bases
Site = tuple[int, bool, list[Allele]]  # begin, is_indel, alleles
MISSING: Allele = (1, b"\x04")  # the base is missing: a deletion on the haplotype spans it


def find_sites(
    pileup: Pileup,
    window: Window,
    parameters: CallParameters,
    forced: Forced | None = None,
    of_samples: Iterable[Pileup] = (),
    ploidy: ndarray | None = None,
) -> Sites:
    """Find candidate sites; see the step's contract. `ploidy` defaults to that of the parameters everywhere."""
    window = window.trim()
    asked = forced.within(pileup.contig, pileup.start, pileup.stop) if forced else []
    shown, indels = np.zeros(window.bases.size, np.uint8), set[Variant]()
    samples = 0
    usual = np.full(window.bases.size, parameters.ploidy, np.int8)
    copies = repeat(usual) if ploidy is None else np.ascontiguousarray(ploidy.T)
    count = parameters.min_alternate_count
    bases, events = np.zeros((window.bases.size, 4, 2)), Counter[Variant]()  # reads of samples that have enough
    scale = scale_shares(np.arange(MAX_PLOIDY + 1))
    shares = max(parameters.min_alternate_fraction, LEAST) * scale
    min_ratio = np.where(scale < 1.0, SHARED, -np.inf)  # at high ploidy errors reach the share of one copy
    for own, own_copies in zip(of_samples or (pileup,), copies, strict=ploidy is not None):
        samples += 1
        find_bases(own, window.bases, own_copies, count, shares, parameters.min_alternate_quality, min_ratio, shown)
        common = _count_indels(own, parameters, own_copies)
        indels.update(variant for variant, number in common.items() if number >= count)
        if own is not pileup:  # one of several samples
            add_bases(own, own_copies, shares, bases)
            events.update(common)
    if samples > 1:
        find_shared_bases(pileup, window.bases, bases, count, shown)
        indels.update(_find_shared_indels(pileup, events, count))
    sites = _sites_of_bases(pileup, window.bases, shown, asked)
    sites += _sites_of_indels(pileup, window.bases, indels, asked)
    return sites_of(sites, window, asked)


def list_variants(begin: ndarray, deleted: ndarray, inserted: ndarray, inserted_offsets: ndarray) -> list[Variant]:
    """Return the rows of these columns."""
    bases, bounds = inserted.tobytes(), pairwise(inserted_offsets.tolist())
    rows = zip(begin.tolist(), deleted.tolist(), bounds, strict=True)
    return [(at, gone, bases[first:stop]) for at, gone, (first, stop) in rows]


def list_alleles(sites: Sites) -> list[Variant]:
    """List the alleles of all sites, reference alleles included."""
    begin = np.repeat(sites.begin, np.diff(sites.allele_offsets))
    return list_variants(begin, sites.deleted, sites.inserted, sites.inserted_offsets)


def sites_of(sites: list[Site], window: Window, asked: Iterable[Variant] = ()) -> Sites:
    """Return the sites sorted by position; alleles in `asked` are marked as forced."""
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
        reach=np.ones(len(alleles)),
    )
    extend_tracts(out, window)
    return out


def _sites_of_bases(pileup: Pileup, reference: ndarray, shown: ndarray, asked: Sequence[Variant]) -> list[Site]:
    """Make the sites of bases. `shown`: filled by `find_bases`; bases asked for are added."""
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


@scalar
def log_ratio(number, depth, error):
    """Return log10 of the likelihood ratio of the reads as carriers of the allele, by its share, and as errors.

    number: reads that show the allele, of `depth`. error: sum of log10 of their error probabilities.
    """
    share = number / depth
    rest = (depth - number) * math.log10(1.0 - share) if number < depth else 0.0
    return number * math.log10(share) + rest - error


@kernel
def find_bases(pileup, reference, copies, min_count, min_fraction, min_quality, min_ratio, shown):
    """Set bit b of `shown` (uint8 [positions]) where enough reads show base b and the reference does not.

    copies: int8 [positions]. min_fraction, min_ratio: float64, by number of copies; the least share and the least
    `log_ratio` (-inf: none).
    """
    for w in range(reference.size):
        if reference[w] > 3:
            continue
        depth = pileup.counts[w].sum()
        min_number = max(min_count, min_fraction[copies[w]] * depth)
        for base in range(5):
            number = pileup.counts[w, base, 0] + pileup.counts[w, base, 1]
            quality = pileup.quality_sums[w, base, 0] + pileup.quality_sums[w, base, 1]
            if base == reference[w] or number < min_number or quality < min_quality:
                continue
            if min_ratio[copies[w]] <= log_ratio(number, depth, -0.1 * quality - number * LOG10_3):
                shown[w] |= np.uint8(1 << base)


@kernel
def add_bases(pileup, copies, min_fraction, sums):
    """Add the reads and quality sums of the bases that have the least share in one sample's pileup.

    copies, min_fraction: see `find_bases`. sums: float64 [positions, base, number and quality].
    """
    for w in range(copies.size):
        depth = pileup.counts[w].sum()
        for base in range(4):
            number = pileup.counts[w, base, 0] + pileup.counts[w, base, 1]
            if number and number >= min_fraction[copies[w]] * depth:
                sums[w, base, 0] += number
                sums[w, base, 1] += pileup.quality_sums[w, base, 0] + pileup.quality_sums[w, base, 1]


@kernel
def find_shared_bases(pileup, reference, sums, min_count, shown):
    """Set the bits of `shown`, see `find_bases`, where samples together show base b. sums: of `add_bases`."""
    for w in range(reference.size):
        depth = pileup.counts[w].sum()
        for base in range(4):
            number = sums[w, base, 0]
            if reference[w] > 3 or base == reference[w] or number < min_count:
                continue
            if log_ratio(number, depth, -0.1 * sums[w, base, 1] - number * LOG10_3) >= SHARED:
                shown[w] |= np.uint8(1 << base)


def _count_indels(own: Pileup, parameters: CallParameters, copies: ndarray) -> dict[Variant, int]:
    """Count the reads of the indels that have the least share in one sample's pileup. copies: int8 [positions]."""
    place, number = own.allele_position - own.start, own.allele_counts.sum(axis=1)
    min_share = max(parameters.min_indel_fraction, LEAST) * scale_shares(copies[place])
    has_share = number >= min_share * own.counts[place].sum(axis=(1, 2))
    listed = list_indels(take(own, "alleles", has_share))
    return dict(zip(listed, number[has_share].tolist(), strict=True))


def _find_shared_indels(pileup: Pileup, events: dict[Variant, int], min_count: int) -> list[Variant]:
    """Find indels that samples show together. events: the sum of `_count_indels`."""
    depth = pileup.counts[pileup.allele_position - pileup.start].sum(axis=(1, 2)).tolist()
    rows = ((variant, events.get(variant, 0), own) for variant, own in zip(list_indels(pileup), depth, strict=True))
    return [
        variant
        for variant, number, own in rows
        if number >= max(1, min_count) and log_ratio(number, max(own, number), -0.1 * INDEL_ERROR * number) >= SHARED
    ]


def list_indels(pileup: Pileup) -> list[Variant]:
    """List the indels of a pileup."""
    is_deletion = np.diff(pileup.allele_offsets) == 0
    deleted = np.where(is_deletion, pileup.allele_length, 0)
    return list_variants(pileup.allele_position + 1, deleted, pileup.allele_bases, pileup.allele_offsets)


def _sites_of_indels(pileup: Pileup, reference: ndarray, indels: set[Variant], asked: Sequence[Variant]) -> list[Site]:
    """Make sites of the `indels` that the pileup has and of those asked for."""
    number = dict(zip(list_indels(pileup), pileup.allele_counts.sum(axis=1).tolist(), strict=True))
    found, forced = defaultdict[int, list[Allele]](list), defaultdict[int, list[Allele]](list)
    shown = [variant for variant in number if variant in indels]
    for begin, deleted, bases in sorted(shown, key=lambda variant: -number[variant]):
        w = begin - pileup.start
        is_inner = w + deleted < reference.size and reference[w + deleted] != OUTSIDE  # a base of the contig follows
        if is_inner and (reference[w - 1 : w + min(deleted, 1)] < 4).all():
            found[begin].append((deleted, bases))
    for begin, deleted, bases in asked:
        if deleted != len(bases):
            forced[begin].append((deleted, bases))
    sites: list[Site] = []
    for begin in found.keys() | forced.keys():
        sites.append((begin, True, [(0, b""), *dict.fromkeys(found[begin] + forced[begin])]))
    return sites


def limit_alleles(sites: Sites, window: Window) -> tuple[Sites, list[Variant]]:
    """Keep at most MAX_ALLELES at each site, and all that are missing bases or asked for; also return those dropped."""
    crowded = np.flatnonzero(np.diff(sites.allele_offsets) > MAX_ALLELES).tolist()
    if not crowded:
        return sites, []
    stays, every = np.ones(sites.deleted.size, bool), list_alleles(sites)
    for site in crowded:
        first, stop = sites.allele_offsets[site : site + 2].tolist()
        is_sure = [sites.is_forced[a] or every[a][1:] == MISSING for a in range(first + 1, stop)]
        others = np.flatnonzero(~np.array(is_sure)) + first + 1
        stays[others[max(0, MAX_ALLELES - 1 - sum(is_sure)) :]] = False
    fewer = replace(take(sites, "alleles", stays), allele_offsets=offsets_of(stays)[sites.allele_offsets])
    extend_tracts(fewer, window)
    return fewer, list(compress(every, ~stays))


@kernel
def extend_tracts(sites, window):
    """Set the `stop` of each indel site, past the rightmost place where an allele could be written, and its `unit`."""
    reference = window.bases
    for site in range(sites.begin.size):
        if not sites.is_indel[site]:
            continue
        begin = sites.begin[site] - window.first
        stop, first = begin, sites.allele_offsets[site] + 1
        for a in range(first, sites.allele_offsets[site + 1]):
            source, length = sites.inserted_offsets[a], sites.inserted_offsets[a + 1] - sites.inserted_offsets[a]
            shift, gap = 0, np.int64(sites.deleted[a]) if length == 0 else length
            is_replacement = sites.deleted[a] > 0 and length > 0
            while shift < MAX_TRACT and not is_replacement:
                right = begin + shift + (gap if length == 0 else 0)
                if right >= reference.size or reference[right] > 3:
                    break
                left = sites.inserted[source + shift] if shift < length else reference[right - gap]
                if left != reference[right]:
                    break
                shift += 1
            stop = max(stop, begin + shift + sites.deleted[a])
            if a == first and is_replacement:
                sites.unit[site] = max(length, np.int64(sites.deleted[a]))
            elif a == first:
                sites.unit[site] = period(sites.inserted, source, length) if length else period(reference, begin, gap)
        sites.stop[site] = stop + window.first


@kernel
def period(bases, start, size):
    """Return the length of the shortest unit whose copies make up bases [start, start + size)."""
    for unit in range(1, size):
        repeats = size % unit == 0
        for k in range(start + unit, start + size):
            repeats &= bases[k] == bases[k - unit]
        if repeats:
            return unit
    return size


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
    table = opening_table(model)
    opening = np.where(is_tract, table[k, np.minimum(tract, table.shape[1] - 1)], model.opening)
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
