"""Extend on CUDA: a thread per candidate for the ungapped answer, then the pairwise engine for the rest.

Names and results are those of `cpu`.
"""

from typing import Any

import numpy as np

from readwarp.align.batches import Candidates, Scores
from readwarp.align.extend import cpu
from readwarp.align.extend.scalar import LEAST_PART, MAX_PARTS, lengthen, may_be_best, part_around, walk_ungapped
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
    """See cpu.score_without_gaps."""
    c = cuda.grid(1)
    if c >= candidates.read.size:
        return
    start, stop = candidates.window_start[c], candidates.window_stop[c]
    diagonal, part = candidates.diagonal[c], candidates.part_start[c]
    begin, length = part_of(c, candidates, reads.offsets)
    score, query_stop, reference_stop, status = scores
    score[c], query_stop[c] = 0, part
    reference_stop[c], status[c] = start, OK
    if length > MAX_READ_LENGTH:
        status[c] = cpu.TOO_LONG
        return
    length = np.int32(length)
    query = reads.bases[begin : begin + length]
    first, last = np.int32(min(max(start - diagonal, 0), length)), np.int32(max(min(stop - diagonal, length), 0))
    mismatches, number = cuda.shared.array((ROOM, THREADS), np.int32)[:, cuda.threadIdx.x], np.int32(0)
    segment = np.int32(costs.bonus if first == 0 else 0), np.int32(0), np.int32(0)
    unknown = np.int32(0)  # N bases of the read
    for i in range(first, last):
        code = reference_code(packed, diagonal + i)
        segment = lengthen(segment, np.int32(i), gain_of_bases(query[i], code, costs), length, costs)
        if query[i] != code:
            mismatches[min(number, np.int32(ROOM - 1))] = i
            number, unknown = np.int32(number + 1), np.int32(unknown + (query[i] == UNKNOWN))
    _, best, end = segment
    score[c] = best
    is_best = unknown == number and last - first == length
    if best > 0 and not is_best and unknown == 0:
        is_best = is_proven(query, best, mismatches, number, packed, (start, stop), costs)
    if best > 0 and is_best:
        query_stop[c], reference_stop[c] = part + end, diagonal + end
        status[c] = UNGAPPED


@cuda.jit(device=True)
def is_proven(query, score, mismatches, number, packed, window, costs):
    """See cpu.is_proven."""
    length = np.int32(query.size)
    if score == length * costs.match + 2 * costs.bonus:
        return True
    if not may_be_best(score, length, number, costs) or window[1] - window[0] > cpu.MAX_WINDOW:
        return False
    for place in range(window[0], window[1]):
        if reference_code(packed, place) == NEVER:
            return False
    for i in range(number):
        first, last = part_around(i, mismatches, number, length)
        if last - first < LEAST_PART or occurs(query[first:last], packed, window):
            return False
    return True


@cuda.jit(device=True)
def occurs(part, packed, window):
    """See cpu.occurs."""
    size = np.int32(part.size)
    for place in range(window[0], window[1] - size + 1):
        i = np.int32(0)
        while i < size and part[i] == reference_code(packed, place + i):
            i = np.int32(i + 1)
        if i == size:
            return True
    return False


@cuda_kernel
def trace_ungapped(reads, candidates, packed, costs, found, spans):
    """See cpu.trace_without_gaps."""
    c = cuda.grid(1)
    if c >= candidates.read.size or found.status[c] != UNGAPPED:
        return
    begin, length = part_of(c, candidates, reads.offsets)
    stop, query = np.int32(found.query_stop[c] - candidates.part_start[c]), reads.bases[begin : begin + length]
    diagonal = found.reference_stop[c] - stop
    spans.score[c], spans.query_start[c], spans.edit_distance[c] = walk_ungapped(
        query, stop, diagonal, found.score[c], packed, costs
    )
