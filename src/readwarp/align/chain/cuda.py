"""Chains on CUDA: a warp per read, in the passes of cpu.py; then the gaps between the rows of reads are closed.

All threads of a warp go through a read's anchors together. They share the links of an anchor to earlier ones, the
search for the best chain end, and the rows that a chain moves when it is inserted. A read has at most as many chains as
anchors, so its chains use the rows of its anchors.
"""

from typing import Any

import numpy as np

from readwarp.align.anchors import query_of, reference_of, strand_of
from readwarp.align.batches import Chains, SeedHits
from readwarp.align.chain import scalar as rule
from readwarp.align.chain.scalar import COLUMNS
from readwarp.align.places import contig_of
from readwarp.config import ChainParameters, SeedParameters
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP, threads_for, warps_for
from readwarp.device.cuda_scan import total_of
from readwarp.device.gather import add_up
from readwarp.device.instructions import highest_of
from readwarp.device.memory import current
from readwarp.device.staging import rounded
from readwarp.formats.common.reads import ReadBatch

NEARNESS_BITS = 7  # low bits of a link's rank: how near the anchors are (up to LOOKBACK); above them, its score
LAST, ALL = 0x7FFFFFFF, 0xFFFFFFFF  # the last anchor; threads of a warp


def chain_hits(
    reads: ReadBatch, hits: SeedHits, contig_offsets: Any, seed: SeedParameters, parameters: ChainParameters
) -> Chains:
    """See cpu.chain_hits. All batches are on the device; the chains stay until the caller's outermost frame ends."""
    workspace, n = current(), hits.status.size
    offsets, repetitive = workspace.keep(n + 1, np.int64), workspace.keep(n, np.int32)
    settled, status = (workspace.keep(n, np.uint8) for _ in range(2))
    with workspace.frame():
        rows = workspace.empty((hits.anchors.size, COLUMNS), np.int64)
        links = rule.ChainLinks(*(workspace.empty(hits.anchors.size, np.int32) for _ in range(2)))
        found, limits = workspace.empty(n, np.int32), rule.limits_of(seed, parameters)
        given, of_reads = (reads.read_offsets, hits, contig_offsets), (found, repetitive, settled, status)
        chain_reads[warps_for(n, workspace)](*given, limits, links, rows, of_reads)
        add_up(n, offsets, found)
        total = total_of(offsets, workspace)
        columns = [workspace.keep(total, dtype) for dtype in rule.COLUMN_TYPES]
        chains = Chains(*[offsets, *columns, repetitive, settled, status])
        close_up[threads_for(n, workspace)](hits.anchor_offsets, rows, chains)
    return chains


def device_bytes(reads: int, anchors: int) -> int:
    """Return the peak bytes of the workspace, hits and chains excluded."""
    return rounded(8 * COLUMNS * anchors) + 2 * rounded(4 * anchors) + rounded(4 * reads)


def kept_bytes(reads: int, chains: int) -> int:
    """Return the bytes of chains."""
    columns = sum(rounded(np.dtype(dtype).itemsize * chains) for dtype in rule.COLUMN_TYPES)
    return columns + rounded(8 * (reads + 1)) + rounded(4 * reads) + 2 * rounded(reads)


@cuda_kernel
def chain_reads(read_offsets, hits, contig_offsets, limits, links, rows, of_reads):
    """Write the best chains of each read to its part of `rows`.

    of_reads: their number, and what else `Chains` says of the read.
    """
    found, repetitive, settled, status = of_reads
    read, lane = cuda.blockIdx.x, cuda.threadIdx.x
    if read >= found.size:
        return
    first, last = hits.anchor_offsets[read], hits.anchor_offsets[read + 1]
    length = read_offsets[read + 1] - read_offsets[read]
    best = rows[first : first + min(last - first, limits.max_chains)]
    mine = rule.ChainLinks(links.scores[first:last], links.parents[first:last])
    number, is_complete = chain_read(hits.anchors[first:last], contig_offsets, length, limits, mine, best, lane)
    if lane == 0:
        settled[read] = hits.settled[read] if is_complete else 0
        repetitive[read], status[read] = hits.repetitive[read], hits.status[read]
        found[read] = rule.drop_weak(best, number, length, limits.drop)


@cuda.jit(device=True)
def chain_read(anchors, contig_offsets, length, limits, links, best, lane):
    """See cpu.chain_read."""
    found = stop = 0
    contig_stop, is_complete = np.int64(0), True
    while stop < anchors.size:
        start, reference = stop, reference_of(anchors[stop])
        if reference >= contig_stop or strand_of(anchors[start]) != strand_of(anchors[start - 1]):
            contig_stop = contig_offsets[contig_of(contig_offsets, reference) + 1]
        stop, covered, on_one_diagonal = rule.cluster_from(anchors, start, length, contig_stop, limits)
        if not on_one_diagonal:
            is_complete &= rule.have_one_place(anchors[start:stop])
            link_anchors(anchors[start:stop], limits.rules, links, lane)
            found = trace_chains(anchors[start:stop], limits.rules.k, links, best, found, lane)
        else:
            found = insert(best, found, covered, anchors[start], anchors[stop - 1], limits.rules.k, lane)
    return found, is_complete


