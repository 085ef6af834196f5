"""Active regions of a window, with their reads (host only)."""

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Regions, Sites, Window
from readwarp.call.regions import FLANK, MIN_FLANK, SPARE
from readwarp.call.regions.clips import ClipPlaces
from readwarp.call.regions.clusters import Spans, cluster, marks_of
from readwarp.call.regions.reads import assign_reads
from readwarp.ragged import replace


def find_regions(
    reads: AlignedReads, places: ClipPlaces, sites: Sites, window: Window, max_reads: int
) -> tuple[Regions, ndarray]:
    """See the step's contract."""
    spans = cluster(marks_of(sites, places))
    first, last, room = window.first, window.first + window.bases.size, spans.room + SPARE
    regions = assign_reads(reads, flank(spans, window), max_reads)
    low, high = np.maximum(regions.low - room, first), np.minimum(regions.high + room, last)
    return replace(regions, low=low, high=high), lie_within(sites.begin, spans)


def flank(spans: Spans, window: Window) -> Regions:
    """Regions without reads, [low, high) being what reads are cut to.

    That is a flank on either side, less of it where it would hold a neighbour's variants.
    """
    first, last = window.first, window.first + window.bases.size
    start, stop = np.maximum(spans.start, first), np.minimum(spans.stop, last)
    reach = np.maximum(stop, spans.reach)
    low, high = start - FLANK, reach + FLANK
    low[1:] = np.maximum(low[1:], np.minimum(stop[:-1], start[1:] - MIN_FLANK))
    high[:-1] = np.minimum(high[:-1], np.maximum(start[1:], reach[:-1] + MIN_FLANK))
    return Regions(
        contig=window.contig,
        start=start,
        stop=stop,
        low=np.maximum(low, first),
        high=np.minimum(high, last),
        read_offsets=np.zeros(start.size + 1, np.int64),
        read=np.empty(0, np.int32),
        base_start=np.empty(0, np.int64),
        base_stop=np.empty(0, np.int64),
        status=spans.status,
    )


def lie_within(places: ndarray, spans: Spans) -> ndarray:
    """bool, whether each place lies in one of the regions."""
    before = np.searchsorted(spans.start, places, side="right") - 1
    return (before >= 0) & (places < np.append(spans.stop, 0)[before])
