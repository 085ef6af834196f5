"""Pairs of sequences on CPU lanes: which run in lanes of which width, in which order."""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel
from readwarp.device.simd import lanes
from readwarp.errors import UsageError
from readwarp.pairwise.groups import score_sorted, trace_single, trace_sorted
from readwarp.pairwise.pairs import Costs, Ends, Pairs, Traces
from readwarp.pairwise.scalar import GLOBAL, LOCAL, OVERFLOWN, longest_gaps
from readwarp.rules.cigar import DELETION, INSERTION

ROOM = 1 << 26  # bytes of directions that a group of lanes may take; larger pairs are traced one by one
RUNS = 5  # column of `traced`


NO_MATRIX = np.empty(0, np.int32)


def score_pairs(
    pairs: Pairs, costs: Costs, mode: int, known: ndarray | None = None, matrix: ndarray = NO_MATRIX
) -> Ends:
    """Score of every pair, in the narrowest lanes that hold it, and where the first best alignment ends.

    Ties go to the smallest target stop, then the smallest query stop. `known`: scores that are certainly reached, so
    that pairs which must overflow narrow lanes skip them. `matrix` (int32 [ALPHABET * ALPHABET]): scores of a query's
    code with a target's, in place of match and mismatch, which are then its extremes.
    """
    ends = Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))
    order = np.lexsort((pairs.target_lengths, pairs.query_lengths))
    empty = (pairs.query_lengths[order] == 0) | (pairs.target_lengths[order] == 0)
    score_empty(pairs.query_lengths, pairs.target_lengths, order[empty], costs, mode, ends)
    order = order[~empty]
    for width in _widths(pairs, costs, mode):
        fits = np.ones(order.size, bool) if known is None else known[order] < _ceiling(width, mode)
        now = order[fits]
        if now.size:
            score_sorted(pairs, now, costs, matrix, mode, np.empty(lanes(width), width), *ends)
            fits[fits] = (ends.score[now] != OVERFLOWN) | (mode != LOCAL)
        order = order[~fits]
    return ends


def trace_pairs(pairs: Pairs, costs: Costs, mode: int, ends: Ends, matrix: ndarray = NO_MATRIX) -> Traces:
    """The alignments that end where `score_pairs` found the ends, gaps leftmost.

    A path of the known score cannot stray further from its diagonal than `scalar.longest_gaps`, so the band is exact.
    """
    reached = without_end_bonus(pairs, costs, mode, ends)
    traced = np.zeros((len(pairs), 6), np.int64)
    cigar = np.empty(4 * len(pairs) + 64, np.uint32)
    used = trace_empty(ends, mode, traced, cigar)
    strays = strays_of(reached, ends.query_stop, ends.target_stop, costs, mode)
    order = np.lexsort((ends.query_stop, strays.sum(axis=1)))
    order = order[(ends.query_stop[order] > 0) & (ends.target_stop[order] > 0)]
    work = (pairs, reached, ends.query_stop, ends.target_stop, strays)
    for width in _widths(pairs, costs, mode):
        fits = reached[order] < _ceiling(width, mode)
        now, order = order[fits], order[~fits]
        if now.size:
            like = np.empty(lanes(width), width)
            cigar, used = trace_sorted(work, now, costs, matrix, mode, like, ROOM, traced, cigar, used)
            large = now[traced[now, RUNS] < 0]
            if large.size:
                cigar, used = trace_single(work, large, costs, matrix, mode, traced, cigar, used)
    return finished(ends, reached, costs, mode, traced, cigar)


def without_end_bonus(pairs: Pairs, costs: Costs, mode: int, ends: Ends) -> ndarray:
    """Scores less the bonus for the query's last base, where it is aligned (int32 [p])."""
    has_it = (mode == LOCAL) & (ends.score > 0) & (ends.query_stop == pairs.query_lengths)
    return (ends.score - np.where(has_it, costs[4], 0)).astype(np.int32)


