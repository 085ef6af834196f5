"""Trace back the chains of each read on the host, from anchor to anchor."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import LongChains, SeedHits
from readwarp.align.chain.scalar import ChainLinks
from readwarp.compiler.jit import kernel
from readwarp.config import LongChainParameters
from readwarp.ragged import empty, offsets_of, take


class TracedChains(NamedTuple):
    """Chains found so far, with room for more."""

    found: Annotated[ndarray, "int64 [reads]"]  # number of chains
    sizes: Annotated[ndarray, "int64 [chains]"]  # number of anchors
    score: Annotated[ndarray, "int32 [chains]"]
    anchors: Annotated[ndarray, "uint64 [anchors]"]


def trace_links(hits: SeedHits, links: ChainLinks, k: int, parameters: LongChainParameters) -> LongChains:
    """Trace the chains in order, consuming the scores of `links`."""
    sizes = np.diff(hits.anchor_offsets)
    reads = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((-links.scores, reads))
    least = max(1, parameters.min_anchors)
    room = hits.anchors.size // least
    traced = empty(TracedChains, {"reads": sizes.size, "chains": room, "anchors": hits.anchors.size})
    trace_reads(hits, order, links, (parameters.min_score, least, k), traced)
    chain_offsets = offsets_of(traced.found)
    total = int(chain_offsets[-1])
    anchor_offsets = offsets_of(traced.sizes[:total])
    chains = LongChains(chain_offsets, anchor_offsets, traced.anchors[: anchor_offsets[-1]], traced.score[:total])
    first = chains.anchors[anchor_offsets[:-1]]
    best_first = np.lexsort((first, -chains.score, np.repeat(np.arange(sizes.size), traced.found)))
    return take(chains, "chains", best_first)


@kernel
def trace_reads(hits, order, links, limits, traced):
    """Write the chains of each read, by descending score of their last anchors; scores of taken anchors turn negative.

    A branch begins anew where the score is lowest on the way back to the chain it leaves: what lies before costs more
    than it brings. Those anchors remain for other chains.
    """
    anchor_offsets, (scores, parents) = hits.anchor_offsets, links
    min_score, min_anchors, k = limits
    row = place = 0
    for read in range(anchor_offsets.size - 1):
        before = row
        for rank in range(anchor_offsets[read], anchor_offsets[read + 1]):
            end = order[rank]
            highest = lowest = scores[end]
            if highest < 0:
                continue
            if highest < min_score:
                break
            i, walked = end, 0
            size = 0
            while i >= 0 and scores[i] > 0:
                walked += 1
                if scores[i] <= lowest:
                    lowest, size = scores[i], walked
                i = np.int64(parents[i])
            i, score = end, highest - lowest + k
            is_kept = size >= min_anchors and score >= min_score
            for at in range(place + size - 1, place - 1, -1):
                if is_kept:
                    traced.anchors[at] = hits.anchors[i]
                scores[i] = -scores[i]
                i = np.int64(parents[i])
            if is_kept:
                traced.sizes[row], traced.score[row] = size, score
                row, place = row + 1, place + size
        traced.found[read] = row - before
