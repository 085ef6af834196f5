"""Pairs into groups of lanes: transposed, scored or traced, and read back. Kernels only; `cpu` chooses what runs.

`pairs` is a tuple of arrays in the order of `Pairs`: queries, query starts, query lengths, targets, target starts,
target lengths. `costs`: match, mismatch, gap open, gap extension, bonus. `like`: a vector's worth of the lane dtype.
"""

import numpy as np

from readwarp.device.jit import kernel
from readwarp.pairwise.lanes import (
    BLOCK,
    COLUMN,
    END_ROW,
    END_SCORE,
    ROW,
    SCORE,
    score_group,
    trace_group,
)
from readwarp.pairwise.scalar import (
    ALPHABET,
    DELETION,
    GLOBAL,
    INSERTION,
    LOCAL,
    MATCH,
    ON_BEST,
    ON_PAIR,
    ON_PAIR_OR_DELETION,
    OUTSIDE,
    OVERFLOWN,
    PAD,
    UNREACHED,
    band_of,
    cell,
    operation,
    push,
    state_after,
)
from readwarp.pairwise.transpose import rounded_up, transpose


@kernel
def _table(matrix, like, columns):
    """The rows of the substitution matrix that queries use, in the lanes' dtype, and space for `row_gains`."""
    least, letters = -(1 << (8 * like.itemsize - 1)), 0
    for k in range(matrix.size):
        if matrix[k] > UNREACHED and k // ALPHABET < PAD:
            letters = k // ALPHABET + 1
    table = np.empty(letters * ALPHABET, like.dtype)
    for k in range(table.size):
        table[k] = max(matrix[k], least)
    return table, np.empty((columns + letters) * like.size if letters > 0 else 0, like.dtype)


@kernel
def gain_of(query_code, target_code, match, mismatch, matrix):
    """Score of an aligned pair."""
    if matrix.size > 0:
        return np.int64(matrix[np.int64(query_code) * ALPHABET + target_code])
    return match if query_code == target_code else -mismatch


@kernel
def _top_row(pads, count, columns, costs, mode, H, E):
    """H of the row above the target: 0 in local mode (but the bonus before the query), a gap in the others; E: none."""
    floor = -(1 << (8 * H.itemsize - 1)) if mode == LOCAL else 0
    H[: columns * count] = floor
    E[: columns * count] = -(1 << (8 * E.itemsize - 1))
    for lane in range(pads.size):
        if mode == LOCAL:
            for j in range(pads[lane]):
                H[j * count + lane] = floor + costs[4]
        else:
            for j in range(pads[lane], columns):
                H[j * count + lane] = -(costs[2] + (j - pads[lane] + 1) * costs[3])


@kernel
def _digits(found, low, count, lane):
    """A position from its two digits in base BLOCK (vectors `low` and `low + 1`), each in a signed lane."""
    high = np.int64(found[(low + 1) * count + lane]) & ((1 << (8 * found.itemsize)) - 1)
    return (np.int64(found[low * count + lane]) & (BLOCK - 1)) + high * BLOCK


@kernel
def _collect(found, count, lane, columns, pads, first, mode):
    """(score, query stop, target stop) of one lane: the best cell, ties to the first row, then the first column."""
    floor = -(1 << (8 * found.itemsize - 1)) if mode == LOCAL else 0
    end_score = np.int64(found[END_SCORE * count + lane]) - floor
    end_row = _digits(found, END_ROW, count, lane)
    if mode != LOCAL:
        return end_score, columns - pads, end_row
    score = np.int64(found[SCORE * count + lane]) - floor
    row = _digits(found, ROW, count, lane) + 1
    if end_score > score or (end_score == score and end_row < row):
        return end_score, columns - pads if end_score > 0 else 0, end_row
    block = _digits(found, COLUMN, count, lane) // BLOCK
    padded_blocks = (first + BLOCK - 1) // BLOCK
    start = block * BLOCK if block < padded_blocks else first + (block - padded_blocks) * BLOCK
    column = start + _digits(found, COLUMN, count, lane) % BLOCK
    return (score, column - pads + 1, row) if score > 0 else (score, 0, 0)


