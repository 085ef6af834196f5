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
    Links,
    cluster_from,
    contig_end,
    insert,
    keep,
    limits_of,
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
    rows = np.empty((int(np.minimum(sizes, parameters.max_chains).sum()), COLUMNS), np.int64)
    offsets = np.zeros(sizes.size + 1, np.int64)
    links = Links(*(np.empty(int(sizes.max(initial=0)), np.int32) for _ in range(2)))
    chain_reads(reads.read_offsets, hits, contig_offsets, limits_of(seed, parameters), links, offsets, rows)
    rows = rows[: offsets[-1]]
    return Chains(
        offsets,
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
def chain_reads(read_offsets, hits, contig_offsets, limits, links, chain_offsets, rows):
    """Chains of each read, one read after the other; links: room for one read's anchors."""
    anchors, anchor_offsets, first = hits.anchors, hits.anchor_offsets, 0
    for read in range(anchor_offsets.size - 1):
        length = read_offsets[read + 1] - read_offsets[read]
        mine = anchors[anchor_offsets[read] : anchor_offsets[read + 1]]
        best = rows[first : first + min(mine.size, limits.max_chains)]
        found = chain_read(mine, contig_offsets, length, limits, links, best)
        first += keep(best, found, length, limits.drop)
        chain_offsets[read + 1] = first


@kernel
def chain_read(anchors, contig_offsets, length, limits, links, best):
    """Best chains of one read, in order; returns how many. Anchors that can be linked lie in one cluster."""
    found, stop, contig_stop, k = np.int64(0), np.int64(0), np.int64(0), limits.k
    while stop < anchors.size:
        start, reference = stop, reference_of(anchors[stop])
        if reference >= contig_stop or strand_of(anchors[start]) != strand_of(anchors[start - 1]):
            contig_stop = contig_end(contig_offsets, reference)
        stop, covered, on_one_diagonal = cluster_from(anchors, start, length, contig_stop, limits)
        if on_one_diagonal:
            found = insert(best, found, covered, anchors[start], anchors[stop - 1], stop - start, k)
        else:
            link_anchors(anchors[start:stop], limits, links)
            found = trace_chains(anchors[start:stop], k, links, best, found)
    return found


@kernel
def link_anchors(anchors, limits, links):
    """Score of the best chain that ends in each anchor, and the anchor before it there; the nearer one wins a tie."""
    (scores, parents), k, max_gap = links, limits.k, limits.max_gap
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
def trace_chains(anchors, k, links, best, found):
    """Chains by falling score of their last anchor; an anchor belongs to one."""
    scores = links.scores
    for _ in range(CLUSTER_CHAINS):
        last = 0
        for i in range(1, anchors.size):
            if scores[i] > scores[last]:
                last = i
        if scores[last] < k:
            break
        found = trace_back(anchors, k, links, best, found, last)
    return found
