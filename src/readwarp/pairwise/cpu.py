"""Pairs of sequences on CPU lanes: the order of the pairs, and the width of their lanes."""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.errors import UsageError
from readwarp.pairwise import scalar
from readwarp.pairwise.groups import score_sorted, trace_sorted
from readwarp.pairwise.pairs import Ends, Pairs, Scheme, Tasks, Traces, Walks
from readwarp.ragged import fields_of, offsets_of, replace
from readwarp.rules.bases import NEVER, UNKNOWN
from readwarp.rules.cigar import DELETION, INSERTION

PORTION = 1 << 24  # bases laid out in lanes at a time


def score_pairs(pairs: Pairs, scheme: Scheme, known: ndarray | None = None) -> Ends:
    """Score every pair, in the narrowest lanes that hold its score, and find where its first best alignment ends.

    Ties go to the smallest target stop, then the smallest query stop. known: lower bounds of the scores, by which pairs
    skip lanes they would overflow.
    """
    ends, order = score_empty_pairs(pairs, scheme)
    for rows, how in by_letters(pairs, scheme, order):
        for width in _widths(pairs, how):
            fits = np.ones(rows.size, bool) if known is None else known[rows] < _ceiling(width, how.mode)
            now = rows[fits]
            for some in _portions(now, pairs):
                score_sorted(pairs, some, how, width, ends)
            fits[fits] = (ends.score[now] != scalar.OVERFLOWN) | (how.mode != scalar.LOCAL)
            rows = rows[~fits]
    return ends


def by_letters(pairs: Pairs, scheme: Scheme, order: ndarray) -> list[tuple[ndarray, Scheme]]:
    """Split the order into pairs without N, and pairs with N, whose costs become a matrix."""
    if scheme.matrix.size:
        return [(order, scheme)]
    is_unknown = np.zeros(order.size, bool)
    find_unknown(pairs, order, is_unknown)
    if not is_unknown.any():
        return [(order, scheme)]
    codes = np.arange(1 + max(NEVER, int(pairs.queries.max()), int(pairs.targets.max())))
    matrix = np.full((scalar.ALPHABET, scalar.ALPHABET), scalar.UNREACHED, np.int32)
    matrix[: codes.size, : codes.size] = -scheme.costs.mismatch
    matrix[UNKNOWN, : codes.size] = matrix[: codes.size, NEVER] = -min(scheme.costs.mismatch, scalar.UNKNOWN_COST)
    matrix[codes, codes], matrix[scalar.PAD, : scalar.OUTSIDE] = scheme.costs.match, 0
    return [(order[~is_unknown], scheme), (order[is_unknown], scheme._replace(matrix=matrix.ravel()))]


@kernel
def find_unknown(pairs, order, is_unknown):
    """Mark in `is_unknown` the pairs of the order whose query or target has an N."""
    queries, query_starts, query_lengths, targets, target_starts, target_lengths = pairs
    for row in range(order.size):
        pair, found = order[row], False
        query, target = np.uint64(query_starts[pair]), np.uint64(target_starts[pair])  # unsigned: for vector loops
        for i in range(query, query + np.uint64(query_lengths[pair])):
            found |= queries[i] == UNKNOWN
        for i in range(target, target + np.uint64(target_lengths[pair])):
            found |= targets[i] == NEVER
        is_unknown[row] = found


def score_empty_pairs(pairs: Pairs, scheme: Scheme) -> tuple[Ends, ndarray]:
    """Return (ends, final where a sequence is empty: one gap, or nothing; all other pairs by length)."""
    ends = Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))
    order = np.lexsort((pairs.target_lengths, pairs.query_lengths))
    is_empty = np.minimum(pairs.query_lengths, pairs.target_lengths) == 0
    if scheme.mode != scalar.LOCAL:
        query, target = pairs.query_lengths[is_empty], pairs.target_lengths[is_empty] * (scheme.mode == scalar.GLOBAL)
        cost = scheme.costs.gap_open + (query + target) * scheme.costs.gap_extend
        ends.score[is_empty] = np.where(query + target > 0, -cost, 0)
        ends.query_stop[is_empty], ends.target_stop[is_empty] = query, target
    return ends, order[~is_empty[order]]


def trace_pairs(pairs: Pairs, scheme: Scheme, ends: Ends, letters: int = scalar.ALPHABET) -> Traces:
    """Trace the alignments that end where `score_pairs` found the ends, gaps leftmost.

    No path of the known score strays further from its diagonal than `scalar.longest_gaps`, so the band is exact.
    letters: an upper bound of the codes, known to the caller, for cards.
    """
    tasks = tasks_of(pairs, scheme, ends)
    walks, cigar = start_walks(tasks, scheme)
    for rows, how in by_letters(pairs, scheme, rows_to_trace(tasks)):
        for width in _widths(pairs, how):
            fits = tasks.ends.score[rows] < _ceiling(width, how.mode)
            for some in _portions(rows[fits], pairs):
                trace_sorted(tasks, some, how, width, walks, cigar)
            rows = rows[~fits]
    return finish_traces(tasks, scheme, walks, cigar)


