"""Marks to regions (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import Sites, Status
from readwarp.call.regions import MAX_REGION, REACHES
from readwarp.call.regions.clips import ClipPlaces, pair_places
from readwarp.ragged import concatenate, take


class Marks(NamedTuple):
    """What makes a region, in no order."""

    place: Annotated[ndarray, "int64 [marks]"]  # where a variant begins
    first: Annotated[ndarray, "int64 [marks]"]  # the span of all that it may touch
    last: Annotated[ndarray, "int64 [marks]"]  # one after
    is_wide: Annotated[ndarray, "bool [marks]"]  # anything but a substitution
    deleted: Annotated[ndarray, "int64 [marks]"]  # reference bases that a haplotype may lack there, at most


class Spans(NamedTuple):
    """Regions without reads, in order."""

    start: Annotated[ndarray, "int64 [regions]"]
    stop: Annotated[ndarray, "int64 [regions]"]
    reach: Annotated[ndarray, "int64 [regions]"]  # one after the last base that a mark of the region touches
    room: Annotated[ndarray, "int64 [regions]"]  # bases that deletions may take away
    status: Annotated[ndarray, "uint8 [regions]"]  # OK or TOO_LONG


def marks_of(sites: Sites, places: ClipPlaces) -> Marks:
    """Marks of sites, of clip places, and of deletions from one clip place to another."""
    deleted = np.zeros(len(sites), np.int64)
    np.maximum.at(deleted, np.repeat(np.arange(len(sites)), np.diff(sites.allele_offsets)), sites.deleted)
    clips, (first, last) = np.concatenate((places.ending, places.beginning)), pair_places(places)
    return Marks(
        place=np.concatenate((sites.begin, clips, first)),
        first=np.concatenate((sites.position, clips - 1, first - 1)),
        last=np.concatenate((sites.stop, clips + 1, last + 1)),
        is_wide=np.concatenate((sites.is_indel, np.ones(clips.size + first.size, bool))),
        deleted=np.concatenate((np.where(sites.is_indel, deleted, 0), np.zeros(clips.size, np.int64), last - first)),
    )


def cluster(marks: Marks) -> Spans:
    """Regions of the marks; see the step's contract."""
    found: list[Spans] = []
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
    """-> (marks by begin, int64 [marks] number of the union that each lies in, starts and stops of the unions)."""
    reach = np.where(marks.is_wide, wide, narrow)
    begin, end = marks.first - reach, marks.last + reach
    order = np.argsort(begin, kind="stable")
    begin, furthest = begin[order], np.maximum.accumulate(end[order])
    is_first, is_last = np.ones((2, begin.size), bool)
    is_first[1:] = is_last[:-1] = begin[1:] >= furthest[:-1]
    return take(marks, "marks", order), np.cumsum(is_first) - 1, begin[is_first], furthest[is_last]


def _make_spans(marks: Marks, number: ndarray, start: ndarray, stop: ndarray, status: Status) -> Spans:
    """The unions that `number` names (ascending) as regions."""
    named, rows = np.unique(number, return_index=True)
    first, last = np.minimum.reduceat(marks.first, rows), np.maximum.reduceat(marks.last, rows)
    return Spans(
        start=start[named],
        stop=stop[named],
        reach=last,
        room=np.minimum(np.add.reduceat(marks.deleted, rows), last - first),
        status=np.full(named.size, status, np.uint8),
    )


def _cut(marks: Marks, number: ndarray, start: ndarray, stop: ndarray) -> Spans:
    """Unions cut at multiples of MAX_REGION; parts where no mark begins are left out."""
    part = marks.place // MAX_REGION
    order = np.lexsort((part, number))
    marks, number, part = take(marks, "marks", order), number[order], part[order]
    is_first = np.ones(part.size, bool)
    is_first[1:] = (number[1:] != number[:-1]) | (part[1:] != part[:-1])
    union, part = number[is_first], part[is_first] * MAX_REGION
    low, high = np.maximum(start[union], part), np.minimum(stop[union], part + MAX_REGION)
    return _make_spans(marks, np.cumsum(is_first) - 1, low, high, Status.TOO_LONG)
