"""Ends on CUDA: a warp per end, whose threads share a row of the band; then a thread per end walks back.

Each thread has the same number of neighbouring cells of the band. A row needs the row before it, and E from the cells
before: each thread passes on the best E that its own cells open, a scan over the warp gives each thread the E that
enters its first cell, and its cells are then final. Opening a gap within a deletion never pays, so the scan is exact. A
thread's directions, four bits each, form a word per eight cells; the words of a warp are side by side.
"""

from typing import Any

import numpy as np

from readwarp.align.long.ends.scalar import E_OPENS, F_OPENS, FROM_E, FROM_F, MAX_ROWS, UNREACHED, Corners, Ended
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP, threads_for, warps_for
from readwarp.device.gather import add_up
from readwarp.device.instructions import highest_of, permute_bytes
from readwarp.device.launch import kernel_factory
from readwarp.device.memory import current
from readwarp.pairwise.cuda_trace import narrow, room_of
from readwarp.pairwise.pairs import Costs
from readwarp.pairwise.scalar import UNKNOWN_COST, gain_of_bases, push
from readwarp.pairwise.trace_plan import cuts
from readwarp.ragged import concatenate, offsets_of, take
from readwarp.rules.bases import UNKNOWN, reference_code
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

ROOM = 1 << 28  # bytes of directions per launch
EVERYONE = 0xFFFFFFFF
EACH_BYTE = 0x01010101
MAX_GAIN = 127  # largest gain that fits in a byte


def extend_ends(bases: Any, corners: Corners, packed: Any, costs: Costs, band: int, drop: int) -> Ended:
    """See cpu.extend_ends. Bases and reference are on the device; corners and results on the host."""
    order = np.argsort(-corners.query_length, kind="stable")
    rows = np.minimum(corners.query_length, MAX_ROWS)[order]
    parts = list(cuts(4 * WARP * words_of(band) * rows, room_of(ROOM))) or [(0, 0)]
    ended = [
        extend_some(bases, take(corners, "ends", order[begin:stop]), packed, costs, band, drop) for begin, stop in parts
    ]
    return take(concatenate(ended, "ends"), "ends", np.argsort(order))


