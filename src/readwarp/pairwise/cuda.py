"""Pairs of sequences on CUDA: local scores of DNA on register tiles (`cuda_local`), tracebacks of DNA by groups of
threads (`cuda_trace`), all else with a thread per pair (docs/decisions/0006-threads.md).

Names and results are those of `cpu`. Working rows and directions are interleaved, element * threads + thread, so that
threads of a warp access neighbouring memory. A launch takes as many pairs as ROOM allows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP
from readwarp.device.instructions import highest_of, shuffle_up
from readwarp.device.memory import Workspace, current
from readwarp.pairwise.band import gain_of, trace_pair
from readwarp.pairwise.cpu import check_walks, finish_traces, rows_to_trace, score_empty_pairs, start_walks, tasks_of
from readwarp.pairwise.cuda_local import engines, fits_tiles, score_on_tiles
from readwarp.pairwise.cuda_trace import room_of, score_before, trace
from readwarp.pairwise.pairs import Ends, Pairs, Scheme, Traces
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, OVERFLOWN, SEMIGLOBAL, UNREACHED, cell
from readwarp.pairwise.trace_plan import MAX_DIAGONALS, can_trace
from readwarp.ragged import concatenate, replace, take

ROOM = 1 << 28  # bytes of working memory per launch
THREADS = 64
SMALL = 1024  # cells of a pair that one thread scores, not a warp
LAST = 0x7FFFFFFF


def score_pairs(pairs: Pairs, scheme: Scheme, known: ndarray | None = None) -> Ends:
    """See cpu.score_pairs. Lengths, starts and results are host arrays; sequences are host or device arrays."""
    ends, order = score_empty_pairs(pairs, scheme)
    with current().frame() as workspace:
        queries, targets = workspace.on_card((pairs.queries, pairs.targets))
        pairs = replace(pairs, queries=queries, targets=targets)
        for engine in engines(scheme.costs) if scheme.mode == LOCAL and not scheme.matrix.size else ():
            fits = fits_tiles(pairs, order, *engine)
            if known is not None:
                fits &= known[order] < engine[1].limit
            score_on_tiles(pairs, order[fits], engine, ends)
            fits[fits] = ends.score[order[fits]] != OVERFLOWN
            order = order[~fits]
        score_by_threads(pairs, order, scheme, workspace, ends)
    return ends


def score_by_threads(pairs: Pairs, order: ndarray, scheme: Scheme, workspace: Workspace, ends: Ends) -> None:
    """Score these pairs, sorted by size, for all costs, lengths and modes: small ones a thread each, others a warp."""
    if not order.size:
        return
    is_small = pairs.query_lengths[order] * pairs.target_lengths[order] <= SMALL
    with workspace.frame():
        there, scheme_there = workspace.on_card((pairs, scheme))
        found = Ends(*(workspace.empty(len(pairs), np.int32) for _ in range(3)))
        for group, some in ((WARP, order[~is_small]), (1, order[is_small])):
            heights = np.where(
                pairs.query_lengths > group, pairs.target_lengths, 1
            )  # of what waits for the next column
            for part in _parts(some, 8 * heights[some]):
                rows, launch = int(heights[part].max()), _launch(group * part.size, workspace)
                with workspace.frame():
                    borders = workspace.empty((2, rows, part.size), np.int32)
                    score_threads[launch](there, workspace.upload(part), np.int32(group), scheme_there, borders, found)
        for column, values in zip(ends, workspace.download(*found), strict=True):
            column[order] = values[order]


def trace_pairs(pairs: Pairs, scheme: Scheme, ends: Ends, letters: int = ALPHABET) -> Traces:
    """See cpu.trace_pairs; arrays as in score_pairs.

    Substitution matrices, codes that are not bases, scores that `trace_plan.can_trace` rejects, and bands of more than
    MAX_DIAGONALS go to `trace_by_threads`.
    """
    if not len(pairs) or scheme.matrix.size or not _can_trace(pairs, scheme, letters):
        return trace_by_threads(pairs, scheme, ends)
    tasks = tasks_of(pairs, scheme, ends)
    is_wide = tasks.strays.sum(axis=1) + 1 > MAX_DIAGONALS
    if is_wide.any():
        rows = np.flatnonzero(~is_wide), np.flatnonzero(is_wide)
        narrow, wide = ((take(pairs, "pairs", some), scheme, take(ends, "pairs", some)) for some in rows)
        parts = trace_pairs(*narrow, letters), trace_by_threads(*wide)
        return take(concatenate(parts, "pairs"), "pairs", np.argsort(np.concatenate(rows)))
    return check_walks(tasks, scheme, *trace(tasks, scheme, room_of(ROOM)))


def trace_by_threads(pairs: Pairs, scheme: Scheme, ends: Ends) -> Traces:
    """Trace an alignment per thread, with its rows and directions in device memory."""
    tasks = tasks_of(pairs, scheme, ends)
    order, (walks, cigar) = rows_to_trace(tasks), start_walks(tasks, scheme)
    columns, widths = ends.query_stop.astype(np.int64), tasks.strays.sum(axis=1) + 1
    sizes = (columns + widths) * ((np.minimum(columns, widths) + 1) // 2)
    with current().frame() as workspace:
        there, scheme_there, cigar_there, walks_there = workspace.on_card((tasks, scheme, cigar, walks))
        for part in _parts(order, (sizes + 8 * columns)[order]):
            shape, launch = (int(columns[part].max()), part.size), _launch(part.size, workspace)
            with workspace.frame():
                H, E = (workspace.empty(shape, np.int32) for _ in range(2))
                bits = workspace.empty((int(sizes[part].max()), part.size), np.uint8)
                trace_threads[launch](there, workspace.upload(part), scheme_there, H, E, bits, walks_there, cigar_there)
        cigar, *found = workspace.download(cigar_there, *walks_there)
    return finish_traces(tasks, scheme, type(walks)(*found), cigar)


def _can_trace(pairs: Pairs, scheme: Scheme, letters: int) -> bool:
    """Return whether `cuda_trace` can trace these pairs, judged also by their codes if these are on the host."""
    longest = int(max(pairs.query_lengths.max(), pairs.target_lengths.max()))
    seen = [int(s.max(initial=0)) + 1 if isinstance(s, ndarray) else ALPHABET for s in (pairs.queries, pairs.targets)]
    return can_trace(scheme, longest, min(letters, max(seen)))


def _launch(threads: int, workspace: Workspace) -> tuple[int, int, Any]:
    return -(-threads // THREADS), THREADS, workspace.stream


def _parts(order: ndarray, sizes: ndarray) -> Iterator[ndarray]:
    """Cut `order` into parts, each of as many pairs (at least one) as fit the room at the size of their largest."""
    begin, room = 0, room_of(ROOM)
    while begin < order.size:
        largest = np.maximum.accumulate(sizes[begin:])
        fits = largest * np.arange(1, largest.size + 1) <= room
        stop = begin + max(1, int(np.count_nonzero(fits)))
        yield order[begin:stop]
        begin = stop


@cuda_kernel
def score_threads(pairs, order, group, scheme, borders, ends):
    """Find the best score and end of a pair, by `group` threads: the best cell, ties to the first row, then column.

    group: 1 or WARP. Thread r has every group-th column from r on, and works on a row one step after thread r - 1,
    which passes on H and F; those of the last thread wait in `borders` for the first one's next column. A key holds a
    score, then the row.
    """
    thread, (costs, mode, matrix) = np.int32(cuda.grid(1)), scheme
    gap_open, gap_extend, bonus = costs[2:]
    slot, rank = np.int32(thread // group), np.int32(thread % group)
    pair, gaps = order[min(slot, order.size - 1)], (gap_open, gap_extend)
    query_at, target_at = pairs.query_starts[pair], pairs.target_starts[pair]
    columns, rows = np.int32(pairs.query_lengths[pair]), np.int32(pairs.target_lengths[pair] * (slot < order.size))
    opening, extending = np.int32(gap_open + gap_extend), np.int32(gap_extend)
    floor, column = np.int32(UNREACHED * (mode != LOCAL)), np.int32(columns * (mode != LOCAL))
    first_row, first_column = (rows - 1) * (mode == GLOBAL), (columns - 1) * (mode != LOCAL)  # where it may end
    best = np.int64(score_before(0, columns, gaps, bonus, mode) if mode == SEMIGLOBAL else floor) << 32 | LAST
    j, steps, most = rank, np.int32(highest_of(rows) + group - 1), highest_of(columns)
    while j - rank < most:
        code, reward = pairs.queries[query_at + min(j, columns - 1)], bonus * (mode == LOCAL and j == columns - 1)
        i, diagonal = np.int32(-rank), np.int32(score_before(0, j, gaps, bonus, mode))
        h = E = F = floor
        while i < steps - rank:
            left, F = shuffle_up(h), shuffle_up(F)
            if j == 0:
                left = np.int32(score_before(i + 1, 0, gaps, bonus, mode))
                F = floor if mode == LOCAL else np.int32(left - opening)
            elif rank == 0 and i < rows * (j < columns):
                left, F = borders[0, i, slot], borders[1, i, slot]
            if 0 <= i < rows and j < columns:
                gain = np.int32(gain_of(code, pairs.targets[target_at + i], costs, matrix))
                h, E, F, _ = cell(diagonal, gain, E, F, opening, extending, floor)
                key = np.int64(max(h, diagonal + gain + reward)) << 32 | (LAST - 1 - i)
                if key > best and i >= first_row and j >= first_column:
                    best, column = key, np.int32(j + 1)
                diagonal = left
                if j + 1 < columns * (rank == group - 1):
                    borders[0, i, slot], borders[1, i, slot] = h, F
            i = np.int32(i + 1)
        cuda.syncwarp()
        j = np.int32(j + group)
    if group == WARP:
        mine, best = best, highest_of(best)
        column = np.int32(-highest_of(-column if mine == best else np.int32(-LAST)))
    if rank == 0 and slot < order.size:
        ends.score[pair], ends.query_stop[pair], ends.target_stop[pair] = best >> 32, column, LAST - (best & LAST)


@cuda_kernel
def trace_threads(tasks, order, scheme, H, E, directions, walks, cigar):
    """Trace the alignment of one pair from its known end."""
    thread = cuda.grid(1)
    if thread < order.size:
        bits = directions[:, thread]
        trace_pair(tasks, order[thread], scheme, H[:, thread], E[:, thread], bits, walks, cigar)
