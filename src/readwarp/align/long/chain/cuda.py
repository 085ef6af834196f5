"""Links of long reads on CUDA: a warp per stretch of anchors, the longest first.

A warp takes WARP anchors at a time, one per thread. It links them among each other one by one, passing the score of
each to the threads after it. Their scores are then final, and their links to later anchors are tried WARP at a time,
without waiting. An anchor is offered links in ascending order, so the last of equals is the nearest. Each thread reads
and writes only its own anchors, those with its number modulo WARP.
"""

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import query_of, reference_of
from readwarp.align.batches import LongChains, SeedHits
from readwarp.align.chain.scalar import ChainLinks, LinkRules, link
from readwarp.align.long.chain.scalar import DENSE_LOOKBACK, LOOKBACK, NEAR, rules_of
from readwarp.align.long.chain.stretches import find_stretches
from readwarp.align.long.chain.trace import trace_links
from readwarp.config import LongChainParameters
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP, warps_for
from readwarp.device.memory import current
from readwarp.device.staging import rounded


def chain_hits(hits: SeedHits, contig_offsets: ndarray, k: int, parameters: LongChainParameters) -> LongChains:
    """See cpu.chain_hits. Inputs and results are on the host."""
    rules = rules_of(k, parameters)
    stretches = find_stretches(hits, contig_offsets, rules)
    return trace_links(hits, link_hits(hits.anchors, stretches, rules), k, parameters)


def link_hits(anchors: ndarray, stretches: ndarray, rules: LinkRules) -> ChainLinks:
    order = np.argsort(-np.diff(stretches), kind="stable").astype(np.int32)
    with current().frame() as workspace:
        there, stretches, order = workspace.on_card((anchors, stretches, order))
        links = ChainLinks(*(workspace.empty(anchors.size, np.int32) for _ in range(2)))
        narrow = LinkRules(*(np.int32(rule) for rule in rules))  # type: ignore[arg-type]
        link_stretches[warps_for(order.size, workspace)](there, stretches, order, narrow, links)
        return ChainLinks(*workspace.download(*links))


def device_bytes(anchors: int, stretches: int) -> int:
    """Return the peak bytes of the workspace."""
    return rounded(8 * anchors) + rounded(8 * (stretches + 1)) + rounded(4 * stretches) + 2 * rounded(4 * anchors)


@cuda_kernel
def link_stretches(anchors, stretches, order, rules, links):
    """See cpu.link_stretches. Anchors of a stretch are numbered from its first one."""
    if cuda.blockIdx.x >= order.size:
        return
    stretch, lane = order[cuda.blockIdx.x], np.int32(cuda.threadIdx.x)
    start = stretches[stretch]
    size = np.int32(stretches[stretch + 1] - start)
    anchors, links = anchors[start:], ChainLinks(links.scores[start:], links.parents[start:])
    (scores, parents), k = links, rules.k
    for each in range(lane, size, WARP):
        scores[each], parents[each] = k, -1
    for tile in range(0, size, WARP):
        first = np.int32(tile)
        i = min(np.int32(first + lane), np.int32(size - 1))
        anchor, best = place_of(anchors[i]), (scores[i], parents[i])
        for step in range(min(np.int32(first + WARP), size) - first - 1):
            earlier = passed_on(anchor, best[0], np.int32(step))
            best = better(best, anchor, earlier, np.int32(first + step), lane > step, rules)
        score, parent = best
        if first + lane < size:
            scores[i], parents[i] = score, start + parent if parent >= 0 else -1
        offer(anchors, links, (anchor, score), (first, size, lane), rules)


@cuda.jit(device=True)
def place_of(anchor):
    """Return (reference, query), the reference modulo 2^32.

    Anchors that are compared are less than 2^31 bases apart, since
    of DENSE_LOOKBACK anchors in a stretch no two neighbours are further apart than `max_step + max_gap`.
    """
    return np.int32(reference_of(anchor)), np.int32(query_of(anchor))


@cuda.jit(device=True)
def passed_on(anchor, score, lane):
    """Return the (reference, query, score) of thread `lane`."""
    everyone = 0xFFFFFFFF
    reference, query = cuda.shfl_sync(everyone, anchor[0], lane), cuda.shfl_sync(everyone, anchor[1], lane)
    return reference, query, cuda.shfl_sync(everyone, score, lane)


@cuda.jit(device=True)
def better(best, anchor, earlier, number, is_offered, rules):
    """Return the better (score, previous anchor): `best`, or through anchor `number`, which wins ties."""
    (score, parent), (reference, query, through) = best, earlier
    gained = np.int32(through + link(np.int32(anchor[1] - query), np.int32(anchor[0] - reference), rules))
    if is_offered and gained > rules.k and gained >= score:
        return gained, number
    return score, parent


@cuda.jit(device=True)
def offer(anchors, links, linked, places, rules):
    """Offer links from WARP anchors, starting at `first`, to later ones. linked: this thread's (anchor, score)."""
    scores, parents = links
    (anchor, score), (first, size, lane) = linked, places
    last = cuda.shfl_sync(0xFFFFFFFF, anchor[0], WARP - 1)
    for begin in range(first + WARP, min(size, np.int32(first + DENSE_LOOKBACK + WARP)), WARP):
        i = min(np.int32(begin + lane), np.int32(size - 1))
        later, best = place_of(anchors[i]), (scores[i], parents[i])
        distance = np.int32(begin - first)
        if distance >= LOOKBACK + WARP and np.int32(cuda.shfl_sync(0xFFFFFFFF, later[0], 0) - last) > NEAR:
            break
        for step in range(WARP):
            earlier, back = passed_on(anchor, score, np.int32(step)), np.int32(distance + lane - step)
            is_near = np.int32(later[0] - earlier[0]) <= NEAR and back <= DENSE_LOOKBACK
            best = better(best, later, earlier, np.int32(first + step), back <= LOOKBACK or is_near, rules)
        if begin + lane < size:
            scores[i], parents[i] = best
