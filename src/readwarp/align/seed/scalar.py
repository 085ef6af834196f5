"""Rules of the seed step, for CPU and GPU."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import QUERY_BITS
from readwarp.compiler.jit import scalar
from readwarp.config import MAX_READ_LENGTH, Scoring, SeedParameters

UNFILTERED = 32  # up to this many anchors of a read, all are kept
WIDER = 4  # multiple of max_hits: the highest cap of a mostly repetitive read
WINDOWS = 1024  # counters of places, in each of two halves
NEVER = 1 << 30  # a margin that settles no read
WINDOW_BITS = 7  # a place is a diagonal without this many low bits
LEAST = 2  # anchors of a place that has another part of the read
PARTS = 64  # maximum per read


class SeedLimits(NamedTuple):
    """Limits of seeding: see `config.SeedParameters`."""

    max_hits: int
    rescue_hits: int
    max_anchors: int


class Proof(NamedTuple):
    """Costs that can settle a read, in units of the score: see `is_settled`."""

    mismatch: int  # maximum cost of a mismatch at a place
    seed: int  # minimum cost of each seed that a place lacks
    margin: int


class Entries(NamedTuple):
    """The arrays of `Index` for look-ups of seeds."""

    bucket_starts: Annotated[ndarray, "uint32 [buckets + 1]"]  # like positions, may be uint64, see `Index`
    tags: Annotated[ndarray, "uint16 [entries]"]
    positions: Annotated[ndarray, "uint32 [entries]"]
    bucket_bits: int


def entries_of(index: Any) -> Entries:
    bucket_bits = (index.bucket_starts.size - 1).bit_length() - 1
    return Entries(index.bucket_starts, index.tags, index.positions, bucket_bits)


def limits_of(parameters: SeedParameters) -> SeedLimits:
    return SeedLimits(parameters.max_hits, parameters.rescue_hits, parameters.max_anchors)


def proof_of(parameters: SeedParameters, scoring: Scoring) -> Proof:
    return Proof(
        scoring.match + scoring.mismatch,
        least_loss(scoring, parameters.k),
        min(parameters.margin * scoring.match, NEVER),
    )


def least_loss(scoring: Scoring, k: int) -> int:
    """Return the least loss of score per k-mer for a place that lacks several k-mers that do not overlap.

    A mismatch or a deletion can spoil one of them. To spoil n, an insertion or a clip must be so long that it reaches
    from the last base of the first to the first base of the last. N of the reference spoils one for less, but hardly
    ever all of them: that case is ignored.
    """
    match, gap_extend = scoring.match, scoring.gap_extend + scoring.match
    losses = [scoring.match + scoring.mismatch, scoring.gap_open + scoring.gap_extend]
    for n in range(1, MAX_READ_LENGTH // k + 1):
        inserted, clipped = max(1, (n - 2) * k + 2), (n - 1) * k + 1
        losses.append((scoring.gap_open + inserted * gap_extend) // n)
        losses.append((scoring.end_bonus + clipped * match) // n)
    return min(losses)


@scalar
def is_settled(known, differences, proof):
    """Return whether every place that none of the `known` seeds leads to scores less than the read's, by the margin.

    known: number of the read's seeds that do not overlap and whose places are all known; differences: mismatches of the
    whole read at a place of one of them.
    """
    return known * proof.seed - differences * proof.mismatch >= proof.margin


@scalar
def next_cap(cap, anchors, left_out, seeds, limits):
    """Return the next cap to try, or `cap` itself when it is right: seeds of a read with more places are left out.

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
    """Return the counter of an anchor's place. The windows of half 1 are shifted by half a window."""
    query = anchor & np.uint64((1 << QUERY_BITS) - 1)
    diagonal = (anchor >> np.uint64(QUERY_BITS)) - query + np.uint64(half << (WINDOW_BITS - 1))
    place = (diagonal >> np.uint64(WINDOW_BITS)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(place >> np.uint64(54)) + half * WINDOWS


@scalar
def is_supported(support, highest):
    """Return whether a place has at least a quarter of the anchors of the read's best place."""
    return 4 * support >= highest


@scalar
def part_bits(length):
    """Return the bits of a part's length: a read has up to PARTS parts of 1 << part_bits(length) bases."""
    bits = 0
    while (length - 1) >> bits >= PARTS:
        bits += 1
    return bits


@scalar
def parts_of(query, k, bits):
    """Set a bit for each part of the read that the seed from this base on covers, apart from a few of its bases."""
    return ((np.int64(1) << np.int64(max(1, k >> bits))) - np.int64(1)) << np.int64(query >> bits)
