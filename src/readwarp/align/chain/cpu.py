"""Chains on the CPU: one read after the other, each in one pass over its anchors where they lie on one diagonal."""

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
    contig_end,
    insert,
    keep,
    link,
    query_of,
    reference_of,
    strand_of,
    trace_back,
)
from readwarp.batches import Chains, ReadBatch, SeedHits
from readwarp.config import ChainParameters, SeedParameters
from readwarp.device.jit import kernel


def chain_hits(
    reads: ReadBatch, hits: SeedHits, contig_offsets: np.ndarray, seed: SeedParameters, parameters: ChainParameters
) -> Chains:
    sizes = np.diff(hits.anchor_offsets)
    room = int(np.minimum(sizes, parameters.max_chains).sum())
    rows = np.empty((room, COLUMNS), np.int64)
    chain_offsets = np.zeros(sizes.size + 1, np.int64)
    scores, parents = (np.empty(int(sizes.max(initial=0)), np.int32) for _ in range(2))
    chain_reads(
        reads.read_offsets, hits.anchors, hits.anchor_offsets, contig_offsets, seed.k,
        parameters.max_gap, parameters.max_chains, round(1024 * parameters.drop), scores, parents, chain_offsets, rows,
    )  # fmt: skip
    return packed_chains(hits, chain_offsets, rows[: chain_offsets[-1]])


def packed_chains(hits: SeedHits, chain_offsets: np.ndarray, rows: np.ndarray) -> Chains:
    """Rows of chains -> the type that travels."""
    return Chains(
        chain_offsets,
        reference_start=rows[:, START].copy(),
        reference_stop=rows[:, STOP].copy(),
        query_start=rows[:, QUERY_START].astype(np.int32),
        query_stop=rows[:, QUERY_STOP].astype(np.int32),
        strand=rows[:, STRAND].astype(np.uint8),
        score=rows[:, SCORE].astype(np.int32),
        anchors=rows[:, ANCHORS].astype(np.int32),
        repetitive=hits.repetitive,
        status=hits.status,
    )


@kernel
def chain_reads(
    read_offsets, anchors, anchor_offsets, contig_offsets, k, max_gap, max_chains, drop, scores, parents,
    chain_offsets, rows,
):  # fmt: skip
    """Chains of each read, one read behind the other; scores and parents are room for one read's anchors."""
    first = 0
    for read in range(anchor_offsets.size - 1):
        length = read_offsets[read + 1] - read_offsets[read]
        mine = anchors[anchor_offsets[read] : anchor_offsets[read + 1]]
        best = rows[first : first + min(mine.size, max_chains)]
        found = chain_read(mine, contig_offsets, length, k, max_gap, scores, parents, best)
        first += keep(best, found, length, drop)
        chain_offsets[read + 1] = first


@kernel
def chain_read(anchors, contig_offsets, length, k, max_gap, scores, parents, best):
    """Best chains of one read, in order; returns how many. Anchors that can be linked lie in one cluster."""
    found, stop, contig_stop = np.int64(0), np.int64(0), np.int64(0)
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


@kernel
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


@kernel
def trace_chains(anchors, k, scores, parents, best, found):
    """Chains by falling score of their last anchor; an anchor belongs to one (its score is then negative)."""
    for _ in range(CLUSTER_CHAINS):
        last = 0
        for i in range(1, anchors.size):
            if scores[i] > scores[last]:
                last = i
        if scores[last] < k:
            break
        found = trace_back(anchors, k, scores, parents, best, found, last)
    return found
