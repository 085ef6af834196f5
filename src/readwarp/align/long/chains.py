"""Chains of long reads: those of align/chain, with longer gaps, as many as there are, and with their anchors.

    chain_hits(hits: SeedHits, contig_offsets: int64 [c + 1], k, parameters: LongChainParameters) -> LongChains

The recurrence and its ties are those of align/chain, with `max_gap`; but in tandem repeats, where anchors are dense, an
anchor is linked to more of them, and a gap costs so much that no chain leaves its diagonal for a few seeds. Anchors can
be linked if they are at most `max_step` bases apart on the read or on the reference, and no two neighbours among those
between them, of one strand and contig, are more than `max_step + max_gap` bases of the reference apart.

Chains are traced back from the highest score down (ties: the first anchor); an anchor belongs to one chain, and a chain
that branches off another is scored without the shared part. Chains of less than `min_score` or `min_anchors` are
dropped. The chains of a read are in the order of score, then of their first anchors.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import query_of, reference_of, strand_of
from readwarp.align.chain.scalar import LOOKBACK, Links
from readwarp.align.places import contig_of
from readwarp.batches import LongChains, SeedHits
from readwarp.config import LongChainParameters
from readwarp.device.jit import kernel, scalar
from readwarp.ragged import offsets_of, take

NEAR, DENSE_LOOKBACK = 256, 1024  # bases within which an anchor is compared with more than LOOKBACK, and with how many
STEEP = 64  # bases of a gap that cost as much as in an alignment; the others cost an eighth


class Limits(NamedTuple):
    """Of links; see `config.LongChainParameters`."""

    k: int
    max_gap: int
    max_step: int


class Traced(NamedTuple):
    """Chains as they are found, with room for more."""

    found: Annotated[ndarray, "int64 [reads]"]  # chains
    sizes: Annotated[ndarray, "int64 [chains]"]  # anchors
    score: Annotated[ndarray, "int32 [chains]"]
    anchors: Annotated[ndarray, "uint64 [anchors]"]


def chain_hits(hits: SeedHits, contig_offsets: ndarray, k: int, parameters: LongChainParameters) -> LongChains:
    sizes = np.diff(hits.anchor_offsets)
    links = Links(*(np.empty(hits.anchors.size, np.int32) for _ in range(2)))
    link_reads(hits, contig_offsets, Limits(k, parameters.max_gap, parameters.max_step), links)
    reads = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((-links.scores, reads))
    least = max(1, parameters.min_anchors)
    room = hits.anchors.size // least
    traced = Traced(
        np.empty(sizes.size, np.int64), np.empty(room, np.int64), np.empty(room, np.int32), np.empty_like(hits.anchors)
    )
    trace_reads(hits, order, links, (parameters.min_score, least), traced)
    chain_offsets = offsets_of(traced.found)
    total = int(chain_offsets[-1])
    anchor_offsets = offsets_of(traced.sizes[:total])
    chains = LongChains(chain_offsets, anchor_offsets, traced.anchors[: anchor_offsets[-1]], traced.score[:total])
    first = chains.anchors[anchor_offsets[:-1]]
    best_first = np.lexsort((first, -chains.score, np.repeat(np.arange(sizes.size), traced.found)))
    return take(chains, "chains", best_first)


@scalar
def gap_cost(gap):
    """Of a change of diagonal by `gap` bases."""
    return 0 if gap == 0 else 5 + min(gap, STEEP) + (max(gap - STEEP, 0) >> 3)


@kernel
def link_anchors(anchors, limits, links):
    """The best chain that ends in each anchor: its score and previous anchor; the nearer one wins a tie."""
    (scores, parents), (k, max_gap, max_step) = links, limits
    for i in range(anchors.size):
        reference, query = reference_of(anchors[i]), query_of(anchors[i])
        score, parent = k, -1
        for j in range(i - 1, max(i - DENSE_LOOKBACK, 0) - 1, -1):
            if i - j > LOOKBACK and reference - reference_of(anchors[j]) > NEAR:
                break
            if scores[j] + k > score:
                on_query, on_reference = query - query_of(anchors[j]), reference - reference_of(anchors[j])
                gap = abs(on_reference - on_query)
                if on_query > 0 and on_reference > 0 and gap <= max_gap and min(on_query, on_reference) <= max_step:
                    gained = scores[j] + min(k, min(on_query, on_reference)) - gap_cost(gap)
                    if gained > score:
                        score, parent = gained, j
        scores[i], parents[i] = score, parent


@kernel
def link_reads(hits, contig_offsets, limits, links):
    """The best chain that ends in each anchor -> links; parents are numbered within the batch."""
    anchors, anchor_offsets, (scores, parents) = hits.anchors, hits.anchor_offsets, links
    for read in range(anchor_offsets.size - 1):
        stop, last = anchor_offsets[read], anchor_offsets[read + 1]
        while stop < last:
            start, strand, reference = stop, strand_of(anchors[stop]), reference_of(anchors[stop])
            contig_stop = contig_offsets[contig_of(contig_offsets, reference) + 1]
            while stop < last:
                following = reference_of(anchors[stop])
                is_far = following - reference > limits.max_step + limits.max_gap or following >= contig_stop
                if is_far or strand_of(anchors[stop]) != strand:
                    break
                reference = following
                stop += 1
            link_anchors(anchors[start:stop], limits, Links(scores[start:stop], parents[start:stop]))
            for i in range(start, stop):
                if parents[i] >= 0:
                    parents[i] += start


@kernel
def trace_reads(hits, order, links, limits, traced):
    """Chains of each read, by descending score of their last anchors -> traced. Taken anchors get negative scores."""
    anchors, anchor_offsets, (scores, parents) = hits.anchors, hits.anchor_offsets, links
    (min_score, min_anchors), row, place = limits, 0, 0
    for read in range(anchor_offsets.size - 1):
        before = row
        for rank in range(anchor_offsets[read], anchor_offsets[read + 1]):
            i = end = order[rank]
            if 0 < scores[end] < min_score:
                break
            size = 0
            while i >= 0 and scores[i] > 0:
                scores[i] = -scores[i]
                i = np.int64(parents[i])
                size += 1
            score = -scores[end] + (scores[i] if i >= 0 else 0)
            if size < min_anchors or score < min_score:
                continue
            traced.sizes[row], traced.score[row] = size, score
            i = end
            for at in range(place + size - 1, place - 1, -1):
                traced.anchors[at] = anchors[i]
                i = np.int64(parents[i])
            row, place = row + 1, place + size
        traced.found[read] = row - before
