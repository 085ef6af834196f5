"""Extend on CPU lanes: the ungapped answer where it is proven, dynamic programming for the others."""

import numpy as np
from numpy import ndarray

from readwarp.align.extend.scalar import ungapped_is_best
from readwarp.batches import Candidates, ReadBatch, Scores, Status
from readwarp.config import MAX_READ_LENGTH, Scoring
from readwarp.device.jit import kernel
from readwarp.index.bases import complement
from readwarp.pairwise import cpu as pairwise
from readwarp.pairwise.scalar import LOCAL

OK, UNGAPPED, TOO_LONG = int(Status.OK), int(Status.UNGAPPED), int(Status.TOO_LONG)


def score(reads: ReadBatch, candidates: Candidates, packed: ndarray, scoring: Scoring) -> Scores:
    """Best score of each candidate's read in its window, and where that alignment ends.

    Status UNGAPPED: an alignment without gaps, proven best, found without dynamic programming; OK: found by it (score
    0 and stops at the window's start when nothing scores above 0); TOO_LONG: a read beyond MAX_READ_LENGTH, score 0.
    """
    number = len(candidates)
    found = Scores(
        np.zeros(number, np.int32),
        np.zeros(number, np.int32),
        candidates.window_start.copy(),
        np.zeros(number, np.uint8),
    )
    oriented = _oriented(reads.bases, reads.read_offsets)
    lengths = np.diff(reads.read_offsets)[candidates.read]
    starts = reads.read_offsets[candidates.read] + np.where(candidates.strand == 1, reads.bases.size, 0)
    _score_ungapped(
        oriented, starts, lengths, candidates.window_start, candidates.window_stop, candidates.diagonal, packed,
        costs_of(scoring), MAX_READ_LENGTH, found.score, found.query_stop, found.reference_stop, found.status,
    )  # fmt: skip
    rest = np.flatnonzero((found.status == OK) & (lengths > 0) & (candidates.window_stop > candidates.window_start))
    pairs = pairwise.Pairs(
        oriented,
        starts[rest],
        lengths[rest],
        *_windows(packed, candidates.window_start[rest], candidates.window_stop[rest]),
    )
    ends = pairwise.score_pairs(pairs, costs_of(scoring), LOCAL, known=found.score[rest])
    found.score[rest], found.query_stop[rest] = ends.score, ends.query_stop
    found.reference_stop[rest] = candidates.window_start[rest] + ends.target_stop
    return found


def costs_of(scoring: Scoring) -> tuple[int, int, int, int, int]:
    """Scores in the order of the engine: match, mismatch, gap open, gap extension, end bonus."""
    return scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend, scoring.end_bonus


@kernel
def _oriented(bases, offsets):
    """The reads as sequenced, then their reverse complements: read r on strand s starts at offsets[r] + s * bases."""
    out = np.empty(2 * bases.size, np.uint8)
    out[: bases.size] = bases
    for read in range(offsets.size - 1):
        first, last = offsets[read], offsets[read + 1] - 1
        for i in range(first, last + 1):
            out[bases.size + first + last - i] = complement(bases[i])
    return out


@kernel
def _unpack(packed, start, stop, out):
    """Reference bases [start, stop), two a byte, into out; anything but A C G T becomes NEVER."""
    for position in range(start, stop):
        base = (packed[position >> 1] >> np.uint8((position & 1) << 2)) & 15
        out[position - start] = base + (base >> 2)


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
def _score_ungapped(
    oriented, starts, lengths, window_starts, window_stops, diagonals, packed, costs, limit, score, query_stop, reference_stop, status
):  # fmt: skip
    """Best ungapped alignment on each candidate's diagonal; status UNGAPPED where nothing else can score more."""
    match, mismatch, gap_open, gap_extend, bonus = costs
    space = np.empty(1024, np.uint8)
    for c in range(starts.size):
        if lengths[c] > limit:
            status[c] = TOO_LONG
            continue
        start, stop = window_starts[c], window_stops[c]
        if stop - start > space.size:
            space = np.empty(2 * (stop - start), np.uint8)
        query = oriented[starts[c] : starts[c] + lengths[c]]
        low, high = max(diagonals[c], start), min(diagonals[c] + lengths[c], stop)
        if low >= high:
            continue
        first = low - diagonals[c]
        target = space[: high - low]
        _unpack(packed, low, high, target)
        best, end = _best_segment(query, target, first, high - low, costs)
        score[c], query_stop[c], reference_stop[c] = best, end, diagonals[c] + end
        if best > 0 and ungapped_is_best(best, lengths[c], match, mismatch, gap_open, gap_extend, bonus):
            if best < lengths[c] * match + 2 * bonus:
                window = space[: stop - start]
                _unpack(packed, start, stop, window)
                if _lies_elsewhere(query, window, diagonals[c] - start):
                    continue
            status[c] = UNGAPPED