@kernel
def score_sorted(pairs, order, costs, matrix, mode, like, score, query_stop, target_stop):
    """Score the pairs named in `order`, whose lengths are at least 1, a group of lanes at a time.

    A local score that reached the lane's greatest value comes back as OVERFLOWN.
    """
    queries, query_starts, query_lengths, targets, target_starts, target_lengths = pairs
    count, ceiling = like.size, (1 << (8 * like.itemsize)) - 1
    longest, tallest = query_lengths[order].max(), target_lengths[order].max()
    query, target = np.empty(rounded_up(longest) * count, like.dtype), np.empty(rounded_up(tallest) * count, like.dtype)
    narrow = np.empty(rounded_up(max(longest, tallest)) * max(count, 8), np.int8)
    H, E = np.empty(longest * count, like.dtype), np.empty(longest * count, like.dtype)
    table, gains = _table(matrix, like, longest)
    last_row, found = np.zeros(count, like.dtype), np.empty(8 * count, like.dtype)
    for begin in range(0, order.size, count):
        group = order[begin : begin + count]
        columns, rows = query_lengths[group].max(), target_lengths[group].max()
        pads = columns - query_lengths[group]
        transpose(queries, query_starts[group], query_lengths[group], pads, count, columns, PAD, narrow, query)
        transpose(targets, target_starts[group], target_lengths[group], 0 * pads, count, rows, OUTSIDE, narrow, target)
        _top_row(pads, count, columns, costs, mode, H, E)
        if mode == GLOBAL:
            for lane in range(group.size):
                last_row[lane] = target_lengths[group[lane]]
        score_group(query, target, columns, rows, pads.max(), H, E, last_row, costs, table, gains, mode, found)
        for lane in range(group.size):
            pair = group[lane]
            best, stop, end = _collect(found, count, lane, columns, pads[lane], pads.max(), mode)
            score[pair] = OVERFLOWN if mode == LOCAL and best >= ceiling else best
            query_stop[pair], target_stop[pair] = stop, end


@kernel
def _bit(directions, bit):
    return (directions[bit >> 3] >> np.uint8(bit & 7)) & 1


@kernel
def _answers(directions, cell, plane, lane):
    """The four answers of a cell in one lane as one number; `plane` is the number of bits per question."""
    answers = 0
    for question in range(4):
        answers |= _bit(directions, (cell * 4 + question) * plane + lane) << question
    return answers


@kernel
def walk(directions, lane, plane, stride, width, origin, query, target, score, costs, matrix, mode, cigar, begin):
    """Follow the directions from the last cell of query and target; runs go to cigar[begin:], first run first.

    Row 0 of the directions is target position `origin`. Returns (query start, target start, edit distance, score that
    is left, runs): what is left is the bonus where the query's first base is aligned, 0 elsewhere.
    """
    match, mismatch, gap_open, gap_extend, _ = costs
    i, j, left, edits, runs = target.size - 1, query.size - 1, score, 0, 0
    taken, state = MATCH, ON_PAIR if mode == LOCAL else ON_BEST  # a local alignment ends with an aligned pair
    while i >= 0 and j >= 0 and not (mode == LOCAL and left == 0 and runs > 0):
        row = i - origin
        answers = _answers(directions, row * stride + j - max(0, row - width), plane, lane)
        if runs > 0:
            state = state_after(taken, answers)
        if state == ON_PAIR_OR_DELETION:
            left += gap_open
        taken = operation(state, answers)
        if taken == MATCH:  # and all pairs before it where no gap is better
            length = 0
            while True:
                left -= gain_of(query[j], target[i], match, mismatch, matrix)
                edits += query[j] != target[i]
                i, j, length = i - 1, j - 1, length + 1
                if i < 0 or j < 0 or (mode == LOCAL and left == 0):
                    break
                row = i - origin
                bit = (row * stride + j - max(0, row - width)) * 4 * plane + lane
                if _bit(directions, bit) | _bit(directions, bit + plane):
                    break
            runs = push(cigar, begin, runs, MATCH, length)
            continue
        runs = push(cigar, begin, runs, taken, 1)
        left, edits = left + gap_extend, edits + 1
        i -= taken == DELETION
        j -= taken == INSERTION
    if taken != MATCH:
        left += gap_open
    if mode != LOCAL:
        for rest, gap in ((j + 1, INSERTION), (i + 1 if mode == GLOBAL else 0, DELETION)):
            if rest > 0:
                left += gap_open + rest * gap_extend
                runs = push(cigar, begin, runs, gap, rest)
                edits += rest
                i -= rest if gap == DELETION else 0
                j -= rest if gap == INSERTION else 0
    cigar[begin : begin + runs] = cigar[begin : begin + runs][::-1].copy()
    return j + 1, i + 1, edits, left, runs


