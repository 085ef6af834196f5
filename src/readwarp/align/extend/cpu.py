"""Extend on CPU lanes: the ungapped answer where it is proven, dynamic programming for the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.align.extend.scalar import ungapped_is_best
from readwarp.batches import Candidates, Extensions, ReadBatch, Scores, Status
from readwarp.config import MAX_READ_LENGTH, Scoring
from readwarp.device.jit import kernel
from readwarp.pairwise import cpu as pairwise
from readwarp.pairwise.pairs import Ends, Pairs, Traces
from readwarp.pairwise.scalar import LOCAL
from readwarp.ragged import offsets_of, take
from readwarp.rules.cigar import MATCH

OK, UNGAPPED, TOO_LONG = int(Status.OK), int(Status.UNGAPPED), int(Status.TOO_LONG)


@dataclass(frozen=True, slots=True)
class Oriented:
    """The reads of a batch on both strands: read r on strand s starts at offsets[r] + s * offsets[-1]."""

    bases: Any  # uint8 [2 b], on the side of the step
    offsets: ndarray  # int64 [n + 1], on the host


def orient(reads: ReadBatch, there: ReadBatch) -> Oriented:
    """Made once per batch. there: the same reads with their bases on the side of the step."""
    return Oriented(_oriented(there.bases, reads.read_offsets), reads.read_offsets)


def score(reads: Oriented, candidates: Candidates, packed: ndarray, scoring: Scoring) -> Scores:
    """Best score of each candidate's read in its window, and where that alignment ends.

    Status UNGAPPED: an alignment without gaps, proven best, found without dynamic programming; OK: found by it (score
    0 and stops at the window's start when nothing scores above 0); TOO_LONG: a read beyond MAX_READ_LENGTH, score 0.
    """
    costs, number = costs_of(scoring), len(candidates)
    best, query_stop, status = np.zeros(number, np.int32), np.zeros(number, np.int32), np.zeros(number, np.uint8)
    reference_stop = candidates.window_start.copy()
    starts, lengths = queries_of(reads, candidates)
    windows = candidates.window_start, candidates.window_stop
    found = best, query_stop, reference_stop, status
    _score_ungapped(reads.bases, starts, lengths, windows, candidates.diagonal, packed, costs, MAX_READ_LENGTH, found)
    rest = np.flatnonzero(status == OK)
    pairs = _pairs(reads.bases, starts, lengths, candidates, packed, rest)
    ends = pairwise.score_pairs(pairs, costs, LOCAL, known=best[rest])
    best[rest], query_stop[rest] = ends.score, ends.query_stop
    reference_stop[rest] = candidates.window_start[rest] + ends.target_stop
    return Scores(best, query_stop, reference_stop, status)


def trace(
    reads: Oriented,
    candidates: Candidates,
    chosen: ndarray,
    packed: ndarray,
    scoring: Scoring,
    scores: Scores | None = None,
) -> Extensions:
    """The alignments of the chosen candidates (int64 [e]), gaps leftmost. `scores`: those of `score`, if at hand.

    A candidate without an alignment (score 0, too long) comes back with an empty CIGAR and its status.
    """
    costs = costs_of(scoring)
    taken = take(candidates, "candidates", chosen)
    found = score(reads, taken, packed, scoring) if scores is None else take(scores, "candidates", chosen)
    starts, lengths = queries_of(reads, taken)
    spans = np.zeros((chosen.size, 4), np.int64)  # score, query start, reference start, edit distance
    spans[:, 1], spans[:, 2] = found.query_stop, found.reference_stop
    _trace_ungapped(reads.bases, starts, lengths, found, packed, costs, spans)
    gapped, ends = gapped_ends(taken, found)
    pairs = _pairs(reads.bases, starts, lengths, taken, packed, gapped)
    return gathered(chosen, taken, found, spans, gapped, pairwise.trace_pairs(pairs, costs, LOCAL, ends))


def gapped_ends(candidates: Candidates, found: Scores) -> tuple[ndarray, Ends]:
    """(rows that dynamic programming has to trace, where their alignments end)."""
    gapped = np.flatnonzero((found.status == OK) & (found.score > 0))
    target_stop = (found.reference_stop - candidates.window_start)[gapped].astype(np.int32)
    return gapped, Ends(found.score[gapped], found.query_stop[gapped], target_stop)


def gathered(
    chosen: ndarray, candidates: Candidates, found: Scores, spans: ndarray, gapped: ndarray, traces: Traces
) -> Extensions:
    """Ungapped rows (already in `spans`) and traced ones (`gapped`) together."""
    spans[gapped, 0], spans[gapped, 1], spans[gapped, 3] = traces.score, traces.query_start, traces.edit_distance
    spans[gapped, 2] = candidates.window_start[gapped] + traces.target_start
    cigar, offsets = _cigars(found.status, found.query_stop - spans[:, 1], gapped, traces)
    return Extensions(
        candidate=chosen.astype(np.int64),
        score=spans[:, 0].astype(np.int32),
        query_start=spans[:, 1].astype(np.int32),
        query_stop=found.query_stop,
        reference_start=spans[:, 2].copy(),
        reference_stop=found.reference_stop,
        edit_distance=spans[:, 3].astype(np.int32),
        cigar=cigar,
        cigar_offsets=offsets,
        status=found.status,
    )


def costs_of(scoring: Scoring) -> tuple[int, int, int, int, int]:
    """Scores in the order of the engine: match, mismatch, gap open, gap extension, end bonus."""
    return scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend, scoring.end_bonus


def queries_of(reads: Oriented, candidates: Candidates) -> tuple[ndarray, ndarray]:
    """(where each candidate's read starts in the oriented bases, its length)."""
    first = reads.offsets[candidates.read]
    starts = first + np.where(candidates.strand == 1, reads.offsets[-1], 0)
    return starts, reads.offsets[candidates.read + 1] - first


def _pairs(
    oriented: ndarray, starts: ndarray, lengths: ndarray, candidates: Candidates, packed: ndarray, rows: ndarray
) -> Pairs:
    """Oriented reads against whole windows, for these rows of the candidates."""
    windows = _windows(packed, candidates.window_start[rows], candidates.window_stop[rows])
    return Pairs(oriented, starts[rows], lengths[rows], *windows)


def _cigars(status: ndarray, aligned: ndarray, gapped: ndarray, traces: Traces) -> tuple[ndarray, ndarray]:
    """(CIGARs of all rows, their offsets): one run of M where the alignment has no gap, else what was traced."""
    runs = (status == UNGAPPED).astype(np.int64)
    runs[gapped] = np.diff(traces.cigar_offsets)
    offsets = offsets_of(runs)
    cigar = np.zeros(offsets[-1], np.uint32)
    plain = status == UNGAPPED
    cigar[offsets[:-1][plain]] = aligned[plain] << 4 | MATCH
    cigar[np.repeat(~plain, runs)] = traces.cigar
    return cigar, offsets


@kernel
def _oriented(bases, offsets):
    """The reads as sequenced, then their reverse complements: read r on strand s starts at offsets[r] + s * bases.

    Places are unsigned here and in `_unpack`, since a sign to be tested keeps a loop from becoming a vector loop.
    """
    out = np.empty(2 * bases.size, np.uint8)
    out[: bases.size] = bases
    for read in range(offsets.size - 1):
        length = np.uint64(offsets[read + 1] - offsets[read])
        last, behind = np.uint64(offsets[read + 1]) - np.uint64(1), np.uint64(bases.size + offsets[read])
        for k in range(length):
            base = bases[last - k]
            out[behind + k] = base if base > 3 else np.uint8(3) - base
    return out


@kernel
def _unpack(packed, start, stop, out):
    """Reference bases [start, stop), two a byte, into out; anything but A C G T becomes NEVER."""
    odd = start & 1 if start < stop else 0
    if odd:
        out[0] = _never(packed[start >> 1] >> np.uint8(4))
    whole, first, place = (stop - start - odd) >> 1, np.uint64((start + odd) >> 1), np.uint64(odd)
    for k in range(np.uint64(whole)):
        both, at = packed[first + k], place + k + k
        out[at] = _never(both & np.uint8(15))
        out[at + np.uint64(1)] = _never(both >> np.uint8(4))
    if odd + 2 * whole < stop - start:
        out[stop - start - 1] = _never(packed[first + np.uint64(whole)] & np.uint8(15))


@kernel
def _never(base):
    """4 (no base) becomes NEVER (5), so that it equals no read's 4."""
    return np.uint8(base + (base >> np.uint8(2)))


@kernel
def _windows(packed, starts, stops):
    """(bases of all windows, their starts in there, their lengths)."""
    places, lengths = np.zeros(starts.size, np.int64), stops - starts
    total = 0
    for window in range(starts.size):
        places[window] = total
        total += lengths[window]
    bases = np.empty(total, np.uint8)
    for window in range(starts.size):
        _unpack(packed, starts[window], stops[window], bases[places[window] : places[window] + lengths[window]])
    return bases, places, lengths


@kernel
def _best_segment(query, target, first, length, costs):
    """(score, stop) of the best ungapped alignment of query[first:] on target, ties to the first stop.

    `query` is the whole read, `target` holds the reference beside query[first], query[first + 1] and so on.
    """
    match, mismatch, _, _, bonus = costs
    differences, beside = 0, query[first : first + length]
    for i in range(length):
        differences += beside[i] != target[i]
    if differences == 0 and length == query.size:
        return length * match + 2 * bonus, length
    best, stop = 0, 0
    running = bonus if first == 0 else 0
    for i in range(length):
        running += match if query[first + i] == target[i] else -mismatch
        reached = running + (bonus if first + i + 1 == query.size else 0)
        if reached > best:
            best, stop = reached, first + i + 1
        running = max(running, 0)
    return best, stop


@kernel
def _lies_elsewhere(query, window, place):
    """Does the window hold the whole read exactly at another place than `place`?"""
    for start in range(window.size - query.size + 1):
        i = 0
        while i < query.size and query[i] == window[start + i]:
            i += 1
        if i == query.size and start != place:
            return True
    return False


@kernel
def _score_ungapped(oriented, starts, lengths, windows, diagonals, packed, costs, limit, found):
    """Best ungapped alignment on each candidate's diagonal; status UNGAPPED where nothing else can score more."""
    match, mismatch, gap_open, gap_extend, bonus = costs
    score, query_stop, reference_stop, status = found
    space = np.empty(1024, np.uint8)
    for c in range(starts.size):
        start, stop, length = windows[0][c], windows[1][c], lengths[c]
        if length > limit:
            status[c] = TOO_LONG
            continue
        if stop - start > space.size:
            space = np.empty(2 * (stop - start), np.uint8)
        query = oriented[starts[c] : starts[c] + length]
        low, high = max(diagonals[c], start), min(diagonals[c] + length, stop)
        if low >= high:
            continue
        target = space[: high - low]
        _unpack(packed, low, high, target)
        best, end = _best_segment(query, target, low - diagonals[c], high - low, costs)
        if best > 0 and ungapped_is_best(best, length, match, mismatch, gap_open, gap_extend, bonus):
            window = space[: stop - start]
            _unpack(packed, start, stop, window)
            perfect = best == length * match + 2 * bonus
            if perfect or not _lies_elsewhere(query, window, diagonals[c] - start):
                query_stop[c], reference_stop[c], status[c] = end, diagonals[c] + end, UNGAPPED
        score[c] = best


@kernel
def _trace_ungapped(oriented, starts, lengths, found, packed, costs, spans):
    """Score, query start, reference start and edit distance of the candidates with status UNGAPPED."""
    match, mismatch, _, _, bonus = costs
    score, query_stop, reference_stop, status = found
    for c in range(starts.size):
        if status[c] != UNGAPPED:
            continue
        if score[c] == lengths[c] * match + 2 * bonus:
            spans[c, 0], spans[c, 1], spans[c, 2] = lengths[c] * match, 0, reference_stop[c] - lengths[c]
            continue
        left = score[c] - (bonus if query_stop[c] == lengths[c] else 0)
        i, edits, raw = np.int64(query_stop[c]), 0, left
        diagonal = reference_stop[c] - query_stop[c]
        while i > 0 and (left > 0 or i == query_stop[c]):
            i -= 1
            place = diagonal + i
            base = (packed[place >> 1] >> np.uint8((place & 1) << 2)) & 15
            equal = base == oriented[starts[c] + i] and base < 4
            edits += not equal
            left -= match if equal else -mismatch
        spans[c, 0], spans[c, 1], spans[c, 2], spans[c, 3] = raw - left, i, diagonal + i, edits
