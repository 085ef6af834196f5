"""Extend on CUDA: a thread per candidate for the ungapped answer, the engine's threads for the others.

Names and results as in `cpu`. Arrays of the batches may be on the device or on the host; bases and reference stay on
the device, what is counted and sorted (places, lengths, scores) is brought to the host, where the results are left.
"""

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray

from readwarp.align.extend.cpu import OK, TOO_LONG, UNGAPPED, costs_of, gathered, rows_of
from readwarp.align.extend.scalar import ungapped_is_best
from readwarp.batches import Candidates, Extensions, ReadBatch, Scores
from readwarp.config import MAX_READ_LENGTH, Scoring
from readwarp.device.jit import cuda
from readwarp.index.bases import complement
from readwarp.pairwise import cuda as pairwise
from readwarp.pairwise.pairs import Ends, Pairs
from readwarp.pairwise.scalar import LOCAL

T = TypeVar("T", Candidates, Scores)
THREADS = 128


def score(reads: ReadBatch, candidates: Candidates, packed: Any, scoring: Scoring) -> Scores:
    """See cpu.score."""
    costs, candidates = costs_of(scoring), _on_host(candidates)
    number = len(candidates)
    oriented, starts, lengths = _queries(reads, candidates)
    there = [cuda.to_device(column) for column in (starts, lengths, candidates.window_start, candidates.window_stop)]
    found = [
        cuda.to_device(column)
        for column in (
            np.zeros(number, np.int32), np.zeros(number, np.int32), candidates.window_start, np.zeros(number, np.uint8),
        )
    ]  # fmt: skip
    packed = _on_device(packed)
    if number:
        score_ungapped[_grid(number), THREADS](
            oriented, *there, cuda.to_device(candidates.diagonal), packed, *costs, MAX_READ_LENGTH, *found
        )
    scores = Scores(*(column.copy_to_host() for column in found))
    rest = np.flatnonzero(scores.status == OK)
    ends = pairwise.score_pairs(_pairs(oriented, starts, lengths, candidates, packed, rest), costs, LOCAL)
    scores.score[rest], scores.query_stop[rest] = ends.score, ends.query_stop
    scores.reference_stop[rest] = candidates.window_start[rest] + ends.target_stop
    return scores


def trace(
    reads: ReadBatch,
    candidates: Candidates,
    chosen: Any,
    packed: Any,
    scoring: Scoring,
    scores: Scores | None = None,
) -> Extensions:
    """See cpu.trace."""
    costs, chosen, packed = costs_of(scoring), _to_host(chosen), _on_device(packed)
    taken = rows_of(_on_host(candidates), chosen)
    found = score(reads, taken, packed, scoring) if scores is None else rows_of(_on_host(scores), chosen)
    oriented, starts, lengths = _queries(reads, taken)
    spans = np.zeros((chosen.size, 4), np.int64)
    spans[:, 1], spans[:, 2] = found.query_stop, found.reference_stop
    if chosen.size:
        spans_there, columns = (
            cuda.to_device(spans),
            (found.score, found.query_stop, found.reference_stop, found.status),
        )
        trace_ungapped[_grid(chosen.size), THREADS](
            oriented, cuda.to_device(starts), cuda.to_device(lengths), *(cuda.to_device(c) for c in columns),
            packed, *costs, spans_there,
        )  # fmt: skip
        spans = spans_there.copy_to_host()
    gapped = np.flatnonzero((found.status == OK) & (found.score > 0))
    pairs = _pairs(oriented, starts, lengths, taken, packed, gapped)
    target_stop = (found.reference_stop - taken.window_start)[gapped].astype(np.int32)
    ends = Ends(found.score[gapped], found.query_stop[gapped], target_stop)
    return gathered(chosen, taken, found, spans, gapped, pairwise.trace_pairs(pairs, costs, LOCAL, ends))


def _to_host(value: Any) -> ndarray:
    return value.copy_to_host() if hasattr(value, "copy_to_host") else value


def _on_host(value: T) -> T:
    return replace(value, **{field.name: _to_host(getattr(value, field.name)) for field in fields(value)})


def _on_device(value: Any) -> Any:
    return cuda.to_device(value) if isinstance(value, ndarray) else value


