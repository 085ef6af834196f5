"""Local scores on register tiles: a group of threads per two pairs, several columns of the query in each thread.

Thread r of a group holds columns r * K to r * K + K - 1 of two pairs, one in each half of its registers (`lanes`). It
works on row i one step after thread r - 1, which passes on its last H and its F. docs/methods/pairwise.md explains the
layout, the scores with row and column as a key in the low bits, and why no cell outside a pair ever wins.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP
from readwarp.device.instructions import shuffle_up
from readwarp.device.lanes import LaneForm
from readwarp.device.launch import kernel_factory
from readwarp.pairwise.scalar import OVERFLOWN
from readwarp.rules.bases import NEVER, UNKNOWN

GROUPS = (4, 8, 16, 32)  # threads per tile
COLUMNS = (4, 6, 8, 10, 12, 14, 16, 20, 24)  # query columns per thread; at most as many as there are keys
MAX_QUERY = 512  # bases
ROWS = 4  # per step of the loop
AHEAD = ROWS + 2  # rows that a thread may read past its last
BLOCK = 128  # threads
OTHER, OUTSIDE = 5, 6  # codes of the stream besides UNKNOWN: another letter; before or after the target
CODES = 64  # codes of a row of two targets: first | second << 3

inlined = cuda.jit(device=True, forceinline=True)


class Tiles(NamedTuple):
    """Pairs on tiles, one or two each, by descending target length, and the rows of each tile, on a card."""

    queries: Annotated[ndarray, "uint8 [query bases]"]
    query_starts: Annotated[ndarray, "int64 [pairs]"]
    query_lengths: Annotated[ndarray, "int32 [pairs]"]
    target_lengths: Annotated[ndarray, "int32 [pairs]"]
    stream: Annotated[ndarray, "uint8 [rows]"]  # codes of each tile's rows, first | second << 3, and OUTSIDE between
    stream_starts: Annotated[ndarray, "int64 [tiles + 1]"]


@cuda.jit(device=True)
def across(value, distance):
    """Return the value of the thread whose number differs in that bit."""
    return cuda.shfl_xor_sync(0xFFFFFFFF, value, distance)


@cuda.jit(device=True)
def streamed(code):
    """Return the code in the stream for a target's code."""
    return code if code < UNKNOWN else UNKNOWN if code == NEVER else OTHER


@cuda_kernel
def lay_rows(targets, starts, tiles, margin, pairs):
    """Lay out the codes of each tile's rows, and `margin` outside rows before the first tile; a warp per tile.

    The rows before any other tile are the end of the previous one, which writes them: no two blocks write to one place.
    """
    thread = cuda.grid(1)
    tile = thread // WARP
    if tile >= tiles.stream_starts.size - 1:
        return
    a = tile * pairs
    b = min(a + 1, starts.size - 1)
    begin, before = tiles.stream_starts[tile], margin if tile == 0 else 0
    for row in range(thread % WARP - before, tiles.stream_starts[tile + 1] - begin, WARP):
        first = streamed(targets[starts[a] + row]) if 0 <= row < tiles.target_lengths[a] else OUTSIDE
        if pairs == 1:  # the other register has the gains of a query's N, where code 0 would be
            second = OUTSIDE if first == OUTSIDE else 0 if targets[starts[a] + row] == UNKNOWN else UNKNOWN
        else:
            second = streamed(targets[starts[b] + row]) if 0 <= row < tiles.target_lengths[b] else OUTSIDE
        tiles.stream[begin + row] = first | second << 3


