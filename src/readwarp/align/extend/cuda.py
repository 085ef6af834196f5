"""Extend on CUDA: a thread per candidate for the ungapped answer, a warp for its proof, then the pairwise engine.

Names and results are those of `cpu`.
"""

from typing import Any

import numpy as np

from readwarp.align.batches import Candidates, Scores
from readwarp.align.extend import cpu
from readwarp.align.extend.scalar import (
    LEAST_PART,
    MAX_PARTS,
    lengthen,
    may_be_best,
    part_around,
    probe_in,
    walk_ungapped,
)
from readwarp.align.extend.steps import OK, UNGAPPED, Oriented, Spans, UngappedSpans, part_of
from readwarp.config import MAX_READ_LENGTH
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import THREADS, WARP, threads_for
from readwarp.device.memory import current
from readwarp.device.staging import rounded
from readwarp.formats.common.reads import ReadBatch
from readwarp.pairwise.cuda_trace import narrow
from readwarp.pairwise.pairs import Costs, Pairs
from readwarp.pairwise.scalar import gain_of_bases
from readwarp.ragged import offsets_of
from readwarp.rules.bases import NEVER, UNKNOWN, complement, reference_code

ALL = 0xFFFFFFFF  # threads of a warp
ROOM = MAX_PARTS + 1  # mismatches of a read; any beyond MAX_PARTS share the last place


def orient(reads: ReadBatch) -> Oriented:
    """See cpu.orient; the bases stay until the caller's frame ends."""
    workspace = current()
    oriented = workspace.empty(2 * reads.bases.size, np.uint8)
    orient_reads[threads_for(WARP * len(reads), workspace)](reads.bases, reads.read_offsets, oriented)
    return Oriented(oriented, reads.read_offsets)


def score_without_gaps(reads: Oriented, candidates: Candidates, packed: Any, costs: Costs, scores: Scores) -> None:
    score_ungapped[threads_for(len(candidates), current())](reads, candidates, packed, narrow(costs), scores)


def trace_without_gaps(
    reads: Oriented, candidates: Candidates, packed: Any, costs: Costs, scores: Scores, spans: UngappedSpans
) -> None:
    trace_ungapped[threads_for(len(candidates), current())](reads, candidates, packed, narrow(costs), scores, spans)


def oriented_bytes(bases: int) -> int:
    """Return the bytes of the workspace for the oriented reads of a batch."""
    return rounded(2 * bases)


def window_bytes(pairs: int, bases: int) -> int:
    """Return the peak bytes of the workspace for windows of `bases` in total, without the engine's."""
    return rounded(bases) + rounded(8 * pairs) + rounded(8 * (pairs + 1))


def windows_of(oriented: Any, parts: Spans, packed: Any, windows: Spans) -> Pairs:
    """See cpu.windows_of; the spans are on the host."""
    workspace, (begins, lengths) = current(), windows
    offsets = offsets_of(lengths)
    bases = workspace.empty(int(offsets[-1]), np.uint8)
    with workspace.frame():
        places = workspace.on_card((begins, offsets))
        unpack_windows[threads_for(WARP * begins.size, workspace)](packed, *places, bases)
    return Pairs(oriented, *parts, bases, offsets[:-1], lengths)


@cuda_kernel
def orient_reads(bases, offsets, oriented):
    """Write the reads, then their reverse complements; a warp per read, so that it moves whole lines of memory."""
    thread = cuda.grid(1)
    read, lane = thread // WARP, thread % WARP
    if read >= offsets.size - 1:
        return
    first, last = offsets[read], offsets[read + 1] - 1
    for i in range(first + lane, last + 1, WARP):
        base = bases[i]
        oriented[i] = base
        oriented[bases.size + first + last - i] = complement(base)


@cuda_kernel
def unpack_windows(packed, begins, offsets, bases):
    """Unpack the bases of the windows, one a byte. A warp per window."""
    thread = cuda.grid(1)
    window, lane = thread // WARP, thread % WARP
    if window >= begins.size:
        return
    first = begins[window] - offsets[window]
    for i in range(offsets[window] + lane, offsets[window + 1], WARP):
        bases[i] = reference_code(packed, first + i)