def _grid(threads: int) -> int:
    return -(-threads // THREADS)


def _queries(reads: ReadBatch, candidates: Candidates) -> tuple[Any, ndarray, ndarray]:
    """As in cpu; the bases are on the device."""
    offsets, bases = _to_host(reads.read_offsets), _on_device(reads.bases)
    oriented = cuda.device_array(max(1, 2 * reads.bases.size), np.uint8)
    if len(reads):
        orient[_grid(len(reads)), THREADS](bases, cuda.to_device(offsets), oriented)
    starts = offsets[candidates.read] + np.where(candidates.strand == 1, reads.bases.size, 0)
    return oriented, starts, np.diff(offsets)[candidates.read]


def _pairs(
    oriented: Any, starts: ndarray, lengths: ndarray, candidates: Candidates, packed: Any, rows: ndarray
) -> Pairs:
    """Oriented reads against whole windows, for these rows of the candidates."""
    begins = candidates.window_start[rows]
    sizes = candidates.window_stop[rows] - begins
    places = np.cumsum(sizes) - sizes
    bases = cuda.device_array(max(1, int(sizes.sum())), np.uint8)
    if rows.size:
        unpack_windows[_grid(rows.size), THREADS](
            packed, cuda.to_device(begins), cuda.to_device(sizes), cuda.to_device(places), bases
        )
    return Pairs(oriented, starts[rows], lengths[rows], bases, places, sizes)


@cuda.jit(device=True)
def reference_code(packed, position):
    """The reference base; anything but A C G T becomes NEVER, which no read has."""
    base = (packed[position >> 1] >> ((position & 1) << 2)) & 15
    return base + (base >> 2)


@cuda.jit
def orient(bases, offsets, oriented):
    read = cuda.grid(1)
    if read >= offsets.size - 1:
        return
    first, last = offsets[read], offsets[read + 1] - 1
    for i in range(first, last + 1):
        oriented[i] = bases[i]
        oriented[bases.size + first + last - i] = complement(bases[i])


@cuda.jit
def unpack_windows(packed, begins, sizes, places, bases):
    window = cuda.grid(1)
    if window < begins.size:
        for i in range(sizes[window]):
            bases[places[window] + i] = reference_code(packed, begins[window] + i)


@cuda.jit(device=True)
def lies_elsewhere(oriented, query_at, length, packed, start, stop, place):
    """Does the window hold the whole read exactly at another place?"""
    for begin in range(start, stop - length + 1):
        i = 0
        while i < length and oriented[query_at + i] == reference_code(packed, begin + i):
            i += 1
        if i == length and begin != place:
            return True
    return False


@cuda.jit
def score_ungapped(
    oriented, starts, lengths, window_starts, window_stops, diagonals, packed,
    match, mismatch, gap_open, gap_extend, bonus, limit, score, query_stop, reference_stop, status,
):  # fmt: skip
    """Best ungapped alignment on each candidate's diagonal; status UNGAPPED where nothing else can score more."""
    c = cuda.grid(1)
    if c >= starts.size:
        return
    length, diagonal = lengths[c], diagonals[c]
    if length > limit:
        status[c] = TOO_LONG
        return
    low, high = max(diagonal, window_starts[c]), min(diagonal + length, window_stops[c])
    best, stop, running = 0, 0, bonus if low == diagonal else 0
    for place in range(low, high):
        i = place - diagonal
        equal = oriented[starts[c] + i] == reference_code(packed, place)
        running += match if equal else -mismatch
        reached = running + (bonus if i + 1 == length else 0)
        if reached > best:
            best, stop = reached, i + 1
        running = max(running, 0)
    if best > 0 and ungapped_is_best(best, length, match, mismatch, gap_open, gap_extend, bonus):
        perfect = best == length * match + 2 * bonus
        if perfect or not lies_elsewhere(
            oriented, starts[c], length, packed, window_starts[c], window_stops[c], diagonal
        ):
            score[c], query_stop[c], reference_stop[c], status[c] = best, stop, diagonal + stop, UNGAPPED


@cuda.jit
def trace_ungapped(
    oriented, starts, lengths, score, query_stop, reference_stop, status, packed,
    match, mismatch, gap_open, gap_extend, bonus, spans,
):  # fmt: skip
    """Score, query start, reference start and edit distance of the candidates with status UNGAPPED."""
    c = cuda.grid(1)
    if c >= starts.size or status[c] != UNGAPPED:
        return
    left = score[c] - (bonus if query_stop[c] == lengths[c] else 0)
    i, edits, raw = query_stop[c], 0, left
    diagonal = reference_stop[c] - query_stop[c]
    while i > 0 and (left > 0 or i == query_stop[c]):
        i -= 1
        equal = oriented[starts[c] + i] == reference_code(packed, diagonal + i)
        edits += 0 if equal else 1
        left -= match if equal else -mismatch
    spans[c, 0], spans[c, 1], spans[c, 2], spans[c, 3] = raw - left, i, diagonal + i, edits