@kernel
def band_of_group(group, query_stop, target_stop, strays, mode):
    """(rows before the end's diagonal, lead, width, rows) of the band that holds every lane's path.

    A path strays from the diagonal of its end by at most strays[pair, 0] towards the first rows (deletions come after
    it) and strays[pair, 1] towards the first columns. Lanes are put in line on that diagonal, rows above the target
    among them; in GLOBAL mode on their first cell instead, so that their borders coincide.
    """
    diagonals = target_stop[group] - query_stop[group]
    deletions, insertions = strays[group, 0], strays[group, 1]
    if mode == GLOBAL:
        return 0, (deletions - diagonals).max(), (insertions + diagonals).max(), target_stop[group].max()
    before = min(deletions.max(), max(diagonals.max(), 0) + 1)
    return before, deletions.max() - before, insertions.max() + before, before + query_stop[group].max()


@kernel
def _walk_pair(pairs, pair, ends, directions, lane, plane, band, costs, matrix, mode, traced, cigar, used):
    """Walk one pair back and note what was found. Returns (runs of all pairs, number of runs)."""
    queries, query_starts, _, targets, target_starts, _ = pairs
    reached, query_stop, target_stop = ends
    stride, width, origin = band
    most = query_stop[pair] + target_stop[pair]
    if used + most > cigar.size:
        cigar = np.concatenate((cigar[:used], np.empty(used + most, np.uint32)))
    query = queries[query_starts[pair] :][: query_stop[pair]]
    target = targets[target_starts[pair] :][: target_stop[pair]]
    start, place, edits, left, runs = walk(
        directions,
        lane,
        plane,
        stride,
        width,
        origin,
        query,
        target,
        np.int64(reached[pair]),
        costs,
        matrix,
        mode,
        cigar,
        used,
    )
    traced[pair, 0], traced[pair, 1], traced[pair, 2] = start, place, edits
    traced[pair, 3], traced[pair, 4], traced[pair, 5] = left, used, runs
    return cigar, used + runs


