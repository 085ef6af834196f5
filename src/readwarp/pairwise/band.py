"""One pair by itself, for all engines: the directions of its band in plain integers, and the walk back from its end.

`pairs` and `costs` as in `groups`. Directions are four bits a cell, one for each question (`scalar.cell`).
"""

import numpy as np

from readwarp.device.jit import scalar
from readwarp.pairwise.scalar import (
    ALPHABET,
    GLOBAL,
    LOCAL,
    ON_BEST,
    ON_PAIR,
    ON_PAIR_OR_DELETION,
    UNREACHED,
    band_of,
    cell,
    operation,
    push,
    state_after,
)
from readwarp.rules.cigar import DELETION, INSERTION, MATCH


@scalar
def gain_of(query_code, target_code, match, mismatch, matrix):
    """Score of an aligned pair."""
    if matrix.size > 0:
        return np.int64(matrix[np.int64(query_code) * ALPHABET + target_code])
    return match if query_code == target_code else -mismatch


@scalar
def _bit(directions, bit):
    return (directions[bit >> 3] >> np.uint8(bit & 7)) & 1


@scalar
def _answers(directions, cell, plane, lane):
    """The four answers of a cell in one lane as one number; `plane` is the number of bits per question."""
    answers = 0
    for question in range(4):
        answers |= _bit(directions, (cell * 4 + question) * plane + lane) << question
    return answers


@scalar
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
    for k in range(runs // 2):
        a, b = begin + k, begin + runs - 1 - k
        cigar[a], cigar[b] = cigar[b], cigar[a]
    return j + 1, i + 1, edits, left, runs


@scalar
def walk_pair(pairs, pair, ends, directions, lane, plane, band, costs, matrix, mode, traced, cigar):
    """Walk one pair back and note what was found; its runs go to the place that `traced` names, column 4."""
    queries, query_starts, _, targets, target_starts, _ = pairs
    reached, query_stop, target_stop = ends
    stride, width, origin = band
    query = queries[query_starts[pair] :][: query_stop[pair]]
    target = targets[target_starts[pair] :][: target_stop[pair]]
    start, place, edits, left, runs = walk(
        directions, lane, plane, stride, width, origin, query, target, np.int64(reached[pair]), costs, matrix, mode,
        cigar, traced[pair, 4],
    )  # fmt: skip
    traced[pair, 0], traced[pair, 1], traced[pair, 2] = start, place, edits
    traced[pair, 3], traced[pair, 5] = left, runs


@scalar
def fill_band(query, target, origin, rows, lead, width, stride, costs, matrix, mode, H, E, directions):
    """The directions of one pair, two cells a byte: as `lanes.trace_group` with planes of one bit.

    Row 0 is target[origin]. stride: cells from row to row; even, so that no byte is read before it is written.
    """
    match, mismatch, gap_open, gap_extend, bonus = costs
    opening, extending, floor = np.int32(gap_open + gap_extend), np.int32(gap_extend), np.int32(0)
    if mode != LOCAL:
        floor = np.int32(UNREACHED)
    for j in range(query.size):
        H[j], E[j] = (0 if mode == LOCAL else -(gap_open + (j + 1) * gap_extend)), floor
    left = np.int32(bonus if mode == LOCAL else 0)
    for row in range(rows):
        i = origin + row
        diagonal = left
        if mode == GLOBAL:
            left = np.int32(left - (extending if row > 0 else opening))
        F = floor if mode == LOCAL else np.int32(left - opening)
        low = max(0, row - width)
        if low > 0:
            diagonal, F = H[low - 1], floor
        for j in range(low, min(query.size, row + lead + 1)):
            inside = 0 <= i < target.size
            gain = np.int32(gain_of(query[j], target[i], match, mismatch, matrix) if inside else UNREACHED)
            h, d, f, answers = cell(diagonal, gain, E[j], F, opening, extending, floor)
            diagonal, H[j], E[j], F = H[j], h, d, np.int32(f)
            byte = (row * stride + j - low) >> 1
            directions[byte] = directions[byte] | (answers << 4) if (j - low) & 1 else answers


@scalar
def trace_pair(pairs, pair, ends, strays, costs, matrix, mode, H, E, directions, traced, cigar):
    """Trace one pair; H, E: room for its query, directions: for half a byte per cell of its band. See `walk_pair`."""
    queries, query_starts, _, targets, target_starts, _ = pairs
    _, query_stop, target_stop = ends
    columns, stop = np.int64(query_stop[pair]), np.int64(target_stop[pair])
    before, lead, width, rows = band_of(stop - columns, strays[pair, 0], strays[pair, 1], columns, stop, mode)
    stride, origin = (min(columns, lead + width + 1) + 1) // 2 * 2, (stop - columns - before) * (mode != GLOBAL)
    query, target = queries[query_starts[pair] :][:columns], targets[target_starts[pair] :][:stop]
    fill_band(query, target, origin, rows, lead, width, stride, costs, matrix, mode, H, E, directions)
    walk_pair(pairs, pair, ends, directions, 0, 1, (stride, width, origin), costs, matrix, mode, traced, cigar)
