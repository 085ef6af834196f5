"""Pairs of sequences on CPU lanes: which run in lanes of which width, in which order."""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel
from readwarp.device.simd import lanes
from readwarp.errors import UsageError
from readwarp.pairwise.groups import score_sorted, trace_single, trace_sorted
from readwarp.pairwise.pairs import Ends, Pairs, Scheme, Tasks, Traces, Walks
from readwarp.pairwise.scalar import GLOBAL, LOCAL, OVERFLOWN, longest_gaps
from readwarp.ragged import fields_of, replace
from readwarp.rules.cigar import DELETION, INSERTION

ROOM = 1 << 26  # bytes of directions that a group of lanes may take; larger pairs are traced one by one


def score_pairs(pairs: Pairs, scheme: Scheme, known: ndarray | None = None) -> Ends:
    """Score of every pair, in the narrowest lanes that hold it, and where the first best alignment ends.

    Ties go to the smallest target stop, then the smallest query stop. `known`: scores that are certainly reached, so
    that pairs which must overflow narrow lanes skip them.
    """
    ends, order = score_empty_pairs(pairs, scheme)
    for width in _widths(pairs, scheme):
        fits = np.ones(order.size, bool) if known is None else known[order] < _ceiling(width, scheme.mode)
        now = order[fits]
        if now.size:
            score_sorted(pairs, now, scheme, np.empty(lanes(width), width), ends)
            fits[fits] = (ends.score[now] != OVERFLOWN) | (scheme.mode != LOCAL)
        order = order[~fits]
    return ends


def score_empty_pairs(pairs: Pairs, scheme: Scheme) -> tuple[Ends, ndarray]:
    """(ends of the pairs of which one sequence is empty, the other pairs by length)."""
    ends = Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))
    order = np.lexsort((pairs.target_lengths, pairs.query_lengths))
    is_empty = (pairs.query_lengths[order] == 0) | (pairs.target_lengths[order] == 0)
    score_empty(pairs.query_lengths, pairs.target_lengths, order[is_empty], scheme, ends)
    return ends, order[~is_empty]


def trace_pairs(pairs: Pairs, scheme: Scheme, ends: Ends) -> Traces:
    """The alignments that end where `score_pairs` found the ends, gaps leftmost.

    A path of the known score cannot stray further from its diagonal than `scalar.longest_gaps`, so the band is exact.
    """
    tasks, walks = tasks_of(pairs, scheme, ends), empty_walks(len(pairs))
    cigar = np.empty(4 * len(pairs) + 64, np.uint32)
    used, order = trace_empty(ends, scheme, walks, cigar), rows_to_trace(tasks)
    for width in _widths(pairs, scheme):
        fits = tasks.ends.score[order] < _ceiling(width, scheme.mode)
        now, order = order[fits], order[~fits]
        if now.size:
            like = np.empty(lanes(width), width)
            cigar, used = trace_sorted(tasks, now, scheme, like, ROOM, walks, cigar, used)
            large = now[walks.runs[now] < 0]
            if large.size:
                cigar, used = trace_single(tasks, large, scheme, walks, cigar, used)
    return finish_traces(tasks, scheme, walks, cigar)


def tasks_of(pairs: Pairs, scheme: Scheme, ends: Ends) -> Tasks:
    """The pairs with their scores less the bonus for the query's last base, where it is aligned."""
    has_bonus = (scheme.mode == LOCAL) & (ends.score > 0) & (ends.query_stop == pairs.query_lengths)
    score = (ends.score - np.where(has_bonus, scheme.costs.bonus, 0)).astype(np.int32)
    ends = replace(ends, score=score)
    return Tasks(pairs, ends, strays_of(ends, scheme))


def empty_walks(pairs: int) -> Walks:
    return Walks(*(np.zeros(pairs, field.dtype) for field in fields_of(Walks).values()))


def rows_to_trace(tasks: Tasks) -> ndarray:
    """The pairs whose alignments are more than a gap, by the width of their bands."""
    _, query_stop, target_stop = tasks.ends
    order = np.lexsort((query_stop, tasks.strays.sum(axis=1)))
    return order[(query_stop[order] > 0) & (target_stop[order] > 0)]


def finish_traces(tasks: Tasks, scheme: Scheme, walks: Walks, cigar: ndarray) -> Traces:
    """What was traced, with its runs in the order of the pairs."""
    offsets, cigar = _in_order(walks, cigar)
    return checked(tasks, scheme, walks, offsets, cigar)


