"""Find the active regions of a window, with their reads (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions, Sites
from readwarp.call.candidates.regions import FLANK, MIN_FLANK, REACHES, SPARE
from readwarp.call.candidates.regions.clips import ClipPlaces, pair_places
from readwarp.call.candidates.regions.reads import cut_reads, drop_short
from readwarp.call.places.targets import MAX_REGION
from readwarp.call.places.window import Window, contigs_around
from readwarp.call.reads.clips import reads_across
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import concatenate, empty, replace, take
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
    regions = drop_short(regions)
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
