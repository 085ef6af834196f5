"""Tracebacks on CUDA: 1 to 32 threads per alignment, each with 8, 16 or 32 diagonals of the band in registers.

Diagonals are numbered d = j - i + shift from the band's left border, so a cell's diagonal neighbour is in the same
register, the cell above (E) is in the next one, and the cell to the left (F) has just been computed. Only the query
moves: its codes slide through a window of nibbles. Thread r works on a row one step after thread r - 1; F passes to the
right and E to the left by shuffles.

Threads keep H + e (i + j), E + e (i + j) and F + e (i + j), up to a constant, where e is the gap extension: extending a
gap then costs nothing. With x the gain of an aligned pair and o the gap opening, a cell is

    M = max(H(d) + x + 2 e, e (i + j))        the floor in local mode only
    D = max(M, E),  H(d) = max(D, F),  E = max(E, D - o),  F = max(F, D - o)

and its four answers (`scalar.cell`) are the signs of F - (D - o), E - (D - o), D - H and M - D, packed into a byte for
two cells. A row yields a word for eight cells; the words of a warp are side by side.
"""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP, threads_for
from readwarp.device.gather import add_up
from readwarp.device.instructions import dot, multiply_add, permute_bytes, push_nibble, shuffle_up
from readwarp.device.launch import kernel_factory
from readwarp.device.memory import current
from readwarp.pairwise import scalar as rule
from readwarp.pairwise import trace_plan
from readwarp.pairwise.pairs import Costs, Scheme, Tasks, Walks
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

# Two signs become the lowest bytes (0 or -1), which these factors turn into bits of the byte of two cells.
SIGNS = 0xFB
FIRST_GAPS, FIRST_BEST = 0x80 | 0xC0 << 8, 0xE0 | 0xF0 << 8  # 128, 64; 32, 16
SECOND_GAPS, SECOND_BEST = 0xF8 | 0xFC << 8, 0xFE | 0xFF << 8  # 8, 4; 2, 1
WALKERS = 64


def _make_cell(is_local: bool) -> Any:
    @cuda.jit(device=True)
    def cell(diagonal, gain, E, F, opening, floor, answers):
        """Return (H, E of the cell below, F of the cell to the right, answers with those of this cell appended).

        gain: (gains of four cells, byte of this cell's gain); opening: (cost of a gap opening, 1).
        """
        (gains, byte), (cost, one) = gain, opening
        m = dot(gains, np.int32(1 << 8 * byte), diagonal)
        if is_local:
            m = max(floor, m)
        md = max(m, E)
        h = max(md, F)
        opened = multiply_add(md, one, cost)
        gaps = permute_bytes(np.int32(F - opened), np.int32(E - opened), np.int32(SIGNS))
        best = permute_bytes(np.int32(md - h), np.int32(m - md), np.int32(SIGNS))
        if byte & 1:
            answers = dot(best, np.int32(SECOND_BEST), dot(gaps, np.int32(SECOND_GAPS), answers))
        else:
            answers = dot(best, np.int32(FIRST_BEST), dot(gaps, np.int32(FIRST_GAPS), np.int32(answers << 8)))
        return h, max(E, opened), max(F, opened), answers

    return cell


@cuda.jit(device=True)
def score_before(i, j, gaps, bonus, mode):
    """Return H of the cell before (i, j), the first cell of its diagonal. gaps: (opening, extension)."""
    if mode == rule.LOCAL:
        return bonus if j == 0 else np.int32(0)
    gap = j if j > 0 else (i if mode == rule.GLOBAL else np.int32(0))
    return np.int32(-gaps[0] - gap * gaps[1]) if gap > 0 else np.int32(0)


@cuda.jit(device=True)
def code_of(codes, place, length, otherwise):
    return np.int32(codes[np.uint32(place)]) if np.uint32(place) < np.uint32(length) else np.int32(otherwise)


