"""Pairs in groups of lanes: transposed, scored or traced, and read back. Only kernels; `cpu` chooses which to run.

like: an array of one vector, of the lanes' dtype.
"""

import numpy as np

from readwarp.device.jit import kernel
from readwarp.device.simd import empty_vectors
from readwarp.pairwise.band import Directions, trace_pair, walk
from readwarp.pairwise.lanes import BLOCK, COLUMN, END_ROW, END_SCORE, ROW, SCORE, Group, score_group, trace_group
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, OUTSIDE, OVERFLOWN, PAD, UNREACHED, Band
from readwarp.pairwise.transpose import Sequences, rounded_up, transpose


@kernel
def _table(matrix, like, columns):
    """The rows of the substitution matrix that queries use, in the lanes' dtype, and space for `row_gains`."""
    lowest, letters = -(1 << (8 * like.itemsize - 1)), 0
    for k in range(matrix.size):
        if matrix[k] > UNREACHED and k // ALPHABET < PAD:
            letters = k // ALPHABET + 1
    table = np.empty(letters * ALPHABET, like.dtype)
    for k in range(table.size):
        table[k] = max(matrix[k], lowest)
    return table, empty_vectors((columns + letters) * like.size if letters > 0 else 0, like.dtype)


@kernel
def _set_top_row(group, pads, scheme):
    """H above the target: 0 in local mode (before the query: the bonus), a gap in other modes. E: the lowest value."""
    H, E, columns, costs = group.H, group.E, group.columns, scheme.costs
    count, lowest = H.size // columns, -(1 << (8 * H.itemsize - 1))
    floor = lowest if scheme.mode == LOCAL else 0
    H[:] = floor
    E[:] = lowest
    for lane in range(pads.size):
        if scheme.mode == LOCAL:
            for j in range(pads[lane]):
                H[j * count + lane] = floor + costs.bonus
        else:
            for j in range(pads[lane], columns):
                H[j * count + lane] = -(costs.gap_open + (j - pads[lane] + 1) * costs.gap_extend)


@kernel
def _digits(found, low, count, lane):
    """A position from its two digits in base BLOCK (vectors `low` and `low + 1`), each a signed lane."""
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
def score_sorted(pairs, order, scheme, like, ends):
    """Score the pairs in `order`, whose lengths are at least 1, one group of lanes at a time.

    A local score that reaches the greatest value of a lane becomes OVERFLOWN.
    """
    queries, query_starts, query_lengths, targets, target_starts, target_lengths = pairs
    count, ceiling, mode = like.size, (1 << (8 * like.itemsize)) - 1, scheme.mode
    longest, tallest = query_lengths[order].max(), target_lengths[order].max()
    query = empty_vectors(rounded_up(longest) * count, like.dtype)
    target = empty_vectors(rounded_up(tallest) * count, like.dtype)
    narrow = empty_vectors(rounded_up(max(longest, tallest)) * max(count, 8), np.int8)
    H, E = empty_vectors(longest * count, like.dtype), empty_vectors(longest * count, like.dtype)
    table, gains = _table(scheme.matrix, like, longest)
    last_row, found = np.zeros(count, like.dtype), np.empty(8 * count, like.dtype)
    for begin in range(0, order.size, count):
        some = order[begin : begin + count]
        columns, rows = query_lengths[some].max(), target_lengths[some].max()
        pads = columns - query_lengths[some]
        group = Group(columns, rows, query, target, H[: columns * count], E[: columns * count], table, gains)
        codes = Sequences(queries, query_starts[some], query_lengths[some], pads)
        transpose(codes, count, columns, PAD, narrow, query)
        codes = Sequences(targets, target_starts[some], target_lengths[some], 0 * pads)
        transpose(codes, count, rows, OUTSIDE, narrow, target)
        _set_top_row(group, pads, scheme)
        if mode == GLOBAL:
            for lane in range(some.size):
                last_row[lane] = target_lengths[some[lane]]
        score_group(group, pads.max(), last_row, scheme, found)
        for lane in range(some.size):
            pair = some[lane]
            best, stop, end = _collect(found, count, lane, columns, pads[lane], pads.max(), mode)
            ends.score[pair] = OVERFLOWN if mode == LOCAL and best >= ceiling else best
            ends.query_stop[pair], ends.target_stop[pair] = stop, end


