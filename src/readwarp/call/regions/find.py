"""Active regions of a window, with their reads (host only)."""

import numpy as np

from readwarp.batches import AlignedReads, Regions, Sites
from readwarp.call.regions import FLANK, LEAST_FLANK, SPARE
from readwarp.call.regions.clips import find_clip_places, pair_places
from readwarp.call.regions.clusters import Spans, cluster, marks_of
from readwarp.call.regions.reads import assign


def find_regions(
    reads: AlignedReads,
    qualities: np.ndarray,
    sites: Sites,
    reference: np.ndarray,
    start: int,
    low: int,
    high: int,
    max_reads: int,
) -> tuple[Regions, np.ndarray]:
    """See the step's contract."""
    places = find_clip_places(reads, qualities, low, high)
    marks = marks_of(sites, np.concatenate((places.ending, places.beginning)), *pair_places(places))
    spans = cluster(marks)
    first, last = start, start + reference.size
    begin, end = np.maximum(spans.start, first), np.minimum(spans.stop, last)
    inner_low, inner_high = flanked(begin, end, spans.reach, first, last)
    read_offsets, read, base_start, base_stop, status = assign(
        reads, begin, end, inner_low, inner_high, spans.status, max_reads
    )
    room = spans.room + SPARE
    regions = Regions(
        contig=reads.contig,
        start=begin,
        stop=end,
        low=np.maximum(inner_low - room, first),
        high=np.minimum(inner_high + room, last),
        read_offsets=read_offsets,
        read=read,
        base_start=base_start,
        base_stop=base_stop,
        status=status,
    )
    return regions, lies_within(sites.begin, spans)


def flanked(
    begin: np.ndarray, end: np.ndarray, reach: np.ndarray, first: int, last: int
) -> tuple[np.ndarray, np.ndarray]:
    """What reads are cut to: a flank on either side, less of it where it would hold a neighbour's variants."""
    low, high = begin - FLANK, np.maximum(end, reach) + FLANK
    low[1:] = np.maximum(low[1:], np.minimum(end[:-1], begin[1:] - LEAST_FLANK))
    high[:-1] = np.minimum(high[:-1], np.maximum(begin[1:], np.maximum(end, reach)[:-1] + LEAST_FLANK))
    return np.maximum(low, first), np.minimum(high, last)


def lies_within(places: np.ndarray, spans: Spans) -> np.ndarray:
    """bool, whether each place lies in one of the regions."""
    before = np.searchsorted(spans.start, places, side="right") - 1
    return (before >= 0) & (places < np.append(spans.stop, 0)[before])
