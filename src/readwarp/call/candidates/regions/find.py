"""Find the active regions of a window, and the bases that reads contribute to each (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions, Sites
from readwarp.call.candidates.pileup import MAX_INDEL
from readwarp.call.candidates.regions import FLANK, MIN_BASES, MIN_FLANK, REACHES, SPARE
from readwarp.call.candidates.regions.clips import ClipPlaces, pair_places
from readwarp.call.places.bases import Window, contigs_around
from readwarp.call.places.targets import MAX_REGION
from readwarp.call.reads.clips import reads_across
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import concatenate, empty, offsets_of, replace, take
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, is_match, run_of
from readwarp.rules.hashes import spread
from readwarp.rules.statuses import Status


class Marks(NamedTuple):
    """Unsorted spans that make regions."""

    place: Annotated[ndarray, "int64 [marks]"]  # where a variant begins
    start: Annotated[ndarray, "int64 [marks]"]  # [start, stop) holds all bases that the variant may touch
    stop: Annotated[ndarray, "int64 [marks]"]
    is_wide: Annotated[ndarray, "bool [marks]"]  # not a single substitution
    deleted: Annotated[ndarray, "int64 [marks]"]  # most reference bases that a haplotype may lack there


class RegionSpans(NamedTuple):
    """Sorted regions without reads."""

    start: Annotated[ndarray, "int64 [regions]"]
    stop: Annotated[ndarray, "int64 [regions]"]
    reach: Annotated[ndarray, "int64 [regions]"]  # end of the last base that a mark of the region touches
    room: Annotated[ndarray, "int64 [regions]"]  # bases that deletions may remove
    status: Annotated[ndarray, "uint8 [regions]"]  # OK or TOO_LONG


def find_regions(reads: AlignedReads, places: ClipPlaces, sites: Sites, window: Window) -> tuple[Regions, ndarray]:
    """Find the regions of a window; see the step's contract."""
    spans = cluster(marks_of(sites, places))
    first, last = contigs_around(window, spans.reach - 1)
    start, stop = np.maximum(spans.start, first), np.minimum(spans.stop, last)
    low, high = flank(start, stop, np.maximum(stop, spans.reach))
    offsets, read = reads_across(reads, start, stop)
    bounds = {"start": start, "stop": stop, "low": np.maximum(low, first), "high": np.minimum(high, last)}
    bounds |= {"place": np.arange(start.size), "sample": np.zeros(start.size, np.uint16)}
    columns = {"read_offsets": offsets, "read": read, "status": spans.status, **bounds}
    regions = empty(Regions, {}, contig=window.contig, **columns)
    cut_reads(reads, regions)
    regions = _take_rows(regions, regions.base_stop - regions.base_start >= MIN_BASES)
    low, high = regions.low - spans.room - SPARE, regions.high + spans.room + SPARE
    regions = replace(regions, low=np.maximum(low, first), high=np.minimum(high, last))
    return regions, lie_within(sites.begin, spans)


def flank(start: ndarray, stop: ndarray, reach: ndarray) -> tuple[ndarray, ndarray]:
    """Return [low, high), to which the reads of each region are cut so that they hold no neighbour's variants."""
    low, high = start - FLANK, reach + FLANK
    low[1:] = np.maximum(low[1:], np.minimum(stop[:-1], start[1:] - MIN_FLANK))
    high[:-1] = np.minimum(high[:-1], np.maximum(start[1:], reach[:-1] + MIN_FLANK))
    return low, high


def lie_within(places: ndarray, spans: RegionSpans) -> ndarray:
    """Return whether each place lies in one of the regions (bool)."""
    before = np.searchsorted(spans.start, places, side="right") - 1
    return (before >= 0) & (places < np.append(spans.stop, 0)[before])


