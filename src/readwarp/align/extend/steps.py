"""Extend on either side: the ungapped answer where proven best, else dynamic programming by the pairwise engine.

Batches stay on the side of the kernels, but for the few windows that are left to the engine: the host plans these.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Candidates, Extensions, Scores
from readwarp.compiler.jit import scalar
from readwarp.config import Scoring
from readwarp.device.backend import Backend
from readwarp.device.rows import each_row, empty_beside, ragged_rows, to_host
from readwarp.formats.common.reads import ReadBatch
from readwarp.metrics import Metrics
from readwarp.pairwise.pairs import Costs, Ends, Pairs, Scheme
from readwarp.pairwise.scalar import LETTERS, LOCAL
from readwarp.rules.cigar import MATCH
from readwarp.rules.statuses import Status

STEP, ENGINE = "readwarp.align.extend", "readwarp.pairwise"
OK, UNGAPPED = int(Status.OK), int(Status.UNGAPPED)


Spans = tuple[ndarray, ndarray]  # int64: starts and lengths


class Oriented(NamedTuple):
    """Reads of a batch on both strands: read r on strand s starts at offsets[r] + s * offsets[-1]."""

    bases: Annotated[ndarray, "uint8 [both strands]"]
    offsets: Annotated[ndarray, "int64 [reads + 1] of bases"]


class Extender(NamedTuple):
    """The side where a batch's reads are extended, and all that is the same for their candidates."""

    backend: Backend
    reads: Oriented
    packed: Any  # uint8: the reference, beside the reads
    scheme: Scheme
    metrics: Metrics


class LeftCandidates(NamedTuple):
    """Candidates that are left to dynamic programming."""

    offsets: Annotated[ndarray, "int64 [candidates + 1] of windows"]
    row: Annotated[ndarray, "int64 [windows]"]  # candidate
    starts: Annotated[ndarray, "int64 [windows]"]  # start of the part in the oriented bases
    lengths: Annotated[ndarray, "int64 [windows]"]
    window_start: Annotated[ndarray, "int64 [windows]"]
    window_stop: Annotated[ndarray, "int64 [windows]"]
    score: Annotated[ndarray, "int32 [windows]"]  # see Scores
    query_stop: Annotated[ndarray, "int32 [windows]"]  # from the part's start on
    target_stop: Annotated[ndarray, "int32 [windows]"]  # from the window's start on


class UngappedSpans(NamedTuple):
    """Alignments without gaps, where they begin; rows of all other candidates are undefined."""

    score: Annotated[ndarray, "int32 [candidates]"]  # without bonuses
    query_start: Annotated[ndarray, "int32 [candidates]"]  # from the part's start on
    edit_distance: Annotated[ndarray, "int32 [candidates]"]


def extender_of(backend: Backend, reads: ReadBatch, packed: Any, scoring: Scoring, metrics: Metrics) -> Extender:
    """Orient the reads, which lie beside the reference; a card keeps them until the caller's frame ends."""
    oriented = backend.step(STEP).orient(reads)
    return Extender(backend, oriented, packed, Scheme(costs_of(scoring), LOCAL), metrics)


def score(extender: Extender, candidates: Candidates) -> Scores:
    """Find the best score of each candidate's read in its window, and where that alignment ends.

    Status UNGAPPED: an alignment without gaps, proven best without dynamic programming. OK: found by dynamic
    programming; if nothing scores above 0, the score is 0 and the alignment ends at the window's start. TOO_LONG: a
    read beyond MAX_READ_LENGTH, score 0.
    """
    backend, reads, packed, scheme, _ = extender
    scores = empty_beside(candidates.read, Scores, {"candidates": len(candidates)})
    with backend.frame():
        backend.step(STEP).score_without_gaps(reads, candidates, packed, scheme.costs, scores)
        left, here, pairs = pair_left(extender, candidates, scores, 0)
        ends = backend.step(ENGINE).score_pairs(pairs, scheme, here.score)
        put_end(len(pairs), left, backend.to_device(ends), candidates, scores)
    return scores


