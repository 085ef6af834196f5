"""Rules of the chain step, one place for both sides."""

import numpy as np

from readwarp.device.jit import scalar

SCORE, STRAND, START, STOP, QUERY_START, QUERY_STOP, ANCHORS, COLUMNS = range(8)  # of a chain's row of int64
LOOKBACK = 64  # anchors that one anchor is tried to be linked to
CLUSTER_CHAINS = 16  # most chains of one place
NOT_LINKED = -(1 << 30)


@scalar
def strand_of(anchor):
    return np.int64(anchor >> np.uint64(63))


@scalar
def reference_of(anchor):
    return np.int64((anchor >> np.uint64(16)) & np.uint64((1 << 47) - 1))


@scalar
def query_of(anchor):
    return np.int64(anchor & np.uint64(0xFFFF))


@scalar
def gap_cost(gap):
    """Cost of a change of diagonal by `gap` bases."""
    return 0 if gap == 0 else 3 + (gap >> 3)


@scalar
def link(query_step, reference_step, k, max_gap):
    """What an anchor adds to the chain of an earlier one: bases newly covered less gap cost, or NOT_LINKED."""
    gap = abs(reference_step - query_step)
    if query_step <= 0 or reference_step <= 0 or gap > max_gap:
        return NOT_LINKED
    return min(k, min(query_step, reference_step)) - gap_cost(gap)


@scalar
def is_before(score, strand, start, query, other_score, other_strand, other_start, other_query):
    """Total order of chains: higher score, then strand, reference start, query start."""
    if score != other_score:
        return score > other_score
    if strand != other_strand:
        return strand < other_strand
    if start != other_start:
        return start < other_start
    return query < other_query


@scalar
def is_kept(score, strand, start, stop, best_score, best_strand, best_start, best_stop, length, drop):
    """Good enough beside the best chain (drop in 1/1024), or of another part of the read (less than half shared).

    start, stop: query spans on the oriented read.
    """
    if score * 1024 >= drop * best_score:
        return True
    if strand != best_strand:
        start, stop = length - stop, length - start
    shared = min(stop, best_stop) - max(start, best_start)
    return 2 * shared < min(stop - start, best_stop - best_start)
