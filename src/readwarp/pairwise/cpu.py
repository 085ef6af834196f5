"""Pairs of sequences on CPU lanes: sorted into groups, transposed, scored, traced."""

from dataclasses import dataclass, fields

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel
from readwarp.device.simd import lanes
from readwarp.errors import UsageError
from readwarp.pairwise.lanes import (
    BLOCK,
    COLUMN,
    COLUMN_BLOCK,
    END_ROW,
    END_ROW_BLOCK,
    END_SCORE,
    ROW,
    ROW_BLOCK,
    SCORE,
    score_group,
)
from readwarp.pairwise.scalar import GLOBAL, LOCAL, OUTSIDE, PAD

Costs = tuple[int, int, int, int, int]  # match, mismatch, gap open, gap extension, bonus per query end (local mode)
OVERFLOWN = -1


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sequences to align, i-th query against i-th target; pairs may share bytes. Codes 0-125, never equal: no match."""

    queries: ndarray  # uint8
    query_starts: ndarray  # int64 [p]
    query_lengths: ndarray  # int64 [p]
    targets: ndarray  # uint8
    target_starts: ndarray  # int64 [p]
    target_lengths: ndarray  # int64 [p]

    def __len__(self) -> int:
        return self.query_starts.size


@dataclass(frozen=True, slots=True)
class Ends:
    """Best score of each pair, and where its first best alignment ends (0, 0 when nothing scores above 0)."""

    score: ndarray  # int32 [p]
    query_stop: ndarray  # int32 [p]
    target_stop: ndarray  # int32 [p]


@kernel
def transpose(source, starts, lengths, group, positions, at_end, filler, out):
    """Sequences of the pairs in `group` into lanes: out[position * lanes + lane], the rest filled with `filler`."""
    count = out.size // max(positions, 1) if group.size == 0 else out.size // positions
    out[:] = filler
    for lane in range(group.size):
        start, length = starts[group[lane]], lengths[group[lane]]
        offset = (positions - length if at_end else 0) * count + lane
        for i in range(length):
            out[offset + i * count] = source[start + i]


@kernel
def _top_row(query_lengths, group, columns, costs, mode, like, H):
    """The row above the target: 0 in local mode, a gap of the query's bases so far in the others."""
    count = H.size // columns
    floor = -(1 << (8 * like.itemsize - 1))
    H[:] = floor if mode == LOCAL else 0
    for lane in range(group.size):
        pads = columns - query_lengths[group[lane]]
        if mode == LOCAL:
            for j in range(pads):
                H[j * count + lane] = floor + costs[4]
        else:
            for j in range(pads, columns):
                H[j * count + lane] = -(costs[2] + (j - pads + 1) * costs[3])


@kernel
def _position(low, block, bits):
    """A position from its two digits in base BLOCK, each in a signed lane of that many bits."""
    mask = (1 << bits) - 1
    return (low & 255) + (block & mask) * BLOCK


@kernel
def _collect(found, pads, first, count, lane, columns, mode, bits):
    """(score, query stop, target stop) of one lane: the best cell, ties to the first row, then the first column."""
    floor = -(1 << (bits - 1)) if mode == LOCAL else 0
    end_score = np.int64(found[END_SCORE * count + lane]) - floor
    end_row = _position(np.int64(found[END_ROW * count + lane]), np.int64(found[END_ROW_BLOCK * count + lane]), bits)
    query_stop = columns - pads
    if mode != LOCAL:
        return end_score, query_stop, end_row
    score = np.int64(found[SCORE * count + lane]) - floor
    row = _position(np.int64(found[ROW * count + lane]), np.int64(found[ROW_BLOCK * count + lane]), bits) + 1
    if end_score > score or (end_score == score and end_row < row):
        return end_score, query_stop if end_score > 0 else 0, end_row
    block = np.int64(found[COLUMN_BLOCK * count + lane]) & ((1 << bits) - 1)
    blocks_padded = (first + BLOCK - 1) // BLOCK
    start = block * BLOCK if block < blocks_padded else first + (block - blocks_padded) * BLOCK
    column = start + (np.int64(found[COLUMN * count + lane]) & 255)
    return (score, column - pads + 1, row) if score > 0 else (score, 0, 0)


