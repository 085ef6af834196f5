"""Pairs of sequences on CUDA: local scores of DNA on register tiles (`cuda_local`), tracebacks of DNA by groups of
threads (`cuda_trace`), all else one pair per thread.

Names and results as in `cpu`. Working rows and directions are interleaved, element * threads + thread, so that the
threads of a warp read and write side by side. Launches are cut so that their working memory stays below ROOM.
"""

from collections.abc import Iterator

import numpy as np
from numpy import ndarray

from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace, current
from readwarp.pairwise.band import gain_of, trace_pair
from readwarp.pairwise.cpu import NO_MATRIX, checked, finished, score_empty, strays_of, trace_empty, without_end_bonus
from readwarp.pairwise.cuda_local import engines, fits_tiles, score_on_tiles
from readwarp.pairwise.cuda_trace import trace
from readwarp.pairwise.pairs import Costs, Ends, Pairs, Traces, merged, some_of
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, OVERFLOWN, SEMIGLOBAL, UNREACHED, cell
from readwarp.pairwise.trace_plan import WIDEST, is_served, most_runs
from readwarp.ragged import replace

ROOM = 1 << 28  # bytes of working memory of one launch
THREADS = 64


def score_pairs(
    pairs: Pairs, costs: Costs, mode: int, known: ndarray | None = None, matrix: ndarray = NO_MATRIX
) -> Ends:
    """See cpu.score_pairs. Lengths and starts are host arrays, sequences host or device arrays; returns host arrays."""
    ends = Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))
    order = np.lexsort((pairs.target_lengths, pairs.query_lengths))
    empty = (pairs.query_lengths[order] == 0) | (pairs.target_lengths[order] == 0)
    score_empty(pairs.query_lengths, pairs.target_lengths, order[empty], costs, mode, ends)
    order = order[~empty]
    with current().frame() as workspace:
        sequences = (workspace.upload(x) if isinstance(x, ndarray) else x for x in (pairs.queries, pairs.targets))
        pairs = replace(pairs, **dict(zip(("queries", "targets"), sequences, strict=True)))
        for form, constants in engines(costs) if mode == LOCAL and not matrix.size else ():
            fits = fits_tiles(pairs, order, form, constants)
            if known is not None:
                fits &= known[order] < constants.limit
            score_on_tiles(pairs, order[fits], form, constants, workspace, ends)
            fits[fits] = ends.score[order[fits]] != OVERFLOWN
            order = order[~fits]
        score_by_threads(pairs, order, costs, mode, matrix, workspace, ends)
    return ends


def score_by_threads(
    pairs: Pairs, order: ndarray, costs: Costs, mode: int, matrix: ndarray, workspace: Workspace, ends: Ends
) -> None:
    """Ends of these pairs, sorted by size: one alignment per thread, of any costs, lengths and mode."""
    if not order.size:
        return
    with workspace.frame():
        there = [workspace.upload(x) if isinstance(x, ndarray) else x for x in pairs]
        found = [workspace.empty(len(pairs), np.int32) for _ in range(3)]
        table = workspace.upload(matrix)
        for part in _parts(order, 8 * pairs.query_lengths[order]):
            columns, threads = int(pairs.query_lengths[part].max()), part.size
            with workspace.frame():
                rows = [workspace.empty((columns, threads), np.int32) for _ in range(2)]
                score_threads[_grid(threads), THREADS, workspace.stream](
                    *there, workspace.upload(part), *costs, table, mode, *rows, *found
                )
        for column, values in zip(ends, workspace.download(*found), strict=True):
            column[order] = values[order]


def trace_pairs(
    pairs: Pairs, costs: Costs, mode: int, ends: Ends, matrix: ndarray = NO_MATRIX, letters: int = ALPHABET
) -> Traces:
    """See cpu.trace_pairs; arrays as in score_pairs. `letters`: the caller knows that codes are below it.

    Substitution matrices, other codes than those of bases, scores that `trace_plan.is_served` names and bands of more
    than WIDEST diagonals are left to `trace_by_threads`.
    """
    if not len(pairs) or matrix.size or not _is_served(pairs, costs, mode, letters):
        return trace_by_threads(pairs, costs, mode, ends, matrix)
    reached = without_end_bonus(pairs, costs, mode, ends)
    strays = strays_of(reached, ends.query_stop, ends.target_stop, costs, mode)
    wide = strays.sum(axis=1) + 1 > WIDEST
    if wide.any():
        rows = np.flatnonzero(~wide), np.flatnonzero(wide)
        (few, few_ends), (many, many_ends) = (some_of(pairs, ends, some) for some in rows)
        traces = trace_pairs(few, costs, mode, few_ends, letters=letters)
        return merged(rows, (traces, trace_by_threads(many, costs, mode, many_ends)))
    outcome, offsets, cigar = trace(pairs, costs, mode, ends, reached, strays, _room())
    return checked(ends, reached, costs, mode, tuple(outcome[:4]), offsets, cigar)