def _portions(order: ndarray, pairs: Pairs) -> list[ndarray]:
    """Cut the order into parts whose sequences have about PORTION bases in total."""
    bases = np.cumsum(pairs.query_lengths[order] + pairs.target_lengths[order])
    return np.split(order, np.flatnonzero(np.diff(bases // PORTION)) + 1) if order.size else []


def tasks_of(pairs: Pairs, scheme: Scheme, ends: Ends) -> Tasks:
    """Make the tasks, with scores less the bonus for the query's last base where that is aligned."""
    has_bonus = (scheme.mode == scalar.LOCAL) & (ends.score > 0) & (ends.query_stop == pairs.query_lengths)
    score = (ends.score - np.where(has_bonus, scheme.costs.bonus, 0)).astype(np.int32)
    ends = replace(ends, score=score)
    return Tasks(pairs, ends, strays_of(ends, scheme))


def start_walks(tasks: Tasks, scheme: Scheme) -> tuple[Walks, ndarray]:
    """Return (walks, with room for their runs, and complete where the alignment is a single gap; all runs)."""
    _, query_stop, target_stop = tasks.ends
    walks = Walks(*(np.zeros(query_stop.size, field.dtype) for field in fields_of(Walks).values()))
    runs = max_runs(tasks.ends, scheme)
    cigar = np.zeros(runs.sum(), np.uint32)
    walks.first_run[:] = np.cumsum(runs) - runs
    length = np.maximum(query_stop, target_stop)
    pairs = np.flatnonzero((length > 0) & (np.minimum(query_stop, target_stop) == 0))
    walks.edit_distance[pairs], walks.runs[pairs] = length[pairs], 1
    operations = np.where(query_stop[pairs] > 0, INSERTION, DELETION)
    cigar[walks.first_run[pairs]] = length[pairs] << 4 | operations
    return walks, cigar


def max_runs(ends: Ends, scheme: Scheme) -> ndarray:
    """Bound a CIGAR's runs for each score, int64, without bonuses: a gap costs at least its opening and one base."""
    match, _, gap_open, gap_extend, bonus = scheme.costs
    score, query_stop, target_stop = ends
    spare = np.minimum(query_stop, target_stop) * match + (bonus if scheme.mode == scalar.LOCAL else 0) - score
    gaps = np.maximum(spare, 0) // (gap_open + gap_extend)
    return np.asarray(np.minimum(2 * gaps + 1, query_stop + target_stop), np.int64)


def rows_to_trace(tasks: Tasks) -> ndarray:
    """Return the pairs whose alignments are more than a gap, by the width of their bands."""
    _, query_stop, target_stop = tasks.ends
    order = np.lexsort((query_stop, tasks.strays.sum(axis=1)))
    return order[(query_stop[order] > 0) & (target_stop[order] > 0)]


def finish_traces(tasks: Tasks, scheme: Scheme, walks: Walks, cigar: ndarray) -> Traces:
    """Gather the alignments, their runs in the order of the pairs."""
    offsets = offsets_of(walks.runs)
    places = np.arange(offsets[-1]) + np.repeat(walks.first_run - offsets[:-1], walks.runs)
    return check_walks(tasks, scheme, walks, offsets, cigar[places])


def check_walks(tasks: Tasks, scheme: Scheme, walks: Walks, offsets: ndarray, cigar: ndarray) -> Traces:
    """Check that each walk used up its score, except the bonus for the query's first base; return the alignments."""
    has_bonus = (scheme.mode == scalar.LOCAL) & (walks.query_start == 0) & (tasks.ends.query_stop > 0)
    if (walks.left != np.where(has_bonus, scheme.costs.bonus, 0)).any():
        raise AssertionError("an alignment does not add up to its score: the band was too narrow")
    score = tasks.ends.score - walks.left
    return Traces(score, walks.query_start, walks.target_start, walks.edit_distance, cigar, offsets)


def _ceiling(width: Any, mode: int) -> int:
    """Return the local score at which lanes of that width overflow; in other modes they never do (`_widths`)."""
    return 2 ** (8 * np.dtype(width).itemsize) - 1 if mode == scalar.LOCAL else 2**62


def _widths(pairs: Pairs, scheme: Scheme) -> tuple[Any, ...]:
    """List the lane types that hold these costs and lengths, narrowest first. Raises UsageError if int32 does not."""
    if len(pairs) == 0:
        return ()
    (match, mismatch, gap_open, gap_extend, bonus), mode = scheme.costs, scheme.mode
    query, target = int(pairs.query_lengths.max()), int(pairs.target_lengths.max())
    step = max(match + bonus, mismatch, gap_open + gap_extend)
    highest = min(query, target) * match + 2 * bonus
    lowest = 0 if mode == scalar.LOCAL else 3 * gap_open + (query + target + 1) * gap_extend + mismatch
    if highest + lowest + step >= 2**31:
        raise UsageError("scores of these sequences do not fit 32 bits: use smaller scores or shorter sequences")
    if mode != scalar.LOCAL:
        return (np.int16, np.int32) if highest + lowest + step + target < 2**15 else (np.int32,)
    narrow = (np.int8,) if step < 2**7 and max(query, target) < 2**15 else ()
    return (*narrow, np.int16, np.int32) if step < 2**15 else (np.int32,)


@kernel
def strays_of(ends, scheme):
    """Return how far each pair's path can stray from its diagonal: see `pairs.Tasks`."""
    score, query_stop, target_stop = ends
    strays = np.empty((score.size, 2), np.int64)
    bonus = scheme.costs.bonus if scheme.mode == scalar.LOCAL else 0
    for pair in range(score.size):
        query, target = np.int64(query_stop[pair]), np.int64(target_stop[pair])
        longest = scalar.longest_gaps(np.int64(score[pair]), query, target, scheme.costs, bonus)
        strays[pair, 0], strays[pair, 1] = longest
    return strays