@kernel
def score_sorted(
    queries,
    query_starts,
    query_lengths,
    targets,
    target_starts,
    target_lengths,
    order,
    costs,
    mode,
    like,
    score,
    query_stop,
    target_stop,
):
    """Score the pairs named in `order`, group by group, in lanes of the dtype of `like`. Lengths are at least 1.

    A local score that reached the lane's greatest value comes back as OVERFLOWN.
    """
    bits = 8 * like.itemsize
    count = like.size
    ceiling = (1 << bits) - 1
    longest, tallest = 0, 0
    for pair in order:
        longest, tallest = max(longest, query_lengths[pair]), max(tallest, target_lengths[pair])
    query_space, target_space = np.empty(longest * count, like.dtype), np.empty(tallest * count, like.dtype)
    H_space, D_space = np.empty(longest * count, like.dtype), np.empty(longest * count, like.dtype)
    remaining, found = np.zeros(count, like.dtype), np.empty(8 * count, like.dtype)
    for begin in range(0, order.size, count):
        group = order[begin : begin + count]
        columns, rows, shortest = 0, 0, longest
        for lane in range(group.size):
            columns, rows = max(columns, query_lengths[group[lane]]), max(rows, target_lengths[group[lane]])
            shortest = min(shortest, query_lengths[group[lane]])
            if mode == GLOBAL:
                remaining[lane] = target_lengths[group[lane]]
        query, target = query_space[: columns * count], target_space[: rows * count]
        H, D = H_space[: columns * count], D_space[: columns * count]
        transpose(queries, query_starts, query_lengths, group, columns, True, PAD, query)
        transpose(targets, target_starts, target_lengths, group, rows, False, OUTSIDE, target)
        _top_row(query_lengths, group, columns, costs, mode, like, H)
        first = columns - shortest
        score_group(query, target, columns, rows, first, H, D, remaining, costs, mode, found)
        for lane in range(group.size):
            pair = group[lane]
            best, stop, end = _collect(found, columns - query_lengths[pair], first, count, lane, columns, mode, bits)
            score[pair] = OVERFLOWN if mode == LOCAL and best >= ceiling else best
            query_stop[pair], target_stop[pair] = stop, end


def score_pairs(pairs: Pairs, costs: Costs, mode: int, known: ndarray | None = None) -> Ends:
    """Score of every pair, in the narrowest lanes that hold it, and where the first best alignment ends.

    Ties go to the smallest target stop, then the smallest query stop. `known`: scores that are certainly reached, so
    that pairs which must overflow narrow lanes skip them.
    """
    ends = Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))
    order = np.lexsort((pairs.target_lengths, pairs.query_lengths))
    empty = (pairs.query_lengths[order] == 0) | (pairs.target_lengths[order] == 0)
    _score_empty(*(pairs.query_lengths, pairs.target_lengths), order[empty], costs, mode, *_fields(ends))
    order = order[~empty]
    for width in _widths(pairs, costs, mode):
        fits = np.ones(order.size, bool) if known is None or mode != LOCAL else known[order] < _ceiling(width)
        now = order[fits]
        if now.size:
            like = np.empty(lanes(width), width)
            score_sorted(*_fields(pairs), now, costs, mode, like, *_fields(ends))
            fits[fits] = ends.score[now] != OVERFLOWN
        order = order[~fits]
    return ends


def _fields(value: Pairs | Ends) -> tuple[ndarray, ...]:
    return tuple(getattr(value, field.name) for field in fields(value))


def _ceiling(width: type) -> int:
    """The local score at which lanes of that width overflow."""
    return 2 ** (8 * np.dtype(width).itemsize) - 1


def _widths(pairs: Pairs, costs: Costs, mode: int) -> tuple[type, ...]:
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
    if mode == LOCAL:
        return tuple(
            w
            for w in (np.int8, np.int16, np.int32)
            if step <= np.iinfo(w).max and (w != np.int8 or max(query, target) < 2**15)
        )
    return (np.int16, np.int32) if highest + lowest + step + target < 2**15 else (np.int32,)


@kernel
def _score_empty(query_lengths, target_lengths, order, costs, mode, score, query_stop, target_stop):
    """Pairs of which one sequence is empty: nothing in local mode, one gap or nothing in the others."""
    for pair in order:
        gap = query_lengths[pair] + (target_lengths[pair] if mode == GLOBAL else 0)
        if mode != LOCAL:
            score[pair] = -(costs[2] + gap * costs[3]) if gap else 0
            query_stop[pair] = query_lengths[pair]
            target_stop[pair] = target_lengths[pair] if mode == GLOBAL else 0
