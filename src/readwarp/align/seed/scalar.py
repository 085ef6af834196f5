"""Rules of the seed step, for CPU and GPU."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import QUERY_BITS
from readwarp.config import SeedParameters
from readwarp.device.jit import scalar

UNFILTERED = 32  # up to so many anchors of a read, all are kept
WIDER = 4  # times max_hits: the highest cap of a mostly repetitive read
WINDOWS = 1024  # counters of places, in each of two halves
WINDOW_BITS = 7  # a place is a diagonal without so many low bits


class Limits(NamedTuple):
    """See `config.SeedParameters`."""

    max_hits: int
    rescue_hits: int
    max_anchors: int


class Entries(NamedTuple):
    """The arrays of `Index` in which seeds are looked up."""

    bucket_starts: Annotated[ndarray, "uint32 [buckets + 1]"]
    tags: Annotated[ndarray, "uint16 [entries]"]
    positions: Annotated[ndarray, "uint32 [entries]"]
    bucket_bits: int


def entries_of(index: Any) -> Entries:
    bucket_bits = (index.bucket_starts.size - 1).bit_length() - 1
    return Entries(index.bucket_starts, index.tags, index.positions, bucket_bits)


def limits_of(parameters: SeedParameters) -> Limits:
    return Limits(parameters.max_hits, parameters.rescue_hits, parameters.max_anchors)


@scalar
def next_cap(cap, anchors, left_out, seeds, limits):
    """The next cap to try: seeds of a read with more places are left out. `cap` itself when it is right.

    The first cap is max_hits. It is halved while the read has too many anchors. It is doubled, up to WIDER * max_hits,
    while more than 3/5 of the read's `seeds` are left out (its true place may have none), and on to rescue_hits while
    the read has no anchor.
    """
    max_hits, rescue_hits, max_anchors = limits
    if anchors > max_anchors:
        return cap // 2 if 1 < cap <= max_hits else cap
    highest = rescue_hits if anchors == 0 else min(WIDER * max_hits, rescue_hits)
    if max_hits <= cap < highest and (anchors == 0 or 5 * left_out > 3 * seeds):
        return min(2 * cap, highest)
    return cap


@scalar
def window_of(anchor, half):
    """The counter of an anchor's place. The windows of half 1 are shifted by half a window."""
    query = anchor & np.uint64((1 << QUERY_BITS) - 1)
    diagonal = (anchor >> np.uint64(QUERY_BITS)) - query + np.uint64(half << (WINDOW_BITS - 1))
    place = (diagonal >> np.uint64(WINDOW_BITS)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(place >> np.uint64(54)) + half * WINDOWS


@scalar
def is_supported(support, highest):
    """Whether a place has at least a quarter of the anchors of the read's best place."""
    return 4 * support >= highest
