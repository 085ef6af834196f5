"""Tracebacks on CUDA: 1 to 32 threads per alignment, each with 8, 16 or 32 diagonals of the band in registers.

Diagonals are numbered d = j - i + shift from the band's left border, so a cell's diagonal neighbour is in the same
register, what comes from above (E) in the next one, and what comes from the left (F) has just been computed: nothing
moves but the query, whose codes slide through a window of nibbles. Thread r works on a row one step after thread r - 1;
F passes to the right and E to the left by shuffle.

Kept are H + e (i + j), E + e (i + j) and F + e (i + j), up to a constant: then extending a gap costs nothing,
e being the gap extension. With x the gain of an aligned pair and o the gap opening, a cell is

    M = max(H(d) + x + 2 e, e (i + j))        the floor in local mode only
    D = max(M, E),  H(d) = max(D, F),  E = max(E, D - o),  F = max(F, D - o)

and its four answers (`scalar.cell`) are the signs of F - (D - o), E - (D - o), D - H and M - D, brought together as the
bits of a byte for two cells. A row leaves one word for eight cells; a warp's words lie side by side.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_launch import WARP, threads_for
from readwarp.device.cuda_scan import exclusive_scan
from readwarp.device.instructions import dotted, handed, nibble_pushed, permuted, scaled
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import current
from readwarp.pairwise.pairs import Costs, Ends, Pairs
from readwarp.pairwise.scalar import (
    GLOBAL,
    LOCAL,
    ON_BEST,
    ON_PAIR,
    ON_PAIR_OR_DELETION,
    UNREACHED,
    operation,
    push,
    state_after,
)
from readwarp.pairwise.trace_plan import (
    COLUMNS,
    DIRECTIONS_AT,
    FIRST,
    GROUP,
    OUTSIDE,
    PAD,
    PAIR,
    QUERY_AT,
    REACHED,
    ROWS,
    RUNS_AT,
    SHIFT,
    SLOT,
    SLOTS,
    STEPS,
    TARGET_AT,
    WARP_OF,
    WORDS,
    Round,
    gains_of,
    planned,
)
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

QUERY_START, TARGET_START, EDITS, LEFT, RUNS = range(5)  # rows of `outcome`, which has a column for each pair

# Two signs become the lowest bytes (0 or -1), which these factors turn into bits of a byte: that of two cells.
SIGNS = 0xFB
FIRST_GAPS, FIRST_BEST = 0x80 | 0xC0 << 8, 0xE0 | 0xF0 << 8  # 128, 64; 32, 16
SECOND_GAPS, SECOND_BEST = 0xF8 | 0xFC << 8, 0xFE | 0xFF << 8  # 8, 4; 2, 1
WALKERS = 64


@cuda.jit(device=True)
def cell(diagonal, gains, byte, E, F, opening, one, floor, is_local, answers):
    """(H, E of the cell below, F of the cell to the right, answers with those of this cell behind)."""
    m = dotted(gains, np.int32(1 << 8 * byte), diagonal)
    if is_local:
        m = max(floor, m)
    md = max(m, E)
    h = max(md, F)
    opened = scaled(md, one, opening)
    gaps = permuted(np.int32(F - opened), np.int32(E - opened), np.int32(SIGNS))
    best = permuted(np.int32(md - h), np.int32(m - md), np.int32(SIGNS))
    if byte & 1:
        answers = dotted(best, np.int32(SECOND_BEST), dotted(gaps, np.int32(SECOND_GAPS), answers))
    else:
        answers = dotted(best, np.int32(FIRST_BEST), dotted(gaps, np.int32(FIRST_GAPS), np.int32(answers << 8)))
    return h, max(E, opened), max(F, opened), answers


@cuda.jit(device=True)
def score_before(i, j, gap_open, gap_extend, bonus, mode):
    """H of the cell before (i, j), which is the first one of its diagonal."""
    if mode == LOCAL:
        return bonus if j == 0 else np.int32(0)
    gap = j if j > 0 else (i if mode == GLOBAL else np.int32(0))
    return np.int32(-gap_open - gap * gap_extend) if gap > 0 else np.int32(0)


@cuda.jit(device=True)
def code_of(codes, place, length, otherwise):
    return np.int32(codes[np.uint32(place)]) if np.uint32(place) < np.uint32(length) else np.int32(otherwise)


@cuda.jit(device=True)
def slot_of(geometry, warps, number, lane, group):
    """(slot, rows) of a lane of that warp; lanes without a slot take another's and have no rows."""
    first, which = np.int32(warps[number, SLOT]), np.int32(lane // group)
    if which < warps[number, SLOTS]:
        return np.int32(first + which), geometry[ROWS, first + which]
    return first, np.int32(0)


@cuda.jit(device=True)
def set_borders(H, E, window, query, row, left, first, columns, floor, gap_open, gap_extend, bonus, mode):
    """What the diagonals start from, and the codes beside them, in a row that is the first one (0) or before it."""
    for n in range(H.size):
        j = np.int32(left + n)
        h = score_before(np.int32(first + max(-j, 0)), max(j, np.int32(0)), gap_open, gap_extend, bonus, mode)
        H[n], E[n] = np.int32(h + floor + (n - 2) * gap_extend), np.int32(UNREACHED)
        window[n >> 3] = nibble_pushed(window[n >> 3], code_of(query, np.int32(j + row), columns, PAD))


@lru_cache
def trace_kernel(words: int, mode: int, gap_extend: int) -> Any:
    """The kernel whose threads have 8 * words diagonals each.

    queries, targets: uint8; starts, geometry, warps: see `trace_plan.Plan`, a warp of threads for each of `warps`;
    gains: int32 [16], see `trace_plan.gains_of`; directions: int32.
    """
    cells, halves = 8 * words, 2 * words
    none, e, is_local = np.int32(UNREACHED), np.int32(gap_extend), mode == LOCAL

    @cuda_kernel
    def fill_directions(queries, targets, starts, geometry, warps, gains, gap_open, bonus, directions):
        profile = cuda.shared.array(16, np.int32)  # gains of the query's codes 0 to 7, by the target's code
        for k in range(cuda.threadIdx.x, 16, cuda.blockDim.x):
            profile[k] = gains[k]
        cuda.syncthreads()
        thread = np.int32(cuda.grid(1))
        number, lane = np.int32(thread // WARP), np.int32(thread % WARP)
        if number >= warps.shape[0]:
            return
        group = np.int32(warps[number, GROUP])
        rank, last = np.int32(lane % group), np.int32(group - 1)
        slot, rows = slot_of(geometry, warps, number, lane, group)
        first, columns = geometry[FIRST, slot], geometry[COLUMNS, slot]
        query = queries[starts[QUERY_AT, slot] :]
        target = targets[starts[TARGET_AT, slot] + first :]
        place, behind = np.uint64(warps[number, DIRECTIONS_AT] + lane), np.int32(warps[number, STEPS] - rank)
        H = cuda.local.array(cells, np.int32)
        E = cuda.local.array(cells, np.int32)
        x = cuda.local.array(halves, np.int32)
        window = cuda.local.array(words, np.int32)
        answers = cuda.local.array(words, np.int32)
        row = np.int32(-rank)
        left = np.int32(first - geometry[SHIFT, slot] + rank * cells)  # column of the first cell in row 0
        floor = np.int32(e * (rank * cells - 2 * rank))
        set_borders(H, E, window, query, row, left, first, columns, floor, gap_open, e, bonus, mode)
        one = np.int32(group > 0)  # which the compiler does not know, so that the product is made on the FMA pipe
        F, base, column = none, code_of(target, row, rows, OUTSIDE), np.int32(left + row + cells)
        while row < behind:
            F = handed(F)
            if rank == 0:
                F = none
            low, high = profile[2 * base], profile[2 * base + 1]
            opening = np.int32(-gap_open)
            if not is_local and row < 0:
                opening = none
            base, following = code_of(target, np.int32(row + 1), rows, OUTSIDE), code_of(query, column, columns, PAD)
            for w in range(words):
                x[2 * w] = permuted(low, high, window[w])
                x[2 * w + 1] = permuted(low, high, np.int32(window[w] >> 16))
                answers[w] = np.int32(0)
            H[0], E[0], F, answers[0] = cell(H[0], x[0], 0, E[1], F, opening, one, floor, is_local, answers[0])
            from_right = cuda.shfl_down_sync(0xFFFFFFFF, E[0], 1)
            if rank == last:
                from_right = none
            for n in range(1, cells):
                above = E[n + 1] if n + 1 < cells else from_right
                H[n], E[n], F, answers[n >> 3] = cell(
                    H[n], x[n >> 2], n & 3, above, F, opening, one, np.int32(floor + n * e), is_local, answers[n >> 3]
                )
            if np.uint32(row) < np.uint32(rows):
                for w in range(words):
                    directions[place + np.uint64(w * WARP)] = answers[w]
            for w in range(words):
                window[w] = nibble_pushed(window[w], window[w + 1] if w + 1 < words else following)
            place, floor = place + np.uint64(words * WARP), np.int32(floor + 2 * e)
            column, row = np.int32(column + 1), np.int32(row + 1)

    return fill_directions


@cuda_kernel
def walk_back(
    queries, targets, starts, geometry, warps, directions, begin, stop,
    match, mismatch, gap_open, gap_extend, mode, runs, outcome,
):  # fmt: skip
    """See band.walk: one alignment a thread. Its runs go to `runs`, last run first, the rest to `outcome`."""
    slot = np.int32(begin + cuda.grid(1))
    if slot >= stop:
        return
    pair, first, shift = geometry[PAIR, slot], geometry[FIRST, slot], geometry[SHIFT, slot]
    query_at, target_at, at = starts[QUERY_AT, slot], starts[TARGET_AT, slot], starts[RUNS_AT, slot]
    i, j = np.int32(first + geometry[ROWS, slot] - 1), np.int32(geometry[COLUMNS, slot] - 1)
    left, edits, number = geometry[REACHED, slot], np.int32(0), np.int32(0)
    warp = geometry[WARP_OF, slot]
    words = np.int32(warps[warp, WORDS])
    stride, cells = np.int32(words * WARP), np.int32(8 * words)
    base = warps[warp, DIRECTIONS_AT] + (slot - warps[warp, SLOT]) * warps[warp, GROUP]
    taken, state = MATCH, ON_PAIR if mode == LOCAL else ON_BEST  # a local alignment ends with an aligned pair
    while i >= 0 and j >= 0 and not (mode == LOCAL and left == 0 and number > 0):
        d = np.int32(j - i + shift)
        rank = np.int32(d // cells)
        d = np.int32(d - rank * cells)
        place = base + np.int64(i - first + rank) * stride + (d >> 3) * WARP + rank
        d = np.int32(28 - ((d & 7) << 2))
        answers = (directions[place] >> d) & 15
        if number > 0:
            state = state_after(taken, answers)
        if state == ON_PAIR_OR_DELETION:
            left += gap_open
        taken = operation(state, answers)
        length = np.int32(1)
        if taken == MATCH:  # and all pairs before it where no gap is better
            length = np.int32(0)
            while True:
                equal = queries[query_at + j] == targets[target_at + i]
                left -= match if equal else -mismatch
                edits += 0 if equal else 1
                i, j, length = np.int32(i - 1), np.int32(j - 1), np.int32(length + 1)
                place -= stride
                if i < 0 or j < 0 or (mode == LOCAL and left == 0) or (directions[place] >> d) & 3:
                    break
        else:
            left, edits = np.int32(left + gap_extend), np.int32(edits + 1)
            i -= 1 if taken == DELETION else 0
            j -= 1 if taken == INSERTION else 0
        number = push(runs, at, number, taken, length)
    if taken != MATCH:
        left += gap_open
    if mode != LOCAL and j >= 0:
        left += gap_open + (j + 1) * gap_extend
        number, edits, j = push(runs, at, number, INSERTION, j + 1), np.int32(edits + j + 1), np.int32(-1)
    if mode == GLOBAL and i >= 0:
        left += gap_open + (i + 1) * gap_extend
        number, edits, i = push(runs, at, number, DELETION, i + 1), np.int32(edits + i + 1), np.int32(-1)
    outcome[QUERY_START, pair], outcome[TARGET_START, pair], outcome[EDITS, pair] = j + 1, i + 1, edits
    outcome[LEFT, pair], outcome[RUNS, pair] = left, number


@cuda_kernel
def copy_runs(geometry, starts, offsets, runs, cigar):
    """The runs of a slot to their place among those of all pairs, first run first."""
    slot = cuda.grid(1)
    if slot < geometry.shape[1]:
        pair, at = geometry[PAIR, slot], starts[RUNS_AT, slot]
        begin, stop = offsets[pair], offsets[pair + 1]
        for k in range(stop - begin):
            cigar[begin + k] = runs[at + stop - begin - 1 - k]


def trace(
    pairs: Pairs, costs: Costs, mode: int, ends: Ends, reached: ndarray, strays: ndarray, room: int
) -> tuple[ndarray, ndarray, ndarray]:
    """(outcome int32 [5, p], offsets int64 [p + 1], CIGARs) of pairs that `trace_plan` can plan."""
    workspace, plan = current(), planned(pairs, costs, mode, ends, reached, strays, room)
    with workspace.frame():
        queries, targets = (
            workspace.upload(s) if isinstance(s, ndarray) else s for s in (pairs.queries, pairs.targets)
        )
        starts, geometry, warps, gains = map(
            workspace.upload, (plan.starts, plan.geometry, plan.warps, gains_of(costs))
        )
        outcome = workspace.empty((5, len(pairs)), np.int32)
        runs = workspace.empty(plan.runs, np.uint32)
        for each in plan.rounds:
            with workspace.frame():
                _launch(each, (queries, targets, starts, geometry), warps, gains, costs, mode, runs, outcome)
        offsets = workspace.empty(len(pairs) + 1, np.int64)
        exclusive_scan(outcome[RUNS], offsets, workspace)
        cigar = workspace.empty(plan.runs, np.uint32)
        copy_runs[threads_for(len(pairs), workspace)](geometry, starts, offsets, runs, cigar)
        outcome, offsets = workspace.download(outcome, offsets)
        (cigar,) = workspace.download(cigar[: offsets[-1]])
    return outcome, offsets, cigar


def _launch(
    some: Round, slots: tuple[Any, ...], warps: Any, gains: Any, costs: Costs, mode: int, runs: Any, outcome: Any
) -> None:
    """Directions of the round's slots, and their walks back."""
    match, mismatch, gap_open, gap_extend, bonus = map(np.int32, costs)
    workspace, pairs = current(), some.stop - some.begin
    directions = workspace.empty(some.directions, np.int32)
    for words, first, last in some.words:
        trace_kernel(words, mode, int(gap_extend))[threads_for(WARP * (last - first), workspace)](
            *slots, warps[first:last], gains, gap_open, bonus, directions
        )
    walk_back[-(-pairs // WALKERS), WALKERS, workspace.stream](
        *slots, warps, directions, np.int32(some.begin), np.int32(some.stop), match, mismatch, gap_open, gap_extend,
        np.int32(mode), runs, outcome,
    )  # fmt: skip