@cuda.jit(device=True)
def link_anchors(anchors, rules, links, lane):
    """See cpu.link_anchors. Thread j % WARP keeps anchors j and j - WARP of the last LOOKBACK and their scores, so that
    nothing is read twice (score 0: no anchor); the threads exchange their best ranks.
    """
    (scores, parents), k = links, rules.k
    near_reference = far_reference = np.int64(0)
    near_query = far_query = np.int64(0)
    near_score = far_score = np.int32(0)
    for i in range(anchors.size):
        reference, query = reference_of(anchors[i]), query_of(anchors[i])
        nearest = np.int32(rule.LOOKBACK - 1 - ((i - 1 - lane) & (WARP - 1)))
        score, nearness = np.int32(k), np.int32(0)
        if near_score > 0:
            gained = np.int32(near_score + rule.link(query - near_query, reference - near_reference, rules))
            if gained > score:
                score, nearness = gained, nearest
        if far_score + k > score:
            gained = np.int32(far_score + rule.link(query - far_query, reference - far_reference, rules))
            if gained > score:
                score, nearness = gained, np.int32(nearest - WARP)
        rank = highest_of(np.int32(score << NEARNESS_BITS | nearness if score > k else 0))
        score = np.int32(rank >> NEARNESS_BITS if rank > 0 else k)
        if lane == i % WARP:
            far_reference, far_query, far_score = near_reference, near_query, near_score
            near_reference, near_query, near_score = np.int64(reference), np.int64(query), score
        if lane == 0:
            scores[i] = score
            parents[i] = i - rule.LOOKBACK + (rank & ((1 << NEARNESS_BITS) - 1)) if rank > 0 else -1
    cuda.syncthreads()


@cuda.jit(device=True)
def trace_chains(anchors, k, links, best, found, lane):
    """Trace chains back by descending score of their last anchors; each anchor belongs to one chain."""
    scores = links.scores
    for _ in range(rule.CLUSTER_CHAINS):
        last = best_end(scores, anchors.size, lane)
        if scores[last] < k:
            break
        cuda.syncthreads()
        first = score = np.int32(0)
        if lane == 0:
            first, score = rule.trace_back(links, last)
        first, score = cuda.shfl_sync(ALL, np.int32(first), 0), cuda.shfl_sync(ALL, np.int32(score), 0)
        if score >= k:
            found = insert(best, found, score, anchors[first], anchors[last], k, lane)
        cuda.syncthreads()
    cuda.syncthreads()
    return found


@cuda.jit(device=True)
def best_end(scores, size, lane):
    """Find the first anchor with the highest score, using all threads."""
    best = np.int64(-1) << 62
    for i in range(lane, size, WARP):
        best = max(best, np.int64(scores[i]) << 32 | (LAST - i))
    return np.int32(LAST - (highest_of(best) & LAST))


@cuda.jit(device=True)
def insert(best, found, score, first, last, k, lane):
    """See rule.insert. Each thread compares with a row and moves it; rows are read before any of them is written."""
    start, query = reference_of(first), query_of(first)
    place, stop = 0, min(found, best.shape[0] - 1)  # the last of all rows has nowhere to go
    for begin in range(0, found, WARP):
        row = begin + lane
        precedes = row < found and not rule.is_before(best, row, score, strand_of(first), start, query)
        place += cuda.popc(cuda.ballot_sync(ALL, precedes))
    moved = cuda.local.array(COLUMNS, np.int64)
    for begin in range(WARP * ((stop - 1) // WARP), place - WARP, -WARP):
        row = begin + lane
        for column in range(COLUMNS):
            moved[column] = best[min(row, stop - 1), column]
        cuda.syncthreads()
        if place <= row < stop:
            for column in range(COLUMNS):
                best[row + 1, column] = moved[column]
        cuda.syncthreads()
    if lane == 0 and place < best.shape[0]:
        rule.set_row(best, place, score, first, last, k)
    cuda.syncthreads()
    return min(found + 1, best.shape[0])


@cuda_kernel
def close_up(starts, rows, chains):
    """Move the rows of each read, which begin at its start, to columns of chains without gaps between reads."""
    read = cuda.grid(1)
    if read >= starts.size - 1:
        return
    for i in range(chains.chain_offsets[read], chains.chain_offsets[read + 1]):
        row = starts[read] + i - chains.chain_offsets[read]
        chains.reference_start[i], chains.reference_stop[i] = rows[row, rule.START], rows[row, rule.STOP]
        chains.query_start[i], chains.query_stop[i] = rows[row, rule.QUERY_START], rows[row, rule.QUERY_STOP]
        chains.strand[i], chains.score[i] = rows[row, rule.STRAND], rows[row, rule.SCORE]