def cells_of(band: int) -> int:
    """Return the cells of a row per thread."""
    return -(-(2 * band + 1) // WARP)


def words_of(band: int) -> int:
    """Return the words of a row's directions per thread."""
    return -(-cells_of(band) // 8)


def extend_some(bases: Any, corners: Corners, packed: Any, costs: Costs, band: int, drop: int) -> Ended:
    """Extend ends whose directions fit in memory together."""
    number, rows = len(corners), np.minimum(corners.query_length, MAX_ROWS)
    directions_at, runs_at = offsets_of(WARP * words_of(band) * rows), offsets_of(2 * rows + band + 1)
    limits, shape = (np.int32(band), np.int32(drop)), (np.int32(band), np.int32(cells_of(band)))
    with current().frame() as workspace:
        there, directions_there, runs_there = workspace.on_card((corners, directions_at, runs_at))
        found, offsets = workspace.empty((3, number), np.int32), workspace.empty(number + 1, np.int64)
        runs, numbers = workspace.empty(int(runs_at[-1]), np.uint32), workspace.empty(number, np.int32)
        with workspace.frame():
            directions = workspace.empty(int(directions_at[-1]), np.uint32)
            fill_kernel(cells_of(band), max(costs.match, costs.mismatch) <= MAX_GAIN)[warps_for(number, workspace)](
                (bases, packed), there, narrow(costs), limits, directions_there, directions, found
            )
            walk_ends[threads_for(number, workspace)](
                found, shape, directions_there, directions, runs_there, runs, numbers
            )
        add_up(number, offsets, numbers)
        (run_offsets,) = workspace.download(offsets)
        cigar = workspace.empty(int(run_offsets[-1]), np.uint32)
        copy_ends[threads_for(number, workspace)](there.step, runs_there, runs, offsets, cigar)
        (score, on_query, on_reference), cigar = workspace.download(found, cigar)
    return Ended(score, on_query.astype(np.int64), on_reference.astype(np.int64), run_offsets, cigar)


@cuda.jit(device=True)
def code_at(packed, corner, column, length):
    """Return the reference in that column (1 to length, else arbitrary) as a gain selector, code in the lowest nibble.

    The selector picks the gain's byte, and its sign for the other three bytes: see `gains_of`.
    """
    reference, step = corner
    code = reference_code(packed, reference + (column - 1) * step) if 0 < column <= length else 0
    return np.int32(code * 0x1111 | 0x8880)


@cuda.jit(device=True)
def gains_of(base, costs):
    """Return the gains of a read base with A, C, G and T, and with codes 4 to 7, which are N: four bytes each."""
    unknown = np.int32((-min(costs.mismatch, UNKNOWN_COST) & 255) * EACH_BYTE)
    change = np.int32((costs.match ^ -costs.mismatch) & 255)
    known = np.int32((-costs.mismatch & 255) * EACH_BYTE ^ change << 8 * base)
    return unknown if base == UNKNOWN else known, unknown


@cuda.jit(device=True)
def start_row(arrays, packed, corner, length, place, costs):
    """Fill row 0 of a thread's cells. place: the first cell's column, and the number of cells within the band."""
    (H, F, codes), (left, stop) = arrays, place
    for n in range(H.size):
        j = np.int32(left + n)
        gap = np.int32(-costs.gap_open - j * costs.gap_extend) if j > 0 else np.int32(0)
        H[n] = gap if 0 <= j <= length and n < stop else np.int32(UNREACHED)
        F[n], codes[n] = np.int32(UNREACHED), code_at(packed, corner, j, length)


@cuda.jit(device=True)
def entering(opened, decay, lane):
    """Return E of a thread's first cell, from what earlier threads open. decay: of E over the cells of a thread."""
    for distance in (1, 2, 4, 8, 16):
        before = cuda.shfl_up_sync(EVERYONE, opened, distance)
        if lane >= distance:
            opened = max(opened, np.int32(before - distance * decay))
    before = cuda.shfl_up_sync(EVERYONE, opened, 1)
    return before if lane > 0 else np.int32(UNREACHED)


@cuda.jit(device=True)
def finish_row(arrays, E, length, place, gaps):
    """Compute H, F and directions of a thread's cells, given E of the first; return (best score, its first column).

    place: as in start_row; gaps: (cost of the first base, of each further one).
    """
    (H, F, through, answers), (left, stop) = arrays, place
    (opening, extending), none = gaps, np.int32(UNREACHED)
    highest, column = np.int32(2 * none), np.int32(0)
    for n in range(H.size):
        h, direction = through[n], 0
        if h < E:
            h, direction = E, FROM_E
        if F[n] > h:
            h, direction = F[n], FROM_F
        j = np.int32(left + n)
        if j < 0 or j > length or n >= stop:
            h = none
        opened, E = np.int32(h - opening), np.int32(E - extending)
        if opened >= E:
            E, direction = opened, direction | E_OPENS
        answers[n >> 3] |= np.uint32(direction << 4 * (n & 7))
        H[n], F[n] = max(h, none), max(F[n], none)
        if h > highest:
            highest, column = h, j
    return highest, column


@kernel_factory
def fill_kernel(cells: int, in_bytes: bool) -> Any:
    """Compile the kernel for this many cells of a row per thread. in_bytes: no gain of a base exceeds MAX_GAIN."""
    words, none = -(-cells // 8), np.int32(UNREACHED)

    @cuda_kernel
    def fill_ends(sequences, corners, costs, limits, directions_at, directions, found):
        """Write score, rows and columns of the best alignment of each end to `found`, with its directions."""
        end, lane = cuda.blockIdx.x, np.int32(cuda.threadIdx.x)
        if end >= found.shape[1]:
            return
        H = cuda.local.array(cells, np.int32)
        F = cuda.local.array(cells, np.int32)
        codes = cuda.local.array(cells, np.int32)
        through = cuda.local.array(cells, np.int32)  # H without gaps
        answers = cuda.local.array(words, np.uint32)
        (bases, packed), (band, drop) = sequences, limits
        place = directions_at[end] + lane
        query, step = corners.query[end], np.int64(corners.step[end])
        corner, whole = (corners.reference[end], step), corners.query_length[end]
        length, extending = np.int32(min(corners.reference_length[end], 1 << 30)), costs.gap_extend
        opening, decay = np.int32(costs.gap_open + extending), np.int32(cells * extending)
        left = np.int32(lane * cells - band)  # column of the thread's first cell in row 0
        stop = np.int32(2 * band + 1 - lane * cells)  # the thread's cells within the band
        start_row((H, F, codes), packed, corner, length, (left, stop), costs)
        best = score = best_row = best_column = np.int32(0)
        for row in range(1, min(whole, MAX_ROWS) + 1):
            base, last = np.int32(bases[query + (row - 1) * step]), np.int32(0)
            if row == whole:
                last = costs.bonus
            left, (low, high) = np.int32(left + 1), gains_of(base, costs)
            for n in range(cells - 1):
                codes[n] = codes[n + 1]
            codes[cells - 1] = code_at(packed, corner, np.int32(left + cells - 1), length)
            next_H, next_F = cuda.shfl_down_sync(EVERYONE, H[0], 1), cuda.shfl_down_sync(EVERYONE, F[0], 1)
            next_H, next_F = (none, none) if lane == WARP - 1 else (next_H, next_F)
            for w in range(words):
                answers[w] = np.uint32(0)
            opened = none
            for n in range(cells):
                j = np.int32(left + n)
                above = np.int32((H[n + 1] if n + 1 < cells else next_H) - opening)
                longer = np.int32((F[n + 1] if n + 1 < cells else next_F) - extending)
                if above >= longer:
                    answers[n >> 3] |= np.uint32(F_OPENS << 4 * (n & 7))
                gain = permute_bytes(low, high, codes[n]) if in_bytes else gain_of_bases(base, codes[n] & 7, costs)
                through[n] = np.int32(H[n] + gain)  # left of column 0, H is UNREACHED
                F[n] = max(above, longer)
                if j < 0 or j > length or n >= stop:
                    through[n], F[n] = none, none
                opened = max(np.int32(opened - extending), np.int32(max(through[n], F[n]) - opening))
            E = entering(opened, decay, lane)
            highest, column = finish_row((H, F, through, answers), E, length, (left, stop), (opening, extending))
            for w in range(words):
                directions[place + w * WARP] = answers[w]
            place += words * WARP
            top = highest_of(highest)
            if top + last > best:
                first = cuda.clz(cuda.brev(cuda.ballot_sync(EVERYONE, highest == top)))
                best, score, best_row = np.int32(top + last), top, np.int32(row)
                best_column = cuda.shfl_sync(EVERYONE, column, first)
            if top < best - drop:
                break
        if lane == 0:
            found[0, end], found[1, end], found[2, end] = score, best_row, best_column

    return fill_ends


@cuda.jit(device=True)
def direction_of(directions, row, column, shape):
    """Return the direction of a cell; `directions` begins with row 1. E_OPENS is that of the cell to the right."""
    band, cells = shape
    at = np.int32(column - row + band)
    lane, n = np.int32(at // cells), np.int32(at % cells)
    words = np.int32((cells + 7) >> 3)
    return (directions[((row - 1) * words + (n >> 3)) * WARP + lane] >> np.uint32(4 * (n & 7))) & 15


@cuda_kernel
def walk_ends(found, shape, directions_at, directions, runs_at, runs, numbers):
    """See cpu.walk. Write the runs of each end, last one first, to `runs`, and their number to `numbers`."""
    end = cuda.grid(1)
    if end >= numbers.size:
        return
    i, j = found[1, end], found[2, end]
    mine, at = directions[directions_at[end] :], runs_at[end]
    number, state = np.int32(0), MATCH
    while i > 0:
        direction = direction_of(mine, i, j, shape)
        if state == MATCH:
            state = DELETION if direction & FROM_E else INSERTION if direction & FROM_F else MATCH
        operation = state
        if operation == DELETION:
            j = np.int32(j - 1)
            state = MATCH if direction_of(mine, i, j, shape) & E_OPENS else DELETION
        elif operation == INSERTION:
            i, state = np.int32(i - 1), MATCH if direction & F_OPENS else INSERTION
        else:
            i, j = np.int32(i - 1), np.int32(j - 1)
        number = np.int32(push(runs, at, number, operation, 1))
    if j > 0:
        number = np.int32(push(runs, at, number, DELETION, j))
    numbers[end] = number


@cuda_kernel
def copy_ends(steps, runs_at, runs, offsets, cigar):
    """Copy the runs of each end in ascending reference order, without gaps between ends."""
    end = cuda.grid(1)
    if end >= steps.size:
        return
    first, number = runs_at[end], offsets[end + 1] - offsets[end]
    for k in range(number):
        cigar[offsets[end] + k] = runs[first + (number - 1 - k if steps[end] > 0 else k)]
