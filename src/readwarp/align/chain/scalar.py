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


@scalar
def contig_end(contig_offsets, reference):
    """The end of the contig that holds a reference position."""
    low, high = 0, contig_offsets.size - 1
    while low < high:
        middle = (low + high) >> 1
        if contig_offsets[middle] <= reference:
            low = middle + 1
        else:
            high = middle
    return contig_offsets[low]


@scalar
def copy_row(rows, source, target):
    """All is read before anything is written: a card then waits for its memory once."""
    score, strand = rows[source, SCORE], rows[source, STRAND]
    start, stop = rows[source, START], rows[source, STOP]
    query_start, query_stop, anchors = rows[source, QUERY_START], rows[source, QUERY_STOP], rows[source, ANCHORS]
    rows[target, SCORE], rows[target, STRAND], rows[target, ANCHORS] = score, strand, anchors
    rows[target, START], rows[target, STOP] = start, stop
    rows[target, QUERY_START], rows[target, QUERY_STOP] = query_start, query_stop


@scalar
def insert(best, found, score, first, last, size, k):
    """The chain from anchor `first` to anchor `last` into its place among the best; returns how many there are."""
    strand, start, query = strand_of(first), reference_of(first), query_of(first)
    row = found
    while row > 0 and is_before(
        score, strand, start, query,
        best[row - 1, SCORE], best[row - 1, STRAND], best[row - 1, START], best[row - 1, QUERY_START],
    ):  # fmt: skip
        row -= 1
    if row == best.shape[0]:
        return found
    for other in range(min(found, best.shape[0] - 1), row, -1):
        copy_row(best, other - 1, other)
    best[row, SCORE], best[row, STRAND], best[row, ANCHORS] = score, strand, size
    best[row, START], best[row, STOP] = start, reference_of(last) + k
    best[row, QUERY_START], best[row, QUERY_STOP] = query, query_of(last) + k
    return min(found + 1, best.shape[0])


@scalar
def trace_back(anchors, k, scores, parents, best, found, last):
    """The chain that ends in anchor `last` into its place; its anchors are taken: their scores turn negative."""
    first, size, score = last, 1, scores[last]
    scores[last] = -score
    while parents[first] >= 0 and scores[parents[first]] > 0:
        first = parents[first]
        scores[first] = -scores[first]
        size += 1
    if parents[first] >= 0:
        score += scores[parents[first]]  # what the chain it branches off had there
    if score >= k:
        found = insert(best, found, score, anchors[first], anchors[last], size, k)
    return found


@scalar
def keep(best, found, length, drop):
    """Leave out chains far below the best one that share its part of the read; returns how many remain."""
    kept = min(found, 1)
    for row in range(1, found):
        if is_kept(
            best[row, SCORE], best[row, STRAND], best[row, QUERY_START], best[row, QUERY_STOP],
            best[0, SCORE], best[0, STRAND], best[0, QUERY_START], best[0, QUERY_STOP], length, drop,
        ):  # fmt: skip
            copy_row(best, row, kept)
            kept += 1
    return kept