@cuda_kernel
def score_ungapped(reads, candidates, packed, costs, scores):
    """See cpu.score_without_gaps: a thread per candidate; then the threads of a warp prove one answer after another."""
    c, lane, end, number = cuda.grid(1), np.int32(cuda.laneid), np.int32(0), np.int32(0)
    mismatches, beside = cuda.shared.array((ROOM, THREADS), np.int32), cuda.threadIdx.x - lane
    is_best = is_asked = False
    if c < candidates.read.size:
        mine = mismatches[:, beside + lane]
        end, number, is_best, is_asked = score_diagonal(c, reads, candidates, packed, costs, mine, scores)
    asked = cuda.ballot_sync(ALL, is_asked)
    cuda.syncwarp()
    for other in range(WARP):
        if asked >> other & 1:
            there = c - lane + other
            begin, length = part_of(there, candidates, reads.offsets)
            window = candidates.window_start[there], candidates.window_stop[there]
            places = mismatches[:, beside + other], cuda.shfl_sync(ALL, number, other)
            is_best |= is_proven(reads.bases[begin : begin + length], places, packed, window, lane) and lane == other
    if is_best:
        scores.query_stop[c], scores.reference_stop[c] = candidates.part_start[c] + end, candidates.diagonal[c] + end
        scores.status[c] = UNGAPPED


@cuda.jit(device=True)
def score_diagonal(c, reads, candidates, packed, costs, mismatches, scores):
    """Score a candidate; return (its end, mismatches, whether this is the best, whether that has to be proven)."""
    start, stop = candidates.window_start[c], candidates.window_stop[c]
    diagonal = candidates.diagonal[c]
    begin, length = part_of(c, candidates, reads.offsets)
    score, query_stop, reference_stop, status = scores
    score[c], query_stop[c] = 0, candidates.part_start[c]
    reference_stop[c], status[c] = start, OK
    number = unknown = np.int32(0)  # unknown: N bases of the read
    if length > MAX_READ_LENGTH:
        status[c] = cpu.TOO_LONG
        return number, number, False, False
    length = np.int32(length)
    query = reads.bases[begin : begin + length]
    first, last = np.int32(min(max(start - diagonal, 0), length)), np.int32(max(min(stop - diagonal, length), 0))
    segment = np.int32(costs.bonus if first == 0 else 0), np.int32(0), np.int32(0)
    for i in range(first, last):
        code = reference_code(packed, diagonal + i)
        segment = lengthen(segment, np.int32(i), gain_of_bases(query[i], code, costs), length, costs)
        if query[i] != code:
            mismatches[min(number, np.int32(ROOM - 1))] = i
            number, unknown = np.int32(number + 1), np.int32(unknown + (query[i] == UNKNOWN))
    _, best, end = segment
    score[c] = best
    is_best = (unknown == number and last - first == length) or best == length * costs.match + 2 * costs.bonus
    is_asked = not is_best and unknown == 0 and stop - start <= cpu.MAX_WINDOW
    return end, number, best > 0 and is_best, best > 0 and is_asked and may_be_best(best, length, number, costs)


@cuda.jit(device=True)
def is_proven(query, places, packed, window, lane):
    """See cpu.is_proven; the same for all threads of a warp, each of which looks at every 32nd place of the window."""
    (mismatches, number), is_found = places, False
    for place in range(window[0] + lane, window[1], WARP):
        is_found |= reference_code(packed, place) == NEVER
    for i in range(number):
        first, last = part_around(i, mismatches, number, np.int32(query.size))
        if last - first < LEAST_PART:
            return False
        at, probe = probe_in(first, last, mismatches[i]), np.int32(0)
        for k in range(LEAST_PART):
            probe |= np.int32(query[at + k]) << np.int32(4 * k)
        for place in range(window[0] + lane, window[1] - last + first + 1, WARP):
            if eight_at(packed, place + at - first) == probe:
                k = first
                while k < last and query[k] == reference_code(packed, place + k - first):
                    k += 1
                is_found |= k == last
    return not cuda.any_sync(ALL, is_found)


@cuda.jit(device=True)
def eight_at(packed, place):
    """Return the nibbles of eight bases of the reference, the first one lowest."""
    word = np.uint64(packed[(place + 7) >> 1]) << np.uint64(32)
    for k in range(4):
        word |= np.uint64(packed[(place >> 1) + k]) << np.uint64(8 * k)
    return np.int32(word >> np.uint64((place & 1) << 2))


@cuda_kernel
def trace_ungapped(reads, candidates, packed, costs, found, spans):
    """See cpu.trace_without_gaps."""
    c = cuda.grid(1)
    if c >= candidates.read.size or found.status[c] != UNGAPPED:
        return
    begin, length = part_of(c, candidates, reads.offsets)
    stop, query = np.int32(found.query_stop[c] - candidates.part_start[c]), reads.bases[begin : begin + length]
    diagonal = found.reference_stop[c] - stop
    walked = walk_ungapped(query, stop, diagonal, found.score[c], packed, costs)
    spans.score[c], spans.query_start[c], spans.edit_distance[c] = walked
