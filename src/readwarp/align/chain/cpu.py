"""Chains on the CPU: read by read, in one pass over the anchors where all lie on one diagonal."""

import numpy as np

from readwarp.align.anchors import query_of, reference_of, strand_of
from readwarp.align.batches import Chains, SeedHits
from readwarp.align.chain import scalar as rule
from readwarp.align.chain.scalar import ChainLinks
from readwarp.align.places import contig_of
from readwarp.compiler.jit import kernel
from readwarp.config import ChainParameters, SeedParameters
from readwarp.formats.common.reads import ReadBatch


def chain_hits(
    reads: ReadBatch, hits: SeedHits, contig_offsets: np.ndarray, seed: SeedParameters, parameters: ChainParameters
) -> Chains:
    sizes, settled = np.diff(hits.anchor_offsets), hits.settled.copy()
    rows = np.empty((int(np.minimum(sizes, parameters.max_chains).sum()), rule.COLUMNS), np.int64)
    offsets = np.zeros(sizes.size + 1, np.int64)
    links = ChainLinks(*(np.empty(int(sizes.max(initial=0)), np.int32) for _ in range(2)))
    limits = rule.limits_of(seed, parameters)
    chain_reads(reads.read_offsets, hits, contig_offsets, limits, links, offsets, rows, settled)
    columns = [column.astype(dtype) for column, dtype in zip(rows[: offsets[-1]].T, rule.COLUMN_TYPES, strict=True)]
    return Chains(*[offsets, *columns, hits.repetitive, settled, hits.status])


@kernel
def chain_reads(read_offsets, hits, contig_offsets, limits, links, chain_offsets, rows, settled):
    """Write the chains of each read to `rows`; clear `settled` where one may hide another. links: room for a read."""
    anchor_offsets, first = hits.anchor_offsets, 0
    for read in range(anchor_offsets.size - 1):
        length = read_offsets[read + 1] - read_offsets[read]
        mine = hits.anchors[anchor_offsets[read] : anchor_offsets[read + 1]]
        best = rows[first : first + min(mine.size, limits.max_chains)]
        found, is_complete = chain_read(mine, contig_offsets, length, limits, links, best)
        settled[read] &= is_complete
        first += rule.drop_weak(best, found, length, limits.drop)
        chain_offsets[read + 1] = first


@kernel
def chain_read(anchors, contig_offsets, length, limits, links, best):
    """Find the best chains of one read, in order; return their number, and whether each cluster is one place.

    Anchors that can be linked form a cluster.
    """
    found = stop = np.int64(0)
    contig_stop, is_complete = np.int64(0), True
    while stop < anchors.size:
        start, reference = stop, reference_of(anchors[stop])
        if reference >= contig_stop or strand_of(anchors[start]) != strand_of(anchors[start - 1]):
            contig_stop = contig_offsets[contig_of(contig_offsets, reference) + 1]
        stop, covered, on_one_diagonal = rule.cluster_from(anchors, start, length, contig_stop, limits)
        if on_one_diagonal:
            found = rule.insert(best, found, covered, anchors[start], anchors[stop - 1], limits.rules.k)
        else:
            is_complete &= rule.have_one_place(anchors[start:stop])
            link_anchors(anchors[start:stop], 0, stop - start, limits.rules, links)
            found = trace_chains(anchors[start:stop], limits.rules.k, links, best, found)
    return found, is_complete


@kernel
def link_anchors(anchors, start, stop, rules, links):
    """Find the best chain that ends in each of the linkable anchors[start:stop]: its score and previous anchor.

    Ties go to the nearer one.
    """
    (scores, parents), k = links, rules.k
    for i in range(start, stop):
        reference, query = reference_of(anchors[i]), query_of(anchors[i])
        score, parent = k, -1
        for j in range(i - 1, max(i - rules.dense_lookback, start) - 1, -1):
            if i - j > rules.lookback and reference - reference_of(anchors[j]) > rules.near:
                break
            if scores[j] + k > score:
                gain = rule.link(query - query_of(anchors[j]), reference - reference_of(anchors[j]), rules)
                if scores[j] + gain > score:
                    score, parent = scores[j] + gain, j
        scores[i], parents[i] = score, parent


@kernel
def trace_chains(anchors, k, links, best, found):
    """Trace chains back by descending score of their last anchors; each anchor belongs to one chain."""
    scores = links.scores
    for _ in range(rule.CLUSTER_CHAINS):
        last = 0
        for i in range(1, anchors.size):
            if scores[i] > scores[last]:
                last = i
        if scores[last] < k:
            break
        first, score = rule.trace_back(links, last)
        if score >= k:
            found = rule.insert(best, found, score, anchors[first], anchors[last], k)
    return found
