"""Links of long reads on the CPU, stretch by stretch."""

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import query_of, reference_of
from readwarp.align.batches import LongChains, SeedHits
from readwarp.align.chain.scalar import ChainLinks
from readwarp.align.long.chain.scalar import DENSE_LOOKBACK, LOOKBACK, NEAR, limits_of, link
from readwarp.align.long.chain.stretches import find_stretches
from readwarp.align.long.chain.trace import trace_links
from readwarp.compiler.jit import kernel
from readwarp.config import LongChainParameters


def chain_hits(hits: SeedHits, contig_offsets: ndarray, k: int, parameters: LongChainParameters) -> LongChains:
    limits = limits_of(k, parameters)
    links = ChainLinks(*(np.empty(hits.anchors.size, np.int32) for _ in range(2)))
    link_stretches(hits.anchors, find_stretches(hits, contig_offsets, limits), limits, links)
    return trace_links(hits, links, k, parameters)


@kernel
def link_stretches(anchors, stretches, limits, links):
    """Find the best chain that ends in each anchor, its score and previous anchor; ties go to the nearer one."""
    (scores, parents), k = links, limits.k
    for stretch in range(stretches.size - 1):
        start, stop = stretches[stretch], stretches[stretch + 1]
        for i in range(start, stop):
            reference, query = reference_of(anchors[i]), query_of(anchors[i])
            score, parent = k, -1
            for j in range(i - 1, max(i - DENSE_LOOKBACK, start) - 1, -1):
                if i - j > LOOKBACK and reference - reference_of(anchors[j]) > NEAR:
                    break
                if scores[j] + k > score:
                    on_query, on_reference = query - query_of(anchors[j]), reference - reference_of(anchors[j])
                    gained = scores[j] + link(on_query, on_reference, limits)
                    if gained > score:
                        score, parent = gained, j
            scores[i], parents[i] = score, parent