def marks_of(sites: Sites, places: ClipPlaces) -> Marks:
    """Return the marks of sites, of clip places, and of deletions from one clip place to the next."""
    deleted = np.maximum.reduceat(sites.deleted, sites.allele_offsets[:-1])
    clips, (first, last) = np.concatenate((places.ending, places.beginning)), pair_places(places)
    return Marks(
        place=np.concatenate((sites.begin, clips, first)),
        start=np.concatenate((sites.position, clips - 1, first - 1)),
        stop=np.concatenate((sites.stop, clips + 1, last + 1)),
        is_wide=np.concatenate((sites.is_indel, np.ones(clips.size + first.size, bool))),
        deleted=np.concatenate((np.where(sites.is_indel, deleted, 0), np.zeros(clips.size, np.int64), last - first)),
    )


def cluster(marks: Marks) -> RegionSpans:
    """Make regions of the marks; see the step's contract."""
    found: list[RegionSpans] = []
    for level, (narrow, wide) in enumerate(REACHES):
        marks, number, start, stop = _unite(marks, narrow, wide)
        fits = stop - start <= MAX_REGION
        is_made = fits
        if level == 0:
            is_made = fits & ((np.bincount(number) > 1) | (np.bincount(number, marks.is_wide) > 0))
        rows = is_made[number]
        status = Status.TOO_LONG if level else Status.OK
        found.append(_make_spans(take(marks, "marks", rows), number[rows], start, stop, status))
        rows = ~fits[number]
        marks, number = take(marks, "marks", rows), number[rows]
    found.append(_cut(marks, number, start, stop))
    spans = concatenate(found, "regions")
    return take(spans, "regions", np.argsort(spans.start, kind="stable"))


def _unite(marks: Marks, narrow: int, wide: int) -> tuple[Marks, ndarray, ndarray, ndarray]:
    """Return (marks by begin, int64 [marks] the union of each mark, starts and stops of the unions)."""
    reach = np.where(marks.is_wide, wide, narrow)
    begin, end = marks.start - reach, marks.stop + reach
    order = np.argsort(begin, kind="stable")
    begin, furthest = begin[order], np.maximum.accumulate(end[order])
    is_first, is_last = np.ones((2, begin.size), bool)
    is_first[1:] = is_last[:-1] = begin[1:] >= furthest[:-1]
    return take(marks, "marks", order), np.cumsum(is_first) - 1, begin[is_first], furthest[is_last]


def _make_spans(marks: Marks, number: ndarray, start: ndarray, stop: ndarray, status: Status) -> RegionSpans:
    """Make regions of the unions in `number` (ascending)."""
    named, rows = np.unique(number, return_index=True)
    first, last = np.minimum.reduceat(marks.start, rows), np.maximum.reduceat(marks.stop, rows)
    return RegionSpans(
        start=start[named],
        stop=stop[named],
        reach=last,
        room=np.minimum(np.add.reduceat(marks.deleted, rows), last - first),
        status=np.full(named.size, status, np.uint8),
    )


def _cut(marks: Marks, number: ndarray, start: ndarray, stop: ndarray) -> RegionSpans:
    """Cut unions at multiples of MAX_REGION; parts where no mark begins are left out."""
    part = marks.place // MAX_REGION
    order = np.lexsort((part, number))
    marks, number = take(marks, "marks", order), number[order]
    part = part[order]
    is_first = np.ones(part.size, bool)
    is_first[1:] = (number[1:] != number[:-1]) | (part[1:] != part[:-1])
    union, part = number[is_first], part[is_first] * MAX_REGION
    low, high = np.maximum(start[union], part), np.minimum(stop[union], part + MAX_REGION)
    return _make_spans(marks, np.cumsum(is_first) - 1, low, high, Status.TOO_LONG)