def trace(extender: Extender, candidates: Candidates, scores: Scores) -> Extensions:
    """Trace the alignments of the candidates, gaps leftmost. scores: the results of `score`.

    A candidate without an alignment (score 0, too long) has an empty CIGAR and its status.
    """
    (backend, reads, packed, scheme, _), number = extender, len(candidates)
    with backend.frame():
        spans = empty_beside(reads.bases, UngappedSpans, {"candidates": number})
        backend.step(STEP).trace_without_gaps(reads, candidates, packed, scheme.costs, scores, spans)
        left, here, pairs = pair_left(extender, candidates, scores, 1)
        ends = Ends(here.score, here.query_stop, here.target_stop)
        traces = backend.to_device(backend.step(ENGINE).trace_pairs(pairs, scheme, ends, LETTERS))
        return put_extension(number, candidates, scores, spans, left.offsets, traces)


def pair_left(
    extender: Extender, candidates: Candidates, scores: Scores, least: int
) -> tuple[LeftCandidates, LeftCandidates, Pairs]:
    """List what only dynamic programming aligns, of at least this score: there, on the host, and as pairs."""
    backend, reads, packed, *_ = extender
    left = list_left(len(candidates), reads.offsets, candidates, scores, least)
    here = to_host(left)
    windows = here.window_start, here.window_stop - here.window_start
    pairs = backend.step(STEP).windows_of(reads.bases, (here.starts, here.lengths), packed, windows)
    extender.metrics.count("dp_cells", pairs.cells)
    return left, here, pairs


def costs_of(scoring: Scoring) -> Costs:
    return Costs(scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend, scoring.end_bonus)


@scalar
def part_of(c, candidates, offsets):
    """Return where the part of the oriented read that is aligned to candidate c starts, and its length."""
    read, start = candidates.read[c], np.int64(candidates.part_start[c])
    stop = np.int64(candidates.part_stop[c]) or offsets[read + 1] - offsets[read]
    return offsets[read] + candidates.strand[c] * offsets[offsets.size - 1] + start, stop - start


@scalar
def room_of_left(c, offsets, candidates, scores, least):
    return np.int64(scores.status[c] == OK and scores.score[c] >= least)


@ragged_rows(LeftCandidates, room_of_left, is_exact=True)
def list_left(c, at, offsets, candidates, scores, least, out):
    """List candidate c if only dynamic programming finds its alignment, of at least this score."""
    if room_of_left(c, offsets, candidates, scores, least) == 0:
        return at
    out.row[at] = c
    out.starts[at], out.lengths[at] = part_of(c, candidates, offsets)
    out.window_start[at], out.window_stop[at] = candidates.window_start[c], candidates.window_stop[c]
    out.score[at], out.query_stop[at] = scores.score[c], scores.query_stop[c] - candidates.part_start[c]
    out.target_stop[at] = scores.reference_stop[c] - candidates.window_start[c]
    return at + 1


@each_row
def put_end(i, left, ends, candidates, scores):
    """Write an end that dynamic programming has found to its candidate."""
    c = left.row[i]
    scores.score[c], scores.query_stop[c] = ends.score[i], ends.query_stop[i] + candidates.part_start[c]
    scores.reference_stop[c] = candidates.window_start[c] + ends.target_stop[i]


@scalar
def room_of_runs(c, candidates, scores, spans, left, traces):
    """Return the operations of a candidate's alignment."""
    if scores.status[c] == UNGAPPED:
        return np.int64(1)
    return traces.cigar_offsets[left[c + 1]] - traces.cigar_offsets[left[c]]


@ragged_rows(Extensions, room_of_runs, is_exact=True)
def put_extension(c, at, candidates, scores, spans, left, traces, out):
    """Put the alignment of a candidate: one run of M without gaps, else its trace. left: offsets of the traces."""
    part, i = candidates.part_start[c], left[c]
    start = stop = out.query_stop[c] = scores.query_stop[c]
    out.reference_start[c] = out.reference_stop[c] = scores.reference_stop[c]
    out.score[c] = out.edit_distance[c] = 0
    out.status[c] = scores.status[c]
    if scores.status[c] == UNGAPPED:
        start = spans.query_start[c] + part
        out.score[c], out.edit_distance[c] = spans.score[c], spans.edit_distance[c]
        out.reference_start[c] -= stop - start
        out.cigar[at] = (stop - start) << 4 | MATCH
        at += 1
    elif left[c + 1] > i:
        start = traces.query_start[i] + part
        out.score[c], out.edit_distance[c] = traces.score[i], traces.edit_distance[i]
        out.reference_start[c] = candidates.window_start[c] + traces.target_start[i]
        for run in range(traces.cigar_offsets[i], traces.cigar_offsets[i + 1]):
            out.cigar[at] = traces.cigar[run]
            at += 1
    out.query_start[c] = start
    return at
