"""Haplotypes of a window's regions: assembled, combined, united, aligned, ranked."""

import numpy as np

from readwarp.batches import AlignedReads, Haplotypes, Regions, Sites, Status
from readwarp.call.haplotypes import MAX_HAPLOTYPES, MAX_LONGER, MAX_WAYS, SIZES
from readwarp.call.haplotypes.alleles import alleles_of, combine
from readwarp.call.haplotypes.assembly import assemble
from readwarp.call.haplotypes.graph import new_graph
from readwarp.call.haplotypes.rows import NOT_ASKED, Rows, copy, new_rows, rank, unite
from readwarp.call.haplotypes.variants import Variants, spell_rows
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of, ranges

TRUSTED = 60  # quality of the reference's bases


def build_haplotypes(
    regions: Regions, reads: AlignedReads, qualities: np.ndarray, sites: Sites, reference: np.ndarray, start: int
) -> Haplotypes:
    """See the step's contract."""
    places = np.stack((regions.start, regions.stop), axis=1) - start
    spans = np.stack((regions.low, regions.high, *without_unknown(regions, reference, start)), axis=1)
    spans[:, :2] -= start
    samples = int(reads.sample.max(initial=0)) + 1
    order, fragment, read_offsets = by_name(regions, reads, samples)
    read, cut = regions.read[order], np.stack((regions.base_start[order], regions.base_stop[order]), axis=1)
    alleles, bounds = alleles_of(sites, regions)
    spans_of, bounds = np.repeat(spans, samples, axis=0), np.repeat(bounds, samples, axis=0)  # [region, sample]
    rows = _room(spans_of, bounds)
    is_full = assemble(
        *(spans_of, read_offsets, fragment, cut, reads.bases, qualities, reference),
        *(np.full(reference.size, TRUSTED, np.uint8), np.array(SIZES), new_graph(_most_nodes(spans, regions)), rows),
    )
    is_full |= combine(
        *(spans_of, start, bounds, alleles, sites.inserted, read_offsets, read, fragment, cut, reads.position),
        *(reads.cigar, reads.cigar_offsets, reads.bases, qualities, reads.read_offsets, reference, rows),
    )
    rows[2][: rows[-1][0]] //= samples
    is_full = is_full.reshape(-1, samples).any(axis=1)
    support = np.zeros(len(regions), np.int64)  # of the references' haplotypes
    kept = unite(rows, _asked_first(rows), spans, reference, support)
    span_sizes = (spans[:, 1] - spans[:, 0])[rows[2][kept]]
    spelled = new_rows(kept.size, int((np.diff(rows[1])[kept] + span_sizes).sum()))
    variants = spell_rows(rows, kept, spans, places, reference, (alleles, sites.inserted, start), spelled)
    kept = unite(spelled, np.arange(spelled[-1][0]), spans, reference, support)
    chosen = rank(spelled, kept, MAX_HAPLOTYPES - 1, is_full)
    return _gathered(spans, reference, start, spelled, chosen, variants, support, is_full)