def thin_reads(regions: Regions, reads: AlignedReads, max_reads: ndarray) -> Regions:
    """Thin the regions, each of one sample, to at most `max_reads` reads (int64 [regions]).

    Those of the names with the smallest ranks stay; where one name alone has too many, its first ones in file order.
    """
    offsets, status = regions.read_offsets, regions.status.copy()
    crowded = np.flatnonzero(np.diff(offsets) > max_reads)
    if crowded.size == 0:
        return regions
    stays = np.ones(offsets[-1], bool)
    for region in crowded.tolist():
        own = slice(offsets[region], offsets[region + 1])
        rank, most = spread(reads.name_hash[regions.read[own]]), int(max_reads[region])
        order = np.argsort(rank, kind="stable")
        within = rank < rank[order[most]]
        stays[own] = within if within.any() else np.isin(np.arange(rank.size), order[:most])
    status[crowded] = Status.CAPACITY
    return replace(_take_rows(regions, stays), status=status)


def _take_rows(regions: Regions, stays: ndarray) -> Regions:
    return replace(take(regions, "rows", stays), read_offsets=offsets_of(stays)[regions.read_offsets])


@kernel
def cut_reads(reads, regions):
    """Set the `base_start` and `base_stop` of each row of the regions."""
    for g in range(regions.start.size):
        bounds = regions.start[g], regions.stop[g], regions.low[g], regions.high[g]
        for row in range(regions.read_offsets[g], regions.read_offsets[g + 1]):
            read = regions.read[row]
            own = reads.cigar[reads.cigar_offsets[read] : reads.cigar_offsets[read + 1]]
            span = cut(own, reads.position[read], reads.read_offsets[read], *bounds)
            regions.base_start[row], regions.base_stop[row] = span


@kernel
def cut(cigar, position, first_base, start, stop, low, high):
    """Return the bases [from, to) of the piece of a read that shares most with [start, stop), cut to [low, high).

    A piece's bases begin at q0. It spans [p0, p1) of the reference, from its first match to its last, whose bases are
    [aligned, after). `inside` is the first base aligned at or after `low`, `outside` the base after the last one
    aligned before `high`.
    """
    shared, p = np.int64(0), position
    found = found_stop = q = q0 = first_base
    p0 = p1 = aligned = after = inside = outside = np.int64(-1)
    for i in range(cigar.size + 1):
        operation, length, on_reference, on_read = run_of(cigar[i] if i < cigar.size else np.uint32(SKIP))
        if is_match(operation) and length:
            if aligned < 0:
                p0, aligned = p, q
            if inside < 0 and p + length > low:
                inside = q + max(0, low - p)
            if p < high:
                outside = q + min(length, high - p)
            p1, after = p + length, q + length
        elif operation == SKIP or (operation in (INSERTION, DELETION) and length > MAX_INDEL):
            if aligned >= 0 and min(p1, stop) - max(p0, start) > shared:
                shared = min(p1, stop) - max(p0, start)
                found = max(q0, aligned - (p0 - low)) if low < p0 else inside
                found_stop = min(q, after + (high - p1)) if high > p1 else outside
            q0 = q + on_read
            p0 = p1 = aligned = after = inside = outside = np.int64(-1)
        p, q = p + on_reference, q + on_read
    return found, found_stop


def split_samples(regions: Regions, reads: AlignedReads) -> Regions:
    """Return one region per place and sample, side by side in sample order, with reads in file order.

    A place without reads has one, of sample 0. `place` numbers the given regions.
    """
    samples = int(reads.sample.max(initial=0)) + 1
    place = np.repeat(np.arange(len(regions)), np.diff(regions.read_offsets))
    own = place * samples + reads.sample[regions.read]
    bare = np.flatnonzero(np.diff(regions.read_offsets) == 0) * samples
    found = np.unique(np.concatenate((own, bare)))
    order = np.argsort(own, kind="stable")
    rows = found // samples
    return replace(
        regions,
        **{name: getattr(regions, name)[rows] for name in ("start", "stop", "low", "high", "status")},
        **{name: getattr(regions, name)[order] for name in ("read", "base_start", "base_stop")},
        read_offsets=np.append(np.searchsorted(own[order], found), own.size),
        place=rows,
        sample=(found % samples).astype(np.uint16),
    )