@kernel
def band_of_group(tasks, some, mode):
    """The band that holds every lane's path.

    A path strays from the diagonal of its end by at most strays[pair, 0] towards the first rows (deletions follow) and
    strays[pair, 1] towards the first columns. Lanes are aligned on that diagonal, so some have rows above the target;
    in GLOBAL mode they are aligned on their first cell, so that their borders coincide.
    """
    query_stop = tasks.ends.query_stop[some].astype(np.int64)
    target_stop = tasks.ends.target_stop[some].astype(np.int64)
    diagonals = target_stop - query_stop
    deletions, insertions = tasks.strays[some, 0], tasks.strays[some, 1]
    if mode == GLOBAL:
        lead, width = (deletions - diagonals).max(), (insertions + diagonals).max()
        return Band(0, lead, width, target_stop.max())
    before = min(deletions.max(), max(diagonals.max(), 0) + 1)
    return Band(before, deletions.max() - before, insertions.max() + before, before + query_stop.max())


@kernel
def make_room(cigar, used, runs):
    """The runs, with space for so many more."""
    return cigar if used + runs <= cigar.size else np.concatenate((cigar[:used], np.empty(used + runs, np.uint32)))


@kernel
def trace_sorted(tasks, order, scheme, like, room, walks, cigar, used):
    """Trace the pairs in `order` from their ends, whose stops are at least 1, one group of lanes at a time.

    A group whose directions would take more than `room` bytes is left out. Returns (runs, number of runs).
    """
    queries, query_starts, _, targets, target_starts, _ = tasks.pairs
    score, query_stop, target_stop = tasks.ends
    query_start, target_start, edit_distance, left, runs, first_run = walks
    count, plane = like.size, max(8, like.size)
    longest = query_stop[order].max()
    query = empty_vectors(rounded_up(longest) * count, like.dtype)
    H, E = empty_vectors(longest * count, like.dtype), empty_vectors(longest * count, like.dtype)
    table, gains = _table(scheme.matrix, like, longest)
    target, narrow, bits = np.empty(0, like.dtype), np.empty(0, np.int8), np.empty(0, np.uint8)
    for begin in range(0, order.size, count):
        some = order[begin : begin + count]
        columns, band = query_stop[some].astype(np.int64).max(), band_of_group(tasks, some, scheme.mode)
        rows, stride = band.rows, min(columns, band.lead + band.width + 1)
        size = rows * stride * plane // 2
        if size > room:
            runs[some] = -1
            continue
        if bits.size < size:
            bits = empty_vectors(size, np.uint8)
        if target.size < rows * count:
            target = empty_vectors(rounded_up(rows) * count, like.dtype)
            narrow = empty_vectors(rounded_up(max(rows, longest)) * max(count, 8), np.int8)
        origins = (target_stop[some] - query_stop[some] - band.before) * (scheme.mode != GLOBAL)
        inside = np.maximum(origins, 0)
        none = 0 * inside
        codes = Sequences(queries, query_starts[some], query_stop[some], none)
        transpose(codes, count, columns, PAD, narrow, query)
        codes = Sequences(targets, target_starts[some] + inside, target_stop[some] - inside, inside - origins)
        transpose(codes, count, rows, OUTSIDE, narrow, target)
        group = Group(columns, rows, query, target, H[: columns * count], E[: columns * count], table, gains)
        _set_top_row(group, none, scheme)
        trace_group(group, band, scheme, bits)
        for lane in range(some.size):
            pair, directions = some[lane], Directions(bits, lane, plane, stride, band.width, origins[lane])
            cigar, first_run[pair] = make_room(cigar, used, query_stop[pair] + target_stop[pair]), used
            one_query = queries[query_starts[pair] :][: query_stop[pair]]
            one_target = targets[target_starts[pair] :][: target_stop[pair]]
            found = walk(directions, one_query, one_target, np.int64(score[pair]), scheme, cigar, used)
            query_start[pair], target_start[pair], edit_distance[pair], left[pair], runs[pair] = found
            used += runs[pair]
    return cigar, used


@kernel
def trace_single(tasks, order, scheme, walks, cigar, used):
    """As `trace_sorted`, one pair at a time in plain integers (`band`)."""
    _, query_stop, target_stop = tasks.ends
    for pair in order:
        columns = np.int64(query_stop[pair])
        widest = tasks.strays[pair, 0] + tasks.strays[pair, 1] + 1
        bits = np.empty((columns + widest) * ((min(columns, widest) + 1) // 2), np.uint8)
        H, E = np.empty(columns, np.int32), np.empty(columns, np.int32)
        cigar, walks.first_run[pair] = make_room(cigar, used, columns + target_stop[pair]), used
        trace_pair(tasks, pair, scheme, H, E, bits, walks, cigar)
        used += walks.runs[pair]
    return cigar, used
