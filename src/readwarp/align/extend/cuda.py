"""Extend on CUDA: a thread per candidate for the ungapped answer, the engine's threads for the others.

Names and results as in `cpu`. Oriented reads and reference are on the device; candidates come from the host, which cuts
the rest into jobs for the engine, and results are left on the host: one visit before the engine's work and one after.
"""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.align.extend.cpu import (
    OK,
    TOO_LONG,
    UNGAPPED,
    Oriented,
    costs_of,
    gapped_ends,
    gathered,
    queries_of,
)
from readwarp.align.extend.scalar import ungapped_is_best
from readwarp.batches import Candidates, Extensions, ReadBatch, Scores
from readwarp.config import MAX_READ_LENGTH, Scoring
from readwarp.device.cuda_launch import WARP, threads_for
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import current, rounded
from readwarp.pairwise import cuda as pairwise
from readwarp.pairwise.pairs import Pairs
from readwarp.pairwise.scalar import LOCAL
from readwarp.pairwise.trace_plan import LETTERS
from readwarp.ragged import offsets_of, take
from readwarp.rules.bases import complement

SCORE_TYPES = (np.int32, np.int32, np.int64, np.uint8)  # of the columns of Scores


def orient(reads: ReadBatch, there: ReadBatch) -> Oriented:
    """See cpu.orient; the bases stay until the caller's frame ends."""
    workspace = current()
    oriented = workspace.empty(2 * reads.bases.size, np.uint8)
    orient_reads[threads_for(WARP * len(reads), workspace)](there.bases, there.read_offsets, oriented)
    return Oriented(oriented, reads.read_offsets)


def score(reads: Oriented, candidates: Candidates, packed: Any, scoring: Scoring) -> Scores:
    """See cpu.score."""
    workspace, costs = current(), costs_of(scoring)
    starts, lengths = queries_of(reads, candidates)
    with workspace.frame():
        windows = candidates.window_start, candidates.window_stop, candidates.diagonal
        there = [workspace.upload(column) for column in (starts, lengths.astype(np.int32), *windows)]
        found = [workspace.empty(len(candidates), dtype) for dtype in SCORE_TYPES]
        score_ungapped[threads_for(len(candidates), workspace)](
            reads.bases, *there, packed, *map(np.int32, costs), *found
        )
        scores = Scores(*workspace.download(*found))
    rest = np.flatnonzero(scores.status == OK)
    with workspace.frame():
        pairs = windows_of(reads.bases, starts, lengths, candidates, packed, rest)
        ends = pairwise.score_pairs(pairs, costs, LOCAL, known=scores.score[rest])
    scores.score[rest], scores.query_stop[rest] = ends.score, ends.query_stop
    scores.reference_stop[rest] = candidates.window_start[rest] + ends.target_stop
    return scores


def trace(
    reads: Oriented,
    candidates: Candidates,
    chosen: ndarray,
    packed: Any,
    scoring: Scoring,
    scores: Scores | None = None,
) -> Extensions:
    """See cpu.trace."""
    workspace, costs = current(), costs_of(scoring)
    taken = take(candidates, "candidates", chosen)
    found = score(reads, taken, packed, scoring) if scores is None else take(scores, "candidates", chosen)
    starts, lengths = queries_of(reads, taken)
    spans = np.empty((chosen.size, 4), np.int64)  # score, query start, reference start, edit distance
    with workspace.frame():
        known = found.score, found.query_stop, found.reference_stop, found.status
        there = [workspace.upload(column) for column in (starts, lengths.astype(np.int32), *known)]
        columns = [workspace.empty(chosen.size, np.int32) for _ in range(3)]
        trace_ungapped[threads_for(chosen.size, workspace)](
            reads.bases, *there, packed, *map(np.int32, costs), *columns
        )
        spans[:, 0], spans[:, 1], spans[:, 3] = workspace.download(*columns)
    spans[:, 2] = found.reference_stop - found.query_stop + spans[:, 1]
    gapped, ends = gapped_ends(taken, found)
    with workspace.frame():
        pairs = windows_of(reads.bases, starts, lengths, taken, packed, gapped)
        traces = pairwise.trace_pairs(pairs, costs, LOCAL, ends, letters=LETTERS)
    return gathered(chosen, taken, found, spans, gapped, traces)


def oriented_bytes(bases: int) -> int:
    """Of the workspace, for the oriented reads of a batch."""
    return rounded(2 * bases)


def scored_bytes(candidates: int) -> int:
    """Most bytes of the workspace while so many candidates are scored without dynamic programming."""
    return 4 * rounded(8 * candidates) + rounded(4 * candidates) + column_bytes(SCORE_TYPES, candidates)


def traced_bytes(chosen: int) -> int:
    """Most bytes of the workspace while so many candidates are traced without dynamic programming."""
    return rounded(8 * chosen) + column_bytes(SCORE_TYPES, chosen) + 4 * rounded(4 * chosen)