def checked(tasks: Tasks, scheme: Scheme, walks: Walks, offsets: ndarray, cigar: ndarray) -> Traces:
    """The alignments; what is left of each score must be the bonus for the query's first base, or nothing."""
    has_bonus = (scheme.mode == LOCAL) & (walks.query_start == 0) & (tasks.ends.query_stop > 0)
    if (walks.left != np.where(has_bonus, scheme.costs.bonus, 0)).any():
        raise AssertionError("an alignment does not add up to its score: the band was too narrow")
    score = tasks.ends.score - walks.left
    return Traces(score, walks.query_start, walks.target_start, walks.edit_distance, cigar, offsets)


def _ceiling(width: Any, mode: int) -> int:
    """The local score at which lanes of that width overflow; other modes never do (`_widths`)."""
    return 2 ** (8 * np.dtype(width).itemsize) - 1 if mode == LOCAL else 2**62


def _widths(pairs: Pairs, scheme: Scheme) -> tuple[Any, ...]:
    """Lane types that can hold these costs and lengths, narrowest first. Raises UsageError if not even int32 can."""
    if len(pairs) == 0:
        return ()
    (match, mismatch, gap_open, gap_extend, bonus), mode = scheme.costs, scheme.mode
    query, target = int(pairs.query_lengths.max()), int(pairs.target_lengths.max())
    step = max(match + bonus, mismatch, gap_open + gap_extend)
    highest = min(query, target) * match + 2 * bonus
    lowest = 0 if mode == LOCAL else 3 * gap_open + (query + target + 1) * gap_extend + mismatch
    if highest + lowest + step >= 2**31:
        raise UsageError("scores of these sequences would not fit 32 bits: use smaller scores or shorter sequences")
    if mode != LOCAL:
        return (np.int16, np.int32) if highest + lowest + step + target < 2**15 else (np.int32,)
    narrow = (np.int8,) if step < 2**7 and max(query, target) < 2**15 else ()
    return (*narrow, np.int16, np.int32) if step < 2**15 else (np.int32,)


@kernel
def score_empty(query_lengths, target_lengths, order, scheme, ends):
    """Pairs of which one sequence is empty: nothing in local mode, one gap or nothing in the others."""
    if scheme.mode == LOCAL:
        return
    for pair in order:
        query, target = query_lengths[pair], target_lengths[pair] if scheme.mode == GLOBAL else 0
        gap = query + target
        ends.score[pair] = -(scheme.costs.gap_open + gap * scheme.costs.gap_extend) if gap else 0
        ends.query_stop[pair], ends.target_stop[pair] = query, target


@kernel
def trace_empty(ends, scheme, walks, cigar):
    """Alignments that are one gap or nothing. Returns the number of runs."""
    _, query_stop, target_stop = ends
    used = 0
    for pair in range(query_stop.size):
        gap = max(query_stop[pair], target_stop[pair])
        if scheme.mode != LOCAL and min(query_stop[pair], target_stop[pair]) == 0 and gap > 0:
            cigar[used] = np.uint32(gap << 4 | (INSERTION if query_stop[pair] > 0 else DELETION))
            walks.edit_distance[pair], walks.first_run[pair], walks.runs[pair] = gap, used, 1
            used += 1
    return used


@kernel
def strays_of(ends, scheme):
    """How far each pair's path can stray from its diagonal: see `pairs.Tasks`."""
    score, query_stop, target_stop = ends
    strays = np.empty((score.size, 2), np.int64)
    bonus = scheme.costs.bonus if scheme.mode == LOCAL else 0
    for pair in range(score.size):
        query, target = np.int64(query_stop[pair]), np.int64(target_stop[pair])
        strays[pair, 0], strays[pair, 1] = longest_gaps(np.int64(score[pair]), query, target, scheme.costs, bonus)
    return strays


@kernel
def _in_order(walks, runs):
    """(cigar offsets, runs) in the order of the pairs."""
    number, first = walks.runs, walks.first_run
    offsets, cigar = np.zeros(number.size + 1, np.int64), np.empty(number.sum(), np.uint32)
    for pair in range(number.size):
        offsets[pair + 1] = offsets[pair] + number[pair]
        cigar[offsets[pair] : offsets[pair + 1]] = runs[first[pair] : first[pair] + number[pair]]
    return offsets, cigar