def _make_columns(form: LaneForm, columns: int) -> Any:
    """Compile a thread's columns: selectors of gains, and keys with the bonus; tells which queries have other codes."""
    packed = form.lanes().packed
    peaks, is_pair = _peaks(form, columns), form.numbers == 2
    first_key = form.lowest + (form.keys if form.is_float else columns) - 1
    # Digits of `pick`: those of code 0, the increments of each further code, and outside a query only signs, 0 or -1.
    digits = form.byte
    more, limit = 0x11 if is_pair else 0x1111, 3 if is_pair else UNKNOWN
    outside = 8 * more

    @inlined
    def set_columns(tiles, pairs, rank, bonus, selector, key):
        # Both pairs are written out: with a function for each, half2 takes up to 19 more registers.
        (a, b), lengths = pairs, tiles.query_lengths
        other_a = other_b = False
        for k in range(columns):
            j = np.int32(rank * np.int32(columns) + np.int32(k))
            chosen_a = chosen_b = np.int32(outside)
            key_a = key_b = np.int32(first_key - k // peaks)
            if j < lengths[a]:
                code = np.int32(tiles.queries[tiles.query_starts[a] + j])
                if code > limit:
                    other_a = True
                else:
                    chosen_a = np.int32(digits + code * more)
                key_a += bonus if j == lengths[a] - 1 else np.int32(0)
            if is_pair and j < lengths[b]:
                code = np.int32(tiles.queries[tiles.query_starts[b] + j])
                if code > limit:
                    other_b = True
                else:
                    chosen_b = np.int32(digits + code * more)
                key_b += bonus if j == lengths[b] - 1 else np.int32(0)
            selector[k] = np.uint32(chosen_a | (chosen_b + np.int32(0x44)) << 8) if is_pair else np.uint32(chosen_a)
            key[k] = packed(key_a, key_b)
        return other_a, other_b

    return set_columns


def _peaks(form: LaneForm, columns: int) -> int:
    """Return the number of maxima that a thread keeps, so that none covers more columns than there are keys."""
    return -(-columns // form.keys)


def rows_of(form: LaneForm, columns: int) -> int:
    """Return the number of rows that keys can tell apart beside columns: 1, 2 or 4."""
    return max(rows for rows in (1, 2, 4) if rows == 1 or rows * columns <= form.keys)


def _make_row(form: LaneForm, columns: int, is_first: bool) -> Any:
    """Compile a row of a thread's columns, from the previous thread's values; its peaks join those of earlier rows."""
    lanes, is_half = form.lanes(), form.is_float
    pick, gained, extended, highest, plus = lanes.pick, lanes.gained, lanes.extended, lanes.highest, lanes.plus
    maximum, maximum3, keyed, scaled = lanes.maximum, lanes.maximum3, lanes.keyed, lanes.scaled
    peaks, later = _peaks(form, columns), np.uint32(columns * (0x00010001 if form.numbers == 2 else 1))

    @inlined
    def do_row(state, gain, own):
        border, F, corner, best, best_step, step = state
        D, E, peak, _, selector, key, (is_passed, left_H, left_F), (floor, opening, extending), (one, factor) = own
        border, F = np.uint32(shuffle_up(np.int32(border))), np.uint32(shuffle_up(np.int32(F)))
        border, F = scaled(border, is_passed, left_H), scaled(F, is_passed, left_F)
        first, second = np.uint32(gain), np.uint32(gain >> np.uint64(32))
        for k in range(columns - 1, -1, -1):  # from the right: M of a column takes the register of its D
            D[k] = gained(D[k - 1] if k > 0 else corner, pick(first, second, selector[k]), E[k])
        before = cuda.local.array(peaks, np.uint32)
        if not is_first:
            peak[0] = scaled(peak[0], one, later)
        for k in range(columns):
            H = highest(D[k], F, floor)
            opened = plus(H, opening, one)
            E[k], F = extended(E[k], extending, opened), extended(F, extending, opened)
            D[k] = opened if is_half else H
            value = keyed(H, factor, key[k])
            q, number = k % peaks, k // peaks + (0 if is_first else 1)  # number: values in the peak so far
            if number == 0:
                peak[q] = value
            elif number % 2 == 0:
                peak[q] = maximum3(peak[q], before[q], value)
            elif k + peaks < columns:
                before[q] = value
            else:
                peak[q] = maximum(peak[q], value)
        return D[columns - 1], F, border, best, best_step, step

    return do_row


def _make_note(form: LaneForm, columns: int) -> Any:
    """Compile the update of the best score so far by a higher one in the rows since the last call."""
    lanes, is_half = form.lanes(), form.is_float
    maximum, leveled, rises, where, scaled = lanes.maximum, lanes.leveled, lanes.rises, lanes.where, lanes.scaled
    peaks, rows = _peaks(form, columns), np.uint32(rows_of(form, columns) * (0x00010001 if form.numbers == 2 else 1))

    @inlined
    def note(state, own):
        border, F, corner, best, best_step, step = state
        _, _, peak, saved, _, _, _, _, (one, _) = own
        top = peak[0]
        for q in range(1, peaks):
            top = maximum(top, peak[q])
        top = leveled(top)
        rise, step = rises(top, best, one), scaled(step, one, rows)
        if is_half:
            for q in range(peaks):
                saved[q] = where(rise, peak[q], saved[q])
        return border, F, corner, where(rise, top, best), where(rise, step, best_step), step

    return note


def _make_rows(form: LaneForm, columns: int) -> Any:
    """Compile ROWS rows of a thread's columns, from the state between steps to the next one."""
    together = rows_of(form, columns)
    first, note = _make_row(form, columns, True), _make_note(form, columns)
    second, third = (_make_row(form, columns, False) if together > n else first for n in (1, 2))

    @inlined
    def do_rows(state, ahead, rows, step, gains, own):
        gain, code = ahead
        state, gain, code = first(state, gain, own), gains[code], np.uint32(rows[step + np.uint32(2)])
        if together == 1:
            state = note(state, own)
        state, gain, code = second(state, gain, own), gains[code], np.uint32(rows[step + np.uint32(3)])
        if together < 4:
            state = note(state, own)
        state, gain, code = third(state, gain, own), gains[code], np.uint32(rows[step + np.uint32(4)])
        if together == 1:
            state = note(state, own)
        state, gain, code = second(state, gain, own), gains[code], np.uint32(rows[step + np.uint32(5)])
        return note(state, own), (gain, code)

    return do_rows


def _make_report(form: LaneForm, columns: int) -> Any:
    """Compile the report of a group's best cell, in one half of its threads' registers, to `found`."""
    factor = np.int32(form.factor)
    peaks, rows = _peaks(form, columns), rows_of(form, columns)
    first_key = np.int32((form.keys if form.is_float else rows * columns) - 1)

    @inlined
    def report(best, pair, thread, bounds, found):
        """best: (saved peaks, rows done then or 0 if nothing was above the bonus, has codes that the form lacks)."""
        numbers, row, is_other = best
        (rank, group), (zero, limit, bonus) = thread, bounds
        top, place = numbers[0], np.int32(0)
        for q in range(1, peaks):
            if numbers[q] > top:
                top, place = numbers[q], np.int32(q)
        top += zero
        score = top // factor if row > 0 else np.int32(0)
        cell = first_key - top % factor
        column = np.int32(rank * np.int32(columns) + cell % np.int32(columns) * np.int32(peaks) + place + np.int32(1))
        row = np.int32(row - np.int32(rows - 1) + cell // np.int32(columns) - rank)
        if is_other:
            score = limit
        distance = np.int32(1)
        while distance < group:
            score_there, row_there = across(score, distance), across(row, distance)
            column_there = across(column, distance)
            if score_there > score or (
                score_there == score and (row_there < row or (row_there == row and column_there < column))
            ):
                score, row, column = score_there, row_there, column_there
            distance *= np.int32(2)
        if rank == 0 and pair < found.shape[0]:
            is_done = np.int32(0) < score < limit or (score == 0 and bonus == 0)
            found[pair, 0] = score if is_done else np.int32(OVERFLOWN)
            found[pair, 1], found[pair, 2] = (column, row) if score > 0 else (np.int32(0), np.int32(0))

    return report


@kernel_factory
def score_kernel(form: LaneForm, columns: int) -> Any:
    """Compile the kernel for this many columns per thread; blocks have BLOCK threads.

    numbers, bounds: see `cuda_local.Constants`; group: threads per tile.
    """
    lanes = form.lanes()
    pairs, peaks = np.int32(form.numbers), _peaks(form, columns)
    set_columns, do_rows, report = (make(form, columns) for make in (_make_columns, _make_rows, _make_report))
    plus, first, second, leveled, uniform = lanes.plus, lanes.first, lanes.second, lanes.leveled, lanes.uniform
    is_half = form.is_float

    @cuda_kernel
    def score_tiles(tiles, numbers, bounds, group, found):
        """Write (score, query stop, target stop) of each pair; the score is OVERFLOWN where another form is needed."""
        gains = cuda.shared.array(CODES, np.uint64)
        for code in range(cuda.threadIdx.x, CODES, cuda.blockDim.x):
            here, there = min(code & 7, OUTSIDE), min(code >> 3, OUTSIDE)
            gains[code] = np.uint64(numbers[here]) | np.uint64(numbers[there]) << np.uint64(32)
        limits = bounds[0], bounds[1], bounds[2]
        cuda.syncthreads()
        costs = numbers[7], numbers[8], numbers[9]
        start, threshold = numbers[10], numbers[11]
        one, factor = numbers[12], numbers[13]
        floor, opening = costs[0], costs[1]
        thread, last = np.int32(cuda.grid(1)), np.int32(tiles.query_starts.size - 1)
        rank, tile = np.int32(thread % group), np.int32(min(thread // group, last // pairs))
        both = np.int32(tile * pairs), np.int32(min(tile * pairs + pairs - np.int32(1), last))
        selector, key = cuda.local.array(columns, np.uint32), cuda.local.array(columns, np.uint32)
        D, E = cuda.local.array(columns, np.uint32), cuda.local.array(columns, np.uint32)
        peak, saved = cuda.local.array(peaks, np.uint32), cuda.local.array(peaks, np.uint32)
        others = set_columns(tiles, both, rank, limits[2], selector, key)
        nothing = plus(floor, opening, one) if is_half else floor
        for k in range(columns):
            D[k], E[k] = nothing, floor
        for q in range(peaks):
            saved[q] = threshold
        # The first thread of a group multiplies what is passed to it by 0, and adds the left border.
        corner, left = nothing, (one, np.uint32(0), np.uint32(0))
        if rank == 0:
            corner, left = start, (np.uint32(0), start, floor)
        rows = tiles.stream[tiles.stream_starts[tile] - rank :]
        longest = tiles.target_lengths[cuda.blockIdx.x * (cuda.blockDim.x // group * pairs)]
        steps = uniform(np.uint32(longest + group - np.int32(1)))
        state = nothing, floor, corner, leveled(threshold), np.uint32(0), np.uint32(0)
        ahead, step = (gains[rows[0]], np.uint32(rows[1])), np.uint32(0)
        own = D, E, peak, saved, selector, key, left, costs, (one, factor)
        while step < steps:
            state, ahead = do_rows(state, ahead, rows, step, gains, own)
            step = np.uint32(step + np.uint32(ROWS))
        _, _, _, best, best_step, _ = state
        if not is_half:
            saved[0] = best
        values = cuda.local.array(peaks, np.int32)
        for q in range(peaks):
            values[q] = first(saved[q])
        done = np.int32(best_step & np.uint32(0xFFFF)) if pairs == 2 else np.int32(best_step)
        one_each = np.int32(thread // group) * pairs
        report((values, done, others[0]), one_each, (rank, group), limits, found)
        if pairs == 2:
            for q in range(peaks):
                values[q] = second(saved[q])
            done = np.int32(best_step >> np.uint32(16))
            report((values, done, others[1]), one_each + np.int32(1), (rank, group), limits, found)

    return score_tiles