def finished(ends: Ends, reached: ndarray, costs: Costs, mode: int, traced: ndarray, cigar: ndarray) -> Traces:
    """What was traced, in the order of the pairs."""
    offsets, cigar = _in_order(traced, cigar)
    query_start, target_start, edits, left = (traced[:, column].astype(np.int32) for column in range(4))
    return checked(ends, reached, costs, mode, (query_start, target_start, edits, left), offsets, cigar)


def checked(
    ends: Ends, reached: ndarray, costs: Costs, mode: int, traced: tuple[ndarray, ...], offsets: ndarray, cigar: ndarray
) -> Traces:
    """Traces from query start, target start, edit distance and what is left of the score (int32), which must add up."""
    query_start, target_start, edits, left = traced
    if (left != np.where((mode == LOCAL) & (query_start == 0) & (ends.score > 0), costs[4], 0)).any():
        raise AssertionError("an alignment does not add up to its score: the band was too narrow")
    return Traces((reached - left).astype(np.int32), query_start, target_start, edits, cigar, offsets)


def _ceiling(width: Any, mode: int) -> int:
    """The local score at which lanes of that width overflow; other modes never do (`_widths`)."""
    return 2 ** (8 * np.dtype(width).itemsize) - 1 if mode == LOCAL else 2**62


def _widths(pairs: Pairs, costs: Costs, mode: int) -> tuple[Any, ...]:
    """Lane types that can hold these costs and lengths, narrowest first. Raises UsageError if not even int32 can."""
    if len(pairs) == 0:
        return ()
    match, mismatch, gap_open, gap_extend, bonus = costs
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
def score_empty(query_lengths, target_lengths, order, costs, mode, ends):
    """Pairs of which one sequence is empty: nothing in local mode, one gap or nothing in the others."""
    score, query_stop, target_stop = ends
    for pair in order:
        gap = query_lengths[pair] + (target_lengths[pair] if mode == GLOBAL else 0)
        if mode != LOCAL:
            score[pair] = -(costs[2] + gap * costs[3]) if gap else 0
            query_stop[pair] = query_lengths[pair]
            target_stop[pair] = target_lengths[pair] if mode == GLOBAL else 0


@kernel
def trace_empty(ends, mode, traced, cigar):
    """Alignments that are one gap or nothing. Returns the number of runs."""
    score, query_stop, target_stop = ends
    used = 0
    for pair in range(score.size):
        gap = max(query_stop[pair], target_stop[pair])
        if mode != LOCAL and min(query_stop[pair], target_stop[pair]) == 0 and gap > 0:
            cigar[used] = np.uint32(gap << 4 | (INSERTION if query_stop[pair] > 0 else DELETION))
            traced[pair, 2], traced[pair, 4], traced[pair, 5] = gap, used, 1
            used += 1
    return used


@kernel
def strays_of(reached, query_stop, target_stop, costs, mode):
    """How far each pair's path can stray from its diagonal, by deletions and by insertions (int64 [p, 2])."""
    strays = np.empty((reached.size, 2), np.int64)
    bonus = costs[4] if mode == LOCAL else 0
    for pair in range(reached.size):
        lengths = np.int64(query_stop[pair]), np.int64(target_stop[pair])
        sides = longest_gaps(np.int64(reached[pair]), *lengths, costs[0], costs[2], costs[3], bonus)
        strays[pair, 0], strays[pair, 1] = sides
    return strays


@kernel
def _in_order(traced, runs):
    """(cigar offsets, runs) in the order of the pairs."""
    offsets, cigar = np.zeros(len(traced) + 1, np.int64), np.empty(traced[:, 5].sum(), np.uint32)
    for pair in range(len(traced)):
        begin, number = traced[pair, 4], traced[pair, 5]
        offsets[pair + 1] = offsets[pair] + number
        cigar[offsets[pair] : offsets[pair + 1]] = runs[begin : begin + number]
    return offsets, cigar