@kernel
def trace_sorted(work, order, costs, matrix, mode, like, room, traced, cigar, used):
    """Trace the pairs named in `order` from their ends, whose stops are at least 1, a group of lanes at a time.

    work: (pairs, score without the bonus for the query's end, query stop, target stop, strays: `longest_gaps`).
    traced [p, 6] gets query start, target start, edit distance, what is left of the score, first run, runs. A group
    whose directions would take more than `room` bytes is left out (runs -1). Returns (runs, number of runs).
    """
    pairs, reached, query_stop, target_stop, strays = work
    queries, query_starts, _, targets, target_starts, _ = pairs
    count, plane = like.size, max(8, like.size)
    longest = query_stop[order].max()
    query = np.empty(rounded_up(longest) * count, like.dtype)
    H, E = np.empty(longest * count, like.dtype), np.empty(longest * count, like.dtype)
    table, gains = _table(matrix, like, longest)
    target, narrow, directions = np.empty(0, like.dtype), np.empty(0, np.int8), np.empty(0, np.uint8)
    for begin in range(0, order.size, count):
        group = order[begin : begin + count]
        columns = query_stop[group].max()
        before, lead, width, rows = band_of_group(group, query_stop, target_stop, strays, mode)
        stride = min(columns, lead + width + 1)
        size = rows * stride * plane // 2
        if size > room:
            traced[group, 5] = -1
            continue
        if directions.size < size:
            directions = np.empty(size, np.uint8)
        if target.size < rows * count:
            target = np.empty(rounded_up(rows) * count, like.dtype)
            narrow = np.empty(rounded_up(max(rows, longest)) * max(count, 8), np.int8)
        origins = (target_stop[group] - query_stop[group] - before) * (mode != GLOBAL)
        inside = np.maximum(origins, 0)
        none = 0 * inside
        transpose(queries, query_starts[group], query_stop[group], none, count, columns, PAD, narrow, query)
        lengths = target_stop[group] - inside
        transpose(
            targets, target_starts[group] + inside, lengths, inside - origins, count, rows, OUTSIDE, narrow, target
        )
        _top_row(none, count, columns, costs, mode, H, E)
        trace_group(query, target, columns, rows, lead, width, H, E, costs, table, gains, mode, directions)
        for lane in range(group.size):
            band = stride, width, origins[lane]
            ends = reached, query_stop, target_stop
            cigar, used = _walk_pair(
                pairs, group[lane], ends, directions, lane, plane, band, costs, matrix, mode, traced, cigar, used
            )
    return cigar, used


@kernel
def trace_single(work, order, costs, matrix, mode, traced, cigar, used):
    """As `trace_sorted`, one pair at a time in 32-bit scalars, half a byte per cell."""
    pairs, reached, query_stop, target_stop, strays = work
    queries, query_starts, _, targets, target_starts, _ = pairs
    for pair in order:
        columns, diagonal = np.int64(query_stop[pair]), np.int64(target_stop[pair] - query_stop[pair])
        stop = np.int64(target_stop[pair])
        before, lead, width, rows = band_of(diagonal, strays[pair, 0], strays[pair, 1], columns, stop, mode)
        stride = min(columns, lead + width + 1)
        origin = (diagonal - before) * (mode != GLOBAL)
        directions = np.zeros((rows * stride + 1) // 2, np.uint8)
        H, E = np.empty(columns, np.int32), np.empty(columns, np.int32)
        query = queries[query_starts[pair] :][:columns]
        target = targets[target_starts[pair] :][: target_stop[pair]]
        fill_band(query, target, origin, rows, lead, width, costs, matrix, mode, H, E, directions)
        band = stride, width, origin
        ends = reached, query_stop, target_stop
        cigar, used = _walk_pair(pairs, pair, ends, directions, 0, 1, band, costs, matrix, mode, traced, cigar, used)
    return cigar, used


@kernel
def fill_band(query, target, origin, rows, lead, width, costs, matrix, mode, H, E, directions):
    """The directions of one pair, as `lanes.trace_group` makes them with planes of one bit. Row 0 is target[origin]."""
    match, mismatch, gap_open, gap_extend, bonus = costs
    stride = min(query.size, lead + width + 1)
    floor = 0 if mode == LOCAL else UNREACHED
    for j in range(query.size):
        H[j], E[j] = (0 if mode == LOCAL else -(gap_open + (j + 1) * gap_extend)), floor
    left = bonus if mode == LOCAL else 0
    for row in range(rows):
        i = origin + row
        diagonal = left
        if mode == GLOBAL:
            left -= gap_extend if row > 0 else gap_open + gap_extend
        F = floor if mode == LOCAL else left - gap_open - gap_extend
        low = max(0, row - width)
        if low > 0:
            diagonal, F = H[low - 1], floor
        for j in range(low, min(query.size, row + lead + 1)):
            inside = 0 <= i < target.size
            gain = gain_of(query[j], target[i], match, mismatch, matrix) if inside else UNREACHED
            h, d, F, answers = cell(diagonal, gain, E[j], F, gap_open + gap_extend, gap_extend, floor)
            diagonal, H[j], E[j] = H[j], h, d
            place = row * stride + j - low
            directions[place >> 1] |= np.uint8(answers << ((place & 1) << 2))
