"""Extend on CUDA: a thread per candidate for the ungapped answer, then the pairwise engine for the rest.

Names and results are those of `cpu`. Oriented reads and reference are on the device. Candidates come from the host,
which also selects those for the engine; results are on the host.
"""

from typing import Any

import numpy as np

from readwarp.align.batches import Candidates, Extensions, Scores
from readwarp.align.extend import cpu
from readwarp.align.extend.scalar import LEAST_PART, MAX_PARTS, lengthen, may_be_best, part_around, walk_ungapped
from readwarp.config import MAX_READ_LENGTH, Scoring
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import THREADS, WARP, threads_for
from readwarp.device.memory import current
from readwarp.device.staging import rounded
from readwarp.formats.common.reads import ReadBatch
from readwarp.pairwise import cuda as pairwise
from readwarp.pairwise.cuda_trace import narrow
from readwarp.pairwise.pairs import Ends, Pairs, Scheme, Traces
from readwarp.pairwise.scalar import LOCAL, gain_of_bases
from readwarp.pairwise.trace_plan import LETTERS
from readwarp.ragged import offsets_of, take
from readwarp.rules.bases import NEVER, UNKNOWN, complement, reference_code

ROOM = MAX_PARTS + 1  # mismatches of a read; any beyond MAX_PARTS share the last place
SCORE_TYPES = (np.int32, np.int32, np.int64, np.uint8)  # columns of Scores


def orient(reads: ReadBatch, there: ReadBatch) -> cpu.Oriented:
    """See cpu.orient; the bases stay until the caller's frame ends."""
    workspace = current()
    oriented = workspace.empty(2 * reads.bases.size, np.uint8)
    orient_reads[threads_for(WARP * len(reads), workspace)](there.bases, there.read_offsets, oriented)
    return cpu.Oriented(oriented, reads.read_offsets)


def score(reads: cpu.Oriented, candidates: Candidates, packed: Any, scoring: Scoring) -> Scores:
    """See cpu.score."""
    workspace = current()
    scheme, laid = Scheme(cpu.costs_of(scoring), LOCAL), cpu.lay(reads, candidates)
    with workspace.frame():
        found = Scores(*(workspace.empty(len(candidates), dtype) for dtype in SCORE_TYPES))
        score_ungapped[threads_for(len(candidates), workspace)](
            reads.bases, workspace.on_card(laid), packed, narrow(scheme.costs), found
        )
        scores = Scores(*workspace.download(*found))
    rest = np.flatnonzero(scores.status == cpu.OK)
    with workspace.frame():
        pairs = windows_of(reads.bases, take(laid, "candidates", rest), packed)
        cpu.put_ends(pairwise.score_pairs(pairs, scheme, scores.score[rest]), rest, candidates, scores)
    return scores


def trace(reads: cpu.Oriented, candidates: Candidates, packed: Any, scoring: Scoring, scores: Scores) -> Extensions:
    """See cpu.trace."""
    workspace = current()
    scheme, laid = Scheme(cpu.costs_of(scoring), LOCAL), cpu.lay(reads, candidates)
    scores = cpu.within_parts(candidates, scores)
    with workspace.frame():
        starts, lengths, there = workspace.on_card((laid.starts, laid.lengths, scores))
        spans = cpu.TracedSpans(*(workspace.empty(len(candidates), np.int32) for _ in range(3)))
        trace_ungapped[threads_for(len(candidates), workspace)](
            reads.bases, starts, lengths, packed, narrow(scheme.costs), there, spans
        )
        spans = cpu.TracedSpans(*workspace.download(*spans))
    gapped, ends = cpu.gapped_ends(candidates, scores)
    with workspace.frame():
        pairs = windows_of(reads.bases, take(laid, "candidates", gapped), packed)
        traces = trace_windows(pairs, scheme, ends)
    return cpu.gather(candidates, scores, spans, gapped, traces)


def score_windows(pairs: Pairs, scheme: Scheme) -> Ends:
    """See cpu.score_windows; sequences are on the device, everything else on the host."""
    return pairwise.score_pairs(pairs, scheme)


def trace_windows(pairs: Pairs, scheme: Scheme, ends: Ends) -> Traces:
    """See cpu.trace_windows; arrays as in score_windows."""
    return pairwise.trace_pairs(pairs, scheme, ends, LETTERS)


def oriented_bytes(bases: int) -> int:
    """Return the bytes of the workspace for the oriented reads of a batch."""
    return rounded(2 * bases)


def scored_bytes(candidates: int) -> int:
    """Return the peak bytes of the workspace while candidates are scored without dynamic programming."""
    return 4 * rounded(8 * candidates) + rounded(4 * candidates) + column_bytes(SCORE_TYPES, candidates)


def traced_bytes(candidates: int) -> int:
    """Return the peak bytes of the workspace while candidates are traced without dynamic programming."""
    return rounded(8 * candidates) + column_bytes(SCORE_TYPES, candidates) + 4 * rounded(4 * candidates)


def window_bytes(pairs: int, bases: int) -> int:
    """Return the peak bytes of the workspace for windows of `bases` in total, without the engine's."""
    return rounded(bases) + rounded(8 * pairs) + rounded(8 * (pairs + 1))


def column_bytes(dtypes: tuple[type, ...], size: int) -> int:
    return sum(rounded(np.dtype(dtype).itemsize * size) for dtype in dtypes)


def windows_of(oriented: Any, laid: cpu.LaidReads, packed: Any) -> Pairs:
    """Pair oriented reads with whole windows."""
    workspace, begins = current(), laid.window_start
    sizes = laid.window_stop - begins
    offsets = offsets_of(sizes)
    bases = workspace.empty(int(offsets[-1]), np.uint8)
    with workspace.frame():
        places = workspace.on_card((begins, offsets))
        unpack_windows[threads_for(WARP * begins.size, workspace)](packed, *places, bases)
    return Pairs(oriented, laid.starts, laid.lengths.astype(np.int64), bases, offsets[:-1], sizes)


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
def score_ungapped(oriented, laid, packed, costs, scores):
    """See cpu.score_ungapped."""
    c = cuda.grid(1)
    if c >= laid.starts.size:
        return
    start, stop = laid.window_start[c], laid.window_stop[c]
    diagonal, length = laid.diagonal[c], laid.lengths[c]
    score, query_stop, reference_stop, status = scores
    score[c] = query_stop[c] = 0
    reference_stop[c], status[c] = start, cpu.OK
    if length > MAX_READ_LENGTH:
        status[c] = cpu.TOO_LONG
        return
    query = oriented[laid.starts[c] : laid.starts[c] + length]
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
        query_stop[c], reference_stop[c] = end, diagonal + end
        status[c] = cpu.UNGAPPED


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
def trace_ungapped(oriented, starts, lengths, packed, costs, found, spans):
    """See cpu.trace_ungapped."""
    c = cuda.grid(1)
    if c >= starts.size:
        return
    score = edits = np.int32(0)
    start = found.query_stop[c]
    if found.status[c] == cpu.UNGAPPED:
        query, diagonal = oriented[starts[c] : starts[c] + lengths[c]], found.reference_stop[c] - start
        score, start, edits = walk_ungapped(query, start, diagonal, found.score[c], packed, costs)
    spans.score[c] = score
    spans.query_start[c], spans.edit_distance[c] = start, edits
