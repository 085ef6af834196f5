"""Chains on CUDA: a thread per read, the same passes as cpu.py; chains are found in place, then closed up."""

from typing import Any

import numpy as np

from readwarp.align.chain.scalar import (
    ANCHORS,
    CLUSTER_CHAINS,
    COLUMNS,
    LOOKBACK,
    QUERY_START,
    QUERY_STOP,
    SCORE,
    START,
    STOP,
    STRAND,
    is_before,
    is_kept,
    link,
    query_of,
    reference_of,
    strand_of,
)
from readwarp.batches import Chains, ReadBatch, SeedHits
from readwarp.config import ChainParameters, SeedParameters
from readwarp.device.jit import cuda
from readwarp.ragged import offsets_of

THREADS = 128


def chain_hits(
    reads: ReadBatch, hits: SeedHits, contig_offsets: np.ndarray, seed: SeedParameters, parameters: ChainParameters
) -> Chains:
    """As cpu.chain_hits; arrays in and out are on the device."""
    sizes = np.diff(to_host(hits.anchor_offsets))
    n, grid = sizes.size, (max(1, -(-sizes.size // THREADS)), THREADS)
    starts = offsets_of(np.minimum(sizes, parameters.max_chains))
    rows = cuda.device_array((max(1, int(starts[-1])), COLUMNS), np.int64)
    scores, parents = (cuda.device_array(max(1, hits.anchors.size), np.int32) for _ in range(2))
    device_starts, found = cuda.to_device(starts), cuda.device_array(n, np.int64)
    if hits.anchors.size:
        chain_reads[grid](
            reads.read_offsets, hits.anchors, hits.anchor_offsets, contig_offsets, seed.k,
            parameters.max_gap, parameters.max_chains, round(1024 * parameters.drop), scores, parents,
            device_starts, rows, found,
        )  # fmt: skip
    ends = offsets_of(to_host(found) if hits.anchors.size else np.zeros(n, np.int64))
    chain_offsets, total = cuda.to_device(ends), int(ends[-1])
    start, stop = (cuda.device_array(total, np.int64) for _ in (START, STOP))
    query_start, query_stop = (cuda.device_array(total, np.int32) for _ in (QUERY_START, QUERY_STOP))
    score, anchors = (cuda.device_array(total, np.int32) for _ in (SCORE, ANCHORS))
    strand = cuda.device_array(total, np.uint8)
    if total:
        close_up[grid](device_starts, rows, chain_offsets, start, stop, query_start, query_stop, strand, score, anchors)
    return Chains(
        chain_offsets, start, stop, query_start, query_stop, strand, score, anchors, hits.repetitive, hits.status
    )


def to_host(array: Any) -> np.ndarray:
    host: np.ndarray = array.copy_to_host()
    return host


@cuda.jit
def chain_reads(
    read_offsets, anchors, anchor_offsets, contig_offsets, k, max_gap, max_chains, drop, scores, parents,
    starts, rows, found,
):  # fmt: skip
    """Chains of each read, in its own part of rows."""
    read = cuda.grid(1)
    if read >= found.size:
        return
    length, first, last = read_offsets[read + 1] - read_offsets[read], anchor_offsets[read], anchor_offsets[read + 1]
    best = rows[starts[read] : starts[read + 1]]
    number = chain_read(
        anchors[first:last], contig_offsets, length, k, max_gap, scores[first:last], parents[first:last], best
    )
    found[read] = keep(best, number, length, drop)


@cuda.jit(device=True)
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


@cuda.jit(device=True)
def chain_read(anchors, contig_offsets, length, k, max_gap, scores, parents, best):
    """Best chains of one read, in order; returns how many. Anchors that can be linked lie in one cluster."""
    found, stop, contig_stop = 0, 0, np.int64(0)
    while stop < anchors.size:
        start, strand = stop, strand_of(anchors[stop])
        reference, query = reference_of(anchors[start]), query_of(anchors[start])
        if reference >= contig_stop or strand != strand_of(anchors[start - 1]):
            contig_stop = contig_end(contig_offsets, reference)
        covered, on_one_diagonal, stop = k, True, start + 1
        while stop < anchors.size:
            step = reference_of(anchors[stop]) - reference
            if strand_of(anchors[stop]) != strand or step > length + max_gap or reference + step >= contig_stop:
                break
            query_step = query_of(anchors[stop]) - query
            on_one_diagonal &= step == query_step
            covered += min(k, query_step)
            reference, query = reference + step, query + query_step
            stop += 1
        if on_one_diagonal:
            found = insert(best, found, covered, anchors[start], anchors[stop - 1], stop - start, k)
        else:
            link_anchors(anchors[start:stop], k, max_gap, scores, parents)
            found = trace_chains(anchors[start:stop], k, scores, parents, best, found)
    return found


@cuda.jit(device=True)
def link_anchors(anchors, k, max_gap, scores, parents):
    """Score of the best chain that ends in each anchor, and the anchor before it there; the nearer one wins a tie."""
    for i in range(anchors.size):
        reference, query = reference_of(anchors[i]), query_of(anchors[i])
        score, parent = k, -1
        for j in range(i - 1, max(i - LOOKBACK, 0) - 1, -1):
            if scores[j] + k > score:
                gain = link(query - query_of(anchors[j]), reference - reference_of(anchors[j]), k, max_gap)
                if scores[j] + gain > score:
                    score, parent = scores[j] + gain, j
        scores[i], parents[i] = score, parent


@cuda.jit(device=True)
def trace_chains(anchors, k, scores, parents, best, found):
    """Chains by falling score of their last anchor; an anchor belongs to one (its score is then negative)."""
    for _ in range(CLUSTER_CHAINS):
        last = 0
        for i in range(1, anchors.size):
            if scores[i] > scores[last]:
                last = i
        if scores[last] < k:
            break
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


@cuda.jit(device=True)
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


@cuda.jit(device=True)
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


@cuda.jit(device=True)
def copy_row(rows, source, target):
    for column in range(COLUMNS):
        rows[target, column] = rows[source, column]


@cuda.jit
def close_up(
    starts, rows, chain_offsets, reference_start, reference_stop, query_start, query_stop, strand, score, anchors
):
    """Rows of each read to columns, without the room of those that were not needed."""
    read = cuda.grid(1)
    if read >= starts.size - 1:
        return
    for i in range(chain_offsets[read], chain_offsets[read + 1]):
        row = starts[read] + i - chain_offsets[read]
        reference_start[i], reference_stop[i] = rows[row, START], rows[row, STOP]
        query_start[i], query_stop[i] = rows[row, QUERY_START], rows[row, QUERY_STOP]
        strand[i], score[i], anchors[i] = rows[row, STRAND], rows[row, SCORE], rows[row, ANCHORS]
