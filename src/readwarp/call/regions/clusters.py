"""Marks to regions (host only)."""

from dataclasses import dataclass, fields

import numpy as np

from readwarp.batches import Sites, Status
from readwarp.call.regions import MAX_REGION, REACHES


@dataclass(frozen=True, slots=True)
class Marks:
    """What makes a region, in no order; m marks."""

    place: np.ndarray  # int64 [m], where a variant begins
    first: np.ndarray  # int64 [m], span of all that it may touch
    last: np.ndarray  # int64 [m], one behind
    is_wide: np.ndarray  # bool [m], anything but a substitution
    deleted: np.ndarray  # int64 [m], most reference bases that a haplotype may lack there

    def chosen(self, rows: np.ndarray) -> "Marks":
        return Marks(self.place[rows], self.first[rows], self.last[rows], self.is_wide[rows], self.deleted[rows])


@dataclass(frozen=True, slots=True)
class Spans:
    """Regions without reads, in order; g regions."""

    start: np.ndarray  # int64 [g]
    stop: np.ndarray  # int64 [g]
    reach: np.ndarray  # int64 [g], one behind the last base that a mark of the region touches
    room: np.ndarray  # int64 [g], bases that deletions may take away
    status: np.ndarray  # uint8 [g], OK or TOO_LONG


def marks_of(sites: Sites, places: np.ndarray, first: np.ndarray, last: np.ndarray) -> Marks:
    """Marks of sites, of clip places, and of deletions [first, last) between clip places."""
    deleted = np.zeros(len(sites), np.int64)
    np.maximum.at(deleted, np.repeat(np.arange(len(sites)), np.diff(sites.allele_offsets)), sites.deleted)
    is_clip = np.ones(places.size + first.size, bool)
    return Marks(
        place=np.concatenate((sites.begin, places, first)),
        first=np.concatenate((sites.begin - sites.is_indel, places - 1, first - 1)),
        last=np.concatenate((sites.stop, places + 1, last + 1)),
        is_wide=np.concatenate((sites.is_indel, is_clip)),
        deleted=np.concatenate((np.where(sites.is_indel, deleted, 0), np.zeros(places.size, np.int64), last - first)),
    )


def cluster(marks: Marks) -> Spans:
    """Regions of the marks; see the step's contract."""
    found: list[Spans] = []
    for level, (narrow, wide) in enumerate(REACHES):
        marks, number, start, stop = _united(marks, narrow, wide)
        fits = stop - start <= MAX_REGION
        is_made = fits
        if level == 0:
            is_made = fits & ((np.bincount(number) > 1) | (np.bincount(number, marks.is_wide) > 0))
        rows = is_made[number]
        found.append(_spans(marks.chosen(rows), number[rows], start, stop, Status.TOO_LONG if level else Status.OK))
        rows = ~fits[number]
        marks, number = marks.chosen(rows), number[rows]
    found.append(_cut(marks, number, start, stop))
    order = np.argsort(np.concatenate([spans.start for spans in found]), kind="stable")
    return Spans(*(np.concatenate([getattr(spans, f.name) for spans in found])[order] for f in fields(Spans)))


def _united(marks: Marks, narrow: int, wide: int) -> tuple[Marks, np.ndarray, np.ndarray, np.ndarray]:
    """-> (marks by begin, int64 [m] number of the union that each lies in, starts and stops of the unions)."""
    reach = np.where(marks.is_wide, wide, narrow)
    begin, end = marks.first - reach, marks.last + reach
    order = np.argsort(begin, kind="stable")
    begin, furthest = begin[order], np.maximum.accumulate(end[order])
    is_first, is_last = np.ones((2, begin.size), bool)
    is_first[1:] = is_last[:-1] = begin[1:] >= furthest[:-1]
    return marks.chosen(order), np.cumsum(is_first) - 1, begin[is_first], furthest[is_last]


def _spans(marks: Marks, number: np.ndarray, start: np.ndarray, stop: np.ndarray, status: Status) -> Spans:
    """The unions that `number` names (ascending) as regions."""
    kept, rows = np.unique(number, return_index=True)
    first, last = np.minimum.reduceat(marks.first, rows), np.maximum.reduceat(marks.last, rows)
    return Spans(
        start=start[kept],
        stop=stop[kept],
        reach=last,
        room=np.minimum(np.add.reduceat(marks.deleted, rows), last - first),
        status=np.full(kept.size, status, np.uint8),
    )


def _cut(marks: Marks, number: np.ndarray, start: np.ndarray, stop: np.ndarray) -> Spans:
    """Unions at multiples of MAX_REGION; parts where no mark begins are left out."""
    part = marks.place // MAX_REGION
    order = np.lexsort((part, number))
    marks, number, part = marks.chosen(order), number[order], part[order]
    is_first = np.ones(part.size, bool)
    is_first[1:] = (number[1:] != number[:-1]) | (part[1:] != part[:-1])
    union, part = number[is_first], part[is_first] * MAX_REGION
    low, high = np.maximum(start[union], part), np.minimum(stop[union], part + MAX_REGION)
    return _spans(marks, np.cumsum(is_first) - 1, low, high, Status.TOO_LONG)