def window_bytes(pairs: int, bases: int) -> tuple[int, int]:
    """(kept, most) bytes of the workspace for windows of so many bases in all, which the engine's come on top of."""
    return rounded(bases), rounded(bases) + rounded(8 * pairs) + rounded(8 * (pairs + 1))


def column_bytes(dtypes: tuple[type, ...], size: int) -> int:
    return sum(rounded(np.dtype(dtype).itemsize * size) for dtype in dtypes)


def windows_of(
    oriented: Any, starts: ndarray, lengths: ndarray, candidates: Candidates, packed: Any, rows: ndarray
) -> Pairs:
    """Oriented reads against whole windows, for these rows of the candidates."""
    workspace, begins = current(), candidates.window_start[rows]
    sizes = candidates.window_stop[rows] - begins
    offsets = offsets_of(sizes)
    bases = workspace.empty(int(offsets[-1]), np.uint8)
    with workspace.frame():
        unpack_windows[threads_for(WARP * rows.size, workspace)](
            packed, workspace.upload(begins), workspace.upload(offsets), bases
        )
    return Pairs(oriented, starts[rows], lengths[rows], bases, offsets[:-1], sizes)


@cuda.jit(device=True)
def reference_code(packed, position):
    """The reference base; anything but A C G T becomes NEVER, which no read has."""
    base = (packed[position >> 1] >> ((position & 1) << 2)) & 15
    return np.uint8(base + (base >> 2))


@cuda_kernel
def orient_reads(bases, offsets, oriented):
    """Each read as it is and, behind all of them, its reverse complement; a warp per read, so that it moves lines."""
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
    """Bases of the windows, one a byte; a warp per window."""
    thread = cuda.grid(1)
    window, lane = thread // WARP, thread % WARP
    if window >= begins.size:
        return
    first = begins[window] - offsets[window]
    for i in range(offsets[window] + lane, offsets[window + 1], WARP):
        bases[i] = reference_code(packed, first + i)


@cuda.jit(device=True)
def lies_elsewhere(oriented, query_at, length, packed, start, stop, place):
    """Does the window hold the whole read exactly at another place?"""
    for begin in range(start, stop - length + 1):
        i = np.int32(0)
        while i < length and oriented[query_at + i] == reference_code(packed, begin + i):
            i += np.int32(1)
        if i == length and begin != place:
            return True
    return False


@cuda_kernel
def score_ungapped(
    oriented, starts, lengths, window_starts, window_stops, diagonals, packed,
    match, mismatch, gap_open, gap_extend, bonus, score, query_stop, reference_stop, status,
):  # fmt: skip
    """Best ungapped alignment on each candidate's diagonal; status UNGAPPED where nothing else can score more."""
    c = cuda.grid(1)
    if c >= starts.size:
        return
    query_at, length, diagonal = starts[c], lengths[c], diagonals[c]
    score[c], query_stop[c], reference_stop[c], status[c] = 0, 0, window_starts[c], OK
    if length > MAX_READ_LENGTH:
        status[c] = TOO_LONG
        return
    first = np.int32(min(max(window_starts[c] - diagonal, 0), length))
    last = np.int32(max(min(window_stops[c] - diagonal, length), 0))
    best, stop, running = np.int32(0), np.int32(0), np.int32(bonus if first == 0 else 0)
    for i in range(first, last):
        equal = oriented[query_at + i] == reference_code(packed, diagonal + i)
        running = np.int32(running + (match if equal else -mismatch))
        reached = np.int32(running + (bonus if i + 1 == length else 0))
        if reached > best:
            best, stop = reached, np.int32(i + 1)
        running = max(running, np.int32(0))
    score[c] = best
    if best > 0 and ungapped_is_best(best, length, match, mismatch, gap_open, gap_extend, bonus):
        perfect = best == length * match + 2 * bonus
        if perfect or not lies_elsewhere(
            oriented, query_at, length, packed, window_starts[c], window_stops[c], diagonal
        ):
            query_stop[c], reference_stop[c], status[c] = stop, diagonal + stop, UNGAPPED


@cuda_kernel
def trace_ungapped(
    oriented, starts, lengths, score, query_stop, reference_stop, status, packed,
    match, mismatch, gap_open, gap_extend, bonus, raw, query_start, edit_distance,
):  # fmt: skip
    """Score, query start and edit distance of the candidates with status UNGAPPED; of others 0, query stop and 0."""
    c = cuda.grid(1)
    if c >= starts.size:
        return
    i, edits = np.int32(query_stop[c]), np.int32(0)
    whole = left = np.int32(score[c] - (bonus if i == lengths[c] else 0)) if status[c] == UNGAPPED else np.int32(0)
    diagonal = reference_stop[c] - i
    while i > 0 and (left > 0 or (i == query_stop[c] and status[c] == UNGAPPED)):
        i -= np.int32(1)
        equal = oriented[starts[c] + i] == reference_code(packed, diagonal + i)
        edits += np.int32(0 if equal else 1)
        left -= np.int32(match if equal else -mismatch)
    raw[c], query_start[c], edit_distance[c] = whole - left, i, edits
