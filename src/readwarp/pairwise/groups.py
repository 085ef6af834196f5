"""Pairs into groups of lanes: transposed, scored or traced, and read back. Kernels only; `cpu` chooses what runs.

`pairs` is a tuple of arrays in the order of `Pairs`: queries, query starts, query lengths, targets, target starts,
target lengths. `costs`: match, mismatch, gap open, gap extension, bonus. `like`: a vector's worth of the lane dtype.
"""

import numpy as np

from readwarp.device.jit import kernel
from readwarp.device.simd import empty_vectors
from readwarp.pairwise.band import trace_pair, walk_pair
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
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, OUTSIDE, OVERFLOWN, PAD, UNREACHED
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
    return table, empty_vectors((columns + letters) * like.size if letters > 0 else 0, like.dtype)


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
    query = empty_vectors(rounded_up(longest) * count, like.dtype)
    target = empty_vectors(rounded_up(tallest) * count, like.dtype)
    narrow = empty_vectors(rounded_up(max(longest, tallest)) * max(count, 8), np.int8)
    H, E = empty_vectors(longest * count, like.dtype), empty_vectors(longest * count, like.dtype)
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
def with_room(cigar, used, runs):
    """The runs with room for so many more."""
    return cigar if used + runs <= cigar.size else np.concatenate((cigar[:used], np.empty(used + runs, np.uint32)))


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
    query = empty_vectors(rounded_up(longest) * count, like.dtype)
    H, E = empty_vectors(longest * count, like.dtype), empty_vectors(longest * count, like.dtype)
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
            directions = empty_vectors(size, np.uint8)
        if target.size < rows * count:
            target = empty_vectors(rounded_up(rows) * count, like.dtype)
            narrow = empty_vectors(rounded_up(max(rows, longest)) * max(count, 8), np.int8)
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
            pair, band, ends = group[lane], (stride, width, origins[lane]), (reached, query_stop, target_stop)
            cigar, traced[pair, 4] = with_room(cigar, used, query_stop[pair] + target_stop[pair]), used
            walk_pair(pairs, pair, ends, directions, lane, plane, band, costs, matrix, mode, traced, cigar)
            used += traced[pair, 5]
    return cigar, used


@kernel
def trace_single(work, order, costs, matrix, mode, traced, cigar, used):
    """As `trace_sorted`, one pair at a time in plain integers (`band`)."""
    pairs, reached, query_stop, target_stop, strays = work
    for pair in order:
        columns = np.int64(query_stop[pair])
        widest = strays[pair, 0] + strays[pair, 1] + 1
        directions = np.empty((columns + widest) * ((min(columns, widest) + 1) // 2), np.uint8)
        H, E = np.empty(columns, np.int32), np.empty(columns, np.int32)
        cigar, traced[pair, 4] = with_room(cigar, used, columns + target_stop[pair]), used
        ends = reached, query_stop, target_stop
        trace_pair(pairs, pair, ends, strays, costs, matrix, mode, H, E, directions, traced, cigar)
        used += traced[pair, 5]
    return cigar, used