def trace_by_threads(pairs: Pairs, costs: Costs, mode: int, ends: Ends, matrix: ndarray = NO_MATRIX) -> Traces:
    """One alignment per thread, its rows and directions in device memory."""
    reached = without_end_bonus(pairs, costs, mode, ends)
    traced = np.zeros((len(pairs), 6), np.int64)
    cigar = np.empty(len(pairs), np.uint32)
    used = trace_empty(ends, mode, traced, cigar)
    strays = strays_of(reached, ends.query_stop, ends.target_stop, costs, mode)
    widths = strays.sum(axis=1) + 1
    runs = most_runs(ends.query_stop, ends.target_stop, reached, costs, mode).astype(np.int64)
    order = np.lexsort((ends.query_stop, widths))
    order = order[(ends.query_stop[order] > 0) & (ends.target_stop[order] > 0)]
    traced[order, 4] = used + np.cumsum(runs[order]) - runs[order]
    bytes_of = (ends.query_stop + widths) * ((np.minimum(ends.query_stop, widths) + 1) // 2)
    with current().frame() as workspace:
        there, found = (
            [workspace.upload(x) if isinstance(x, ndarray) else x for x in values]
            for values in (pairs, (reached, ends.query_stop, ends.target_stop, strays))
        )
        table = workspace.upload(matrix)
        runs_there = workspace.upload(np.concatenate((cigar[:used], np.zeros(runs[order].sum(), np.uint32))))
        traced_there = workspace.upload(traced)
        for part in _parts(order, bytes_of[order] + 8 * ends.query_stop[order]):
            columns, threads = int(ends.query_stop[part].max()), part.size
            with workspace.frame():
                rows = [workspace.empty((columns, threads), np.int32) for _ in range(2)]
                directions = workspace.empty((int(bytes_of[part].max()), threads), np.uint8)
                trace_threads[_grid(threads), THREADS, workspace.stream](
                    *there, workspace.upload(part), *found, *costs, table, mode, *rows, directions,
                    traced_there, runs_there,
                )  # fmt: skip
        traced, cigar = workspace.download(traced_there, runs_there)
    return finished(ends, reached, costs, mode, traced, cigar)


def _is_served(pairs: Pairs, costs: Costs, mode: int, letters: int) -> bool:
    """Whether `cuda_trace` can trace these pairs; codes of host arrays are looked at."""
    longest = int(max(pairs.query_lengths.max(), pairs.target_lengths.max()))
    seen = [int(s.max(initial=0)) + 1 if isinstance(s, ndarray) else ALPHABET for s in (pairs.queries, pairs.targets)]
    return is_served(costs, mode, longest, min(letters, max(seen)))


def _grid(threads: int) -> int:
    return -(-threads // THREADS)


def _room() -> int:
    """Bytes of working memory of a launch: half of what a planned workspace has left, at most ROOM."""
    left = current().left
    return ROOM if left is None else min(ROOM, left // 2)


def _parts(order: ndarray, sizes: ndarray) -> Iterator[ndarray]:
    """Cut `order` so that the largest size of a part times its threads stays within the room (one thread at least)."""
    begin, room = 0, _room()
    while begin < order.size:
        largest = np.maximum.accumulate(sizes[begin:])
        fits = largest * np.arange(1, largest.size + 1) <= room
        stop = begin + max(1, int(np.count_nonzero(fits)))
        yield order[begin:stop]
        begin = stop


@cuda_kernel
def score_threads(
    queries, query_starts, query_lengths, targets, target_starts, target_lengths, order,
    match, mismatch, gap_open, gap_extend, bonus, matrix, mode, H, E, score, query_stop, target_stop,
):  # fmt: skip
    """Best score and ends of one pair: the best cell, ties to the first row, then the first column."""
    thread = cuda.grid(1)
    if thread >= order.size:
        return
    pair = order[thread]
    query_at, target_at = query_starts[pair], target_starts[pair]
    columns, rows = np.int32(query_lengths[pair]), np.int32(target_lengths[pair])
    opening, extending = np.int32(gap_open + gap_extend), np.int32(gap_extend)
    floor = np.int32(0) if mode == LOCAL else np.int32(UNREACHED)
    for j in range(columns):
        H[j, thread] = floor if mode == LOCAL else np.int32(-gap_open - (j + 1) * gap_extend)
        E[j, thread] = floor
    left = np.int32(bonus) if mode == LOCAL else np.int32(0)
    best = H[columns - 1, thread] if mode == SEMIGLOBAL else floor
    best_row, best_column = np.int32(0), np.int32(columns) if mode != LOCAL else np.int32(0)
    for i in range(rows):
        base = targets[target_at + i]
        diagonal = left
        if mode == GLOBAL:
            left -= opening if i == 0 else extending
        F = floor if mode == LOCAL else np.int32(left - opening)
        for j in range(columns):
            gain = np.int32(gain_of(queries[query_at + j], base, match, mismatch, matrix))
            h, e, F, _ = cell(diagonal, gain, E[j, thread], F, opening, extending, floor)
            end = h
            if mode == LOCAL and j == columns - 1:
                end = np.int32(diagonal + gain + bonus)
            if (mode == LOCAL or j == columns - 1) and (mode != GLOBAL or i == rows - 1) and end > best:
                best, best_row, best_column = end, np.int32(i + 1), np.int32(j + 1)
            diagonal = H[j, thread]
            H[j, thread], E[j, thread] = h, e
    score[pair], query_stop[pair], target_stop[pair] = best, best_column, best_row


@cuda_kernel
def trace_threads(
    queries, query_starts, query_lengths, targets, target_starts, target_lengths, order,
    reached, query_stop, target_stop, strays,
    match, mismatch, gap_open, gap_extend, bonus, matrix, mode, H, E, directions, traced, cigar,
):  # fmt: skip
    """The alignment of one pair, from its known end."""
    thread = cuda.grid(1)
    if thread >= order.size:
        return
    pairs = queries, query_starts, query_lengths, targets, target_starts, target_lengths
    costs, ends = (match, mismatch, gap_open, gap_extend, bonus), (reached, query_stop, target_stop)
    rows = H[:, thread], E[:, thread]
    trace_pair(pairs, order[thread], ends, strays, costs, matrix, mode, *rows, directions[:, thread], traced, cigar)
