"""Links of long reads on the CPU, stretch by stretch."""

import numpy as np
from numpy import ndarray

from readwarp.align.batches import LongChains, SeedHits
from readwarp.align.chain.cpu import link_anchors
from readwarp.align.chain.scalar import ChainLinks
from readwarp.align.long.chain.scalar import rules_of
from readwarp.align.long.chain.stretches import find_stretches
from readwarp.align.long.chain.trace import trace_links
from readwarp.compiler.jit import kernel
from readwarp.config import LongChainParameters


def chain_hits(hits: SeedHits, contig_offsets: ndarray, k: int, parameters: LongChainParameters) -> LongChains:
    rules = rules_of(k, parameters)
    links = ChainLinks(*(np.empty(hits.anchors.size, np.int32) for _ in range(2)))
    link_stretches(hits.anchors, find_stretches(hits, contig_offsets, rules), rules, links)
    return trace_links(hits, links, k, parameters)


@kernel
def link_stretches(anchors, stretches, rules, links):
    for stretch in range(stretches.size - 1):
        link_anchors(anchors, stretches[stretch], stretches[stretch + 1], rules, links)