@cuda.jit(device=True)
def slot_of(geometry, warps, number, lane, group):
    """Return (slot, rows) of a lane of that warp; lanes without a slot take another's slot, and no rows."""
    first, which = np.int32(warps[number, trace_plan.SLOT]), np.int32(lane // group)
    if which < warps[number, trace_plan.SLOTS]:
        return np.int32(first + which), geometry[trace_plan.ROWS, first + which]
    return first, np.int32(0)


def _make_borders(mode: int, gap_extend: int) -> Any:
    @cuda.jit(device=True)
    def set_borders(arrays, query, place, columns, floor, costs):
        """Initialise the diagonals and their codes in a row that is the first one (0) or before it.

        arrays: (H, E, window); place: (row, column of the first cell in row 0, first target base).
        """
        (H, E, window), (row, left, first) = arrays, place
        e = np.int32(gap_extend)
        for n in range(H.size):
            j = np.int32(left + n)
            i = np.int32(first + max(-j, 0))
            h = score_before(i, max(j, np.int32(0)), (costs.gap_open, e), costs.bonus, mode)
            H[n], E[n] = np.int32(h + floor + (n - 2) * e), np.int32(rule.UNREACHED)
            window[n >> 3] = push_nibble(window[n >> 3], code_of(query, np.int32(j + row), columns, trace_plan.PAD))

    return set_borders


@kernel_factory
def trace_kernel(words: int, mode: int, gap_extend: int) -> Any:
    """Compile the kernel whose threads have 8 * words diagonals each.

    warps: of `trace_plan.TracePlan`, to launch. gains: int32 [16], see `trace_plan.gains_of`. costs, directions: int32.
    """
    cells, halves = 8 * words, 2 * words
    is_local = mode == rule.LOCAL
    cell, set_borders = _make_cell(is_local), _make_borders(mode, gap_extend)
    none, e = np.int32(rule.UNREACHED), np.int32(gap_extend)

    @cuda_kernel
    def fill_directions(slots, warps, gains, costs, directions):
        profile = cuda.shared.array(16, np.int32)  # gains of the query's codes 0 to 7, by the target's code
        for k in range(cuda.threadIdx.x, 16, cuda.blockDim.x):
            profile[k] = gains[k]
        cuda.syncthreads()
        thread = np.int32(cuda.grid(1))
        number, lane = np.int32(thread // WARP), np.int32(thread % WARP)
        if number >= warps.shape[0]:
            return
        group, geometry = np.int32(warps[number, trace_plan.GROUP]), slots.geometry
        rank, last = np.int32(lane % group), np.int32(group - 1)
        slot, rows = slot_of(geometry, warps, number, lane, group)
        first, columns = geometry[trace_plan.FIRST, slot], geometry[trace_plan.COLUMNS, slot]
        query = slots.queries[slots.starts[trace_plan.QUERY_AT, slot] :]
        target = slots.targets[slots.starts[trace_plan.TARGET_AT, slot] + first :]
        place = np.uint64(warps[number, trace_plan.DIRECTIONS_AT] + lane)
        stop = np.int32(warps[number, trace_plan.STEPS] - rank)
        H = cuda.local.array(cells, np.int32)
        E = cuda.local.array(cells, np.int32)
        x = cuda.local.array(halves, np.int32)
        window = cuda.local.array(words, np.int32)
        answers = cuda.local.array(words, np.int32)
        row, F = np.int32(-rank), none
        left = np.int32(first - geometry[trace_plan.SHIFT, slot] + rank * cells)  # column of the first cell in row 0
        floor = np.int32(e * (rank * cells - 2 * rank))
        set_borders((H, E, window), query, (row, left, first), columns, floor, costs)
        one = np.int32(group > 0)  # the compiler cannot know it, so the product goes to the FMA pipe
        base, column = code_of(target, row, rows, trace_plan.OUTSIDE), np.int32(left + row + cells)
        while row < stop:
            F = shuffle_up(F)
            if rank == 0:
                F = none
            low, high = profile[2 * base], profile[2 * base + 1]
            opening = none if not is_local and row < 0 else np.int32(-costs.gap_open)
            base = code_of(target, np.int32(row + 1), rows, trace_plan.OUTSIDE)
            following = code_of(query, column, columns, trace_plan.PAD)
            for w in range(words):
                x[2 * w] = permute_bytes(low, high, window[w])
                x[2 * w + 1] = permute_bytes(low, high, np.int32(window[w] >> 16))
                answers[w] = np.int32(0)
            H[0], E[0], F, answers[0] = cell(H[0], (x[0], 0), E[1], F, (opening, one), floor, answers[0])
            from_right = cuda.shfl_down_sync(0xFFFFFFFF, E[0], 1)
            if rank == last:
                from_right = none
            for n in range(1, cells):
                above = E[n + 1] if n + 1 < cells else from_right
                H[n], E[n], F, answers[n >> 3] = cell(
                    H[n], (x[n >> 2], n & 3), above, F, (opening, one), np.int32(floor + n * e), answers[n >> 3]
                )
            if np.uint32(row) < np.uint32(rows):
                for w in range(words):
                    directions[place + np.uint64(w * WARP)] = answers[w]
            for w in range(words):
                window[w] = push_nibble(window[w], window[w + 1] if w + 1 < words else following)
            place, floor = place + np.uint64(words * WARP), np.int32(floor + 2 * e)
            column, row = np.int32(column + 1), np.int32(row + 1)

    return fill_directions


@cuda_kernel
def walk_back(slots, warps, directions, bounds, costs, mode, runs, walks):
    """Walk back one alignment per thread, in slots within bounds: runs to `runs`, last one first, the rest to `walks`.

    This does the work of band.walk; a cell's answers form a nibble here, and a step back is a subtraction.
    """
    slot = np.int32(bounds[0] + cuda.grid(1))
    if slot >= bounds[1]:
        return
    queries, targets, starts, geometry = slots
    _, _, gap_open, gap_extend, _ = costs
    pair = geometry[trace_plan.PAIR, slot]
    first, shift = geometry[trace_plan.FIRST, slot], geometry[trace_plan.SHIFT, slot]
    query_at, target_at = starts[trace_plan.QUERY_AT, slot], starts[trace_plan.TARGET_AT, slot]
    at = starts[trace_plan.RUNS_AT, slot]
    i, j = np.int32(first + geometry[trace_plan.ROWS, slot] - 1), np.int32(geometry[trace_plan.COLUMNS, slot] - 1)
    left = geometry[trace_plan.REACHED, slot]
    edits = number = np.int32(0)
    warp = geometry[trace_plan.WARP_OF, slot]
    words = np.int32(warps[warp, trace_plan.WORDS])
    stride, cells = np.int32(words * WARP), np.int32(8 * words)
    base = warps[warp, trace_plan.DIRECTIONS_AT] + (slot - warps[warp, trace_plan.SLOT]) * warps[warp, trace_plan.GROUP]
    taken, state = (
        MATCH,
        rule.ON_PAIR if mode == rule.LOCAL else rule.ON_BEST,
    )  # a local alignment ends with an aligned pair
    while i >= 0 and j >= 0 and not (mode == rule.LOCAL and left == 0 and number > 0):
        d = np.int32(j - i + shift)
        rank = np.int32(d // cells)
        d = np.int32(d - rank * cells)
        place = base + np.int64(i - first + rank) * stride + (d >> 3) * WARP + rank
        d = np.int32(28 - ((d & 7) << 2))
        answers = (directions[place] >> d) & 15
        if number > 0:
            state = rule.state_after(taken, answers)
        if state == rule.ON_PAIR_OR_DELETION:
            left += gap_open
        taken = rule.operation(state, answers)
        length = np.int32(1)
        if taken == MATCH:  # also all pairs before it where no gap is better
            length = np.int32(0)
            while True:
                query, target = queries[query_at + j], targets[target_at + i]
                left = np.int32(left - rule.gain_of_bases(query, target, costs))
                edits += query != target
                i, j, length = np.int32(i - 1), np.int32(j - 1), np.int32(length + 1)
                place -= stride
                if i < 0 or j < 0 or (mode == rule.LOCAL and left == 0) or (directions[place] >> d) & 3:
                    break
        else:
            left, edits = np.int32(left + gap_extend), np.int32(edits + 1)
            i -= 1 if taken == DELETION else 0
            j -= 1 if taken == INSERTION else 0
        number = rule.push(runs, at, number, taken, length)
    if taken != MATCH:
        left += gap_open
    found = rule.finish(runs, at, number, (i, j), (left, edits), (gap_open, gap_extend, mode))
    walks.query_start[pair], walks.target_start[pair], walks.edit_distance[pair] = found[:3]
    walks.left[pair], walks.runs[pair] = found[3], found[4]


@cuda_kernel
def copy_runs(slots, offsets, runs, cigar):
    """Copy each slot's runs to their place among the runs of all pairs, first run first."""
    slot = cuda.grid(1)
    if slot < slots.geometry.shape[1]:
        pair, at = slots.geometry[trace_plan.PAIR, slot], slots.starts[trace_plan.RUNS_AT, slot]
        begin, stop = offsets[pair], offsets[pair + 1]
        for k in range(stop - begin):
            cigar[begin + k] = runs[at + stop - begin - 1 - k]


def trace(tasks: Tasks, scheme: Scheme, room: int) -> tuple[Walks, ndarray, ndarray]:
    """Return (walks, offsets int64 [p + 1], CIGARs) of pairs that `trace_plan` can plan."""
    workspace, costs = current(), narrow(scheme.costs)
    number, plan = len(tasks.pairs), trace_plan.plan_trace(tasks, scheme, room)
    with workspace.frame():
        slots, warps, gains = workspace.on_card((plan.slots, plan.warps, trace_plan.gains_of(scheme.costs)))
        outcome = workspace.empty((5, number), np.int32)
        runs, offsets = workspace.empty(plan.runs, np.uint32), workspace.empty(number + 1, np.int64)
        columns = [*(outcome[k] for k in range(5)), offsets]
        walks = Walks(*columns)
        for some in plan.rounds:
            with workspace.frame():
                directions = workspace.empty(some.directions, np.int32)
                for words, first, last in some.words:
                    fill = trace_kernel(words, scheme.mode, int(scheme.costs.gap_extend))
                    launch = threads_for(WARP * (last - first), workspace)
                    fill[launch](slots, warps[first:last], gains, costs, directions)
                bounds = np.int32(some.begin), np.int32(some.stop)
                walk_back[-(-(some.stop - some.begin) // WALKERS), WALKERS, workspace.stream](
                    slots, warps, directions, bounds, costs, np.int32(scheme.mode), runs, walks
                )
        add_up(number, offsets, walks.runs)
        cigar = workspace.empty(plan.runs, np.uint32)
        copy_runs[threads_for(number, workspace)](slots, offsets, runs, cigar)
        outcome, offsets = workspace.download(outcome, offsets)
        (cigar,) = workspace.download(cigar[: offsets[-1]])
    columns = [*outcome, offsets[:-1]]
    return Walks(*columns), offsets, cigar


def room_of(most: int) -> int:
    """Return the working memory of a launch in bytes: at most half of what a planned workspace has left."""
    left = current().left
    return most if left is None else min(most, left // 2)


def narrow(costs: Costs) -> Costs:
    """Convert the costs to int32, since kernels take Python's integers as 64 bits."""
    return Costs(*(np.int32(cost) for cost in costs))  # type: ignore[arg-type]