def without_unknown(regions: Regions, reference: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """The part of each region's span around it that has no N, in `reference`; empty where the region itself has one."""
    unknown = np.flatnonzero(reference > 3)
    if unknown.size == 0:
        return regions.low - start, regions.high - start
    bounds = np.concatenate(([-1], unknown, [reference.size]))
    before = np.searchsorted(bounds, regions.start - start) - 1
    low = np.maximum(regions.low - start, bounds[before] + 1)
    high = np.minimum(regions.high - start, bounds[before + 1])
    return low, np.where(regions.stop - start <= bounds[before + 1], high, low)


def by_name(regions: Regions, reads: AlignedReads, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The reads of the regions by sample and name.

    (Rows of the regions' reads; the number of each one's name among those of its region and sample; the reads of each
    region and sample, int64 [regions x samples + 1].)
    """
    part = np.repeat(np.arange(len(regions)), np.diff(regions.read_offsets)) * samples + reads.sample[regions.read]
    name = reads.name_hash[regions.read]
    order = np.lexsort((name, part))
    part, name = part[order], name[order]
    is_new = np.ones(order.size, bool)
    is_new[1:] = (name[1:] != name[:-1]) | (part[1:] != part[:-1])
    number = np.cumsum(is_new) - 1
    read_offsets = np.searchsorted(part, np.arange(len(regions) * samples + 1))
    return order, number - np.append(number, 0)[read_offsets[:-1]][part], read_offsets


def _room(spans: np.ndarray, bounds: np.ndarray) -> Rows:
    """Rows for all that the regions can give: ways of both kinds, and each allele by itself."""
    number = 2 * MAX_WAYS + np.diff(bounds, axis=1).ravel()
    return new_rows(int(number.sum()), int((number * (spans[:, 1] - spans[:, 0] + MAX_LONGER)).sum()))


def _asked_first(rows: Rows) -> np.ndarray:
    """Rows by region, what is asked for before others: of equal haplotypes the first one's spelling remains."""
    used = rows[-1][0]
    return np.lexsort((rows[4][:used] == NOT_ASKED, rows[2][:used]))


def _most_nodes(spans: np.ndarray, regions: Regions) -> int:
    read_bases = np.concatenate(([0], np.cumsum(regions.base_stop - regions.base_start)))
    return int((np.diff(read_bases[regions.read_offsets]) + spans[:, 1] - spans[:, 0]).max(initial=1))


def _gathered(
    spans: np.ndarray, reference: np.ndarray, start: int, rows: Rows, chosen: np.ndarray, variants: Variants,
    support: np.ndarray, is_full: np.ndarray,
) -> Haplotypes:  # fmt: skip
    """The references' haplotypes, each before the chosen ones of its region."""
    begin, deleted, inserted, inserted_offsets, variant_offsets = variants
    regions = len(spans)
    per_region = np.bincount(rows[2][chosen], minlength=regions) + 1
    first = np.cumsum(per_region) - per_region  # the reference's haplotypes
    place = np.delete(np.arange(per_region.sum()), first)  # the others
    sizes, numbers, supports = np.zeros((3, regions + chosen.size), np.int64)
    sizes[first], sizes[place] = spans[:, 1] - spans[:, 0], np.diff(rows[1])[chosen]
    numbers[place], supports[first], supports[place] = np.diff(variant_offsets)[chosen], support, rows[3][chosen]
    base_offsets = offsets_of(sizes)
    bases = np.empty(base_offsets[-1], np.uint8)
    copy_runs(reference, spans[:, 0].copy(), base_offsets[first], base_offsets[first + 1], bases)
    copy_runs(rows[0], rows[1][chosen], base_offsets[place], base_offsets[place + 1], bases)
    shown = ranges(variant_offsets, chosen)
    shown_offsets = offsets_of(np.diff(inserted_offsets)[shown])
    shown_bases = np.empty(shown_offsets[-1], np.uint8)
    copy_runs(inserted, inserted_offsets[shown], shown_offsets[:-1], shown_offsets[1:], shown_bases)
    return Haplotypes(
        haplotype_offsets=offsets_of(per_region),
        bases=bases,
        base_offsets=base_offsets,
        support=supports.astype(np.int32),
        variant_offsets=offsets_of(numbers),
        begin=begin[shown] + start,
        deleted=deleted[shown].astype(np.int32),
        inserted=shown_bases,
        inserted_offsets=shown_offsets,
        status=np.where(is_full, Status.CAPACITY, Status.OK).astype(np.uint8),
    )


@kernel
def copy_runs(source, first, begin, stop, out):
    """out[begin:stop] of each run from `source`, from `first` on."""
    for i in range(first.size):
        copy(source, first[i], first[i] + stop[i] - begin[i], out, begin[i])
