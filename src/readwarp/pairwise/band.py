"""Single pairs, for all engines: the directions of a pair's band in plain integers, and the walk back from its end."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.pairwise import scalar as rule
from readwarp.pairwise.scalar import cell
from readwarp.rules.cigar import DELETION, INSERTION, MATCH


class Directions(NamedTuple):
    """Layout of the answers of a pair's cells, a bit for each of the four questions (`scalar.cell`).

    The answer to question q in row i and column j is bit ((i * stride + j - first) * 4 + q) * plane + lane, where
    `first` is the row's first column, max(0, i - width).
    """

    bits: Annotated[ndarray, "uint8 [bytes]"]
    lane: int
    plane: int  # bits per question
    stride: int  # cells from row to row
    width: int
    origin: int  # target position of row 0


@scalar
def gain_of(query_code, target_code, costs, matrix):
    """Return the score of an aligned pair."""
    if matrix.size > 0:
        return np.int64(matrix[np.int64(query_code) * rule.ALPHABET + target_code])
    return np.int64(rule.gain_of_bases(query_code, target_code, costs))


@scalar
def _bit(bits, place):
    return (bits[place >> 3] >> np.uint8(place & 7)) & 1


@scalar
def _answers(bits, cell, plane, lane):
    """Return the four answers of a cell in one lane as one number."""
    answers = 0
    for question in range(4):
        answers |= _bit(bits, (cell * 4 + question) * plane + lane) << question
    return answers


@scalar
def walk(directions, query, target, score, scheme, cigar, begin):
    """Follow the directions from the last cell of query and target; write the runs to cigar[begin:], first run first.

    Return (query start, target start, edit distance, rest of the score, runs): see `pairs.Walks`.
    """
    bits, lane, plane, stride, width, origin = directions
    costs, mode, matrix = scheme
    gap_open, gap_extend = costs.gap_open, costs.gap_extend
    i, j = target.size - 1, query.size - 1
    left, taken = score, MATCH
    edits = runs = 0
    state = rule.ON_PAIR if mode == rule.LOCAL else rule.ON_BEST  # a local alignment ends with an aligned pair
    while i >= 0 and j >= 0 and not (mode == rule.LOCAL and left == 0 and runs > 0):
        row = i - origin
        answers = _answers(bits, row * stride + j - max(0, row - width), plane, lane)
        if runs > 0:
            state = rule.state_after(taken, answers)
        if state == rule.ON_PAIR_OR_DELETION:
            left += gap_open
        taken = rule.operation(state, answers)
        if taken == MATCH:  # also all pairs before it where no gap is better
            length = 0
            while True:
                left -= gain_of(query[j], target[i], costs, matrix)
                edits += query[j] != target[i]
                i, j, length = i - 1, j - 1, length + 1
                if i < 0 or j < 0 or (mode == rule.LOCAL and left == 0):
                    break
                row = i - origin
                place = (row * stride + j - max(0, row - width)) * 4 * plane + lane
                if _bit(bits, place) | _bit(bits, place + plane):
                    break
            runs = rule.push(cigar, begin, runs, MATCH, length)
            continue
        runs = rule.push(cigar, begin, runs, taken, 1)
        left, edits = left + gap_extend, edits + 1
        i -= taken == DELETION
        j -= taken == INSERTION
    if taken != MATCH:
        left += gap_open
    found = rule.finish(cigar, begin, runs, (i, j), (left, edits), (gap_open, gap_extend, mode))
    runs = found[4]
    for k in range(runs // 2):
        a, b = begin + k, begin + runs - 1 - k
        cigar[a], cigar[b] = cigar[b], cigar[a]
    return found


@scalar
def walk_pair(tasks, pair, directions, scheme, walks, cigar):
    """Walk back from the end of a pair; `walks` says where its runs go, and takes the other results."""
    (queries, query_starts, _, targets, target_starts, _), (score, query_stop, target_stop), _ = tasks
    query = queries[query_starts[pair] :][: query_stop[pair]]
    target = targets[target_starts[pair] :][: target_stop[pair]]
    found = walk(directions, query, target, np.int64(score[pair]), scheme, cigar, walks.first_run[pair])
    walks.query_start[pair], walks.target_start[pair], walks.edit_distance[pair] = found[:3]
    walks.left[pair], walks.runs[pair] = found[3], found[4]


@scalar
def fill_band(query, target, band, directions, scheme, H, E):
    """Fill in the directions of one pair, two cells per byte: like `lanes.trace_group` with planes of one bit.

    The stride is even, so that no byte is read before it is written. H, E: space for the query.
    """
    bits, (costs, mode, matrix) = directions.bits, scheme
    gap_open, gap_extend = costs.gap_open, costs.gap_extend
    opening = np.int32(gap_open + gap_extend)
    extending, floor = np.int32(gap_extend), np.int32(0)
    if mode != rule.LOCAL:
        floor = np.int32(rule.UNREACHED)
    for j in range(query.size):
        H[j], E[j] = (0 if mode == rule.LOCAL else -(gap_open + (j + 1) * gap_extend)), floor
    left = np.int32(costs.bonus if mode == rule.LOCAL else 0)
    for row in range(band.rows):
        i = directions.origin + row
        diagonal = left
        if mode == rule.GLOBAL:
            left = np.int32(left - (extending if row > 0 else opening))
        F = floor if mode == rule.LOCAL else np.int32(left - opening)
        low = max(0, row - band.width)
        if low > 0:
            diagonal, F = H[low - 1], floor
        for j in range(low, min(query.size, row + band.lead + 1)):
            inside = 0 <= i < target.size
            gain = np.int32(gain_of(query[j], target[i], costs, matrix) if inside else rule.UNREACHED)
            h, d, f, answers = cell(diagonal, gain, E[j], F, opening, extending, floor)
            diagonal, H[j], E[j], F = H[j], h, d, np.int32(f)
            byte = (row * directions.stride + j - low) >> 1
            bits[byte] = bits[byte] | (answers << 4) if (j - low) & 1 else answers


@scalar
def trace_pair(tasks, pair, scheme, H, E, bits, walks, cigar):
    """Trace one pair; `walks` says where its runs go. H, E: space for its query; bits: half a byte per cell."""
    pairs = tasks.pairs
    columns, stop = np.int64(tasks.ends.query_stop[pair]), np.int64(tasks.ends.target_stop[pair])
    band = rule.band_of(stop - columns, tasks.strays[pair, 0], tasks.strays[pair, 1], columns, stop, scheme.mode)
    stride = (min(columns, band.lead + band.width + 1) + 1) // 2 * 2
    origin = (stop - columns - band.before) * (scheme.mode != rule.GLOBAL)
    directions = Directions(bits, 0, 1, stride, band.width, origin)
    query = pairs.queries[pairs.query_starts[pair] :][:columns]
    target = pairs.targets[pairs.target_starts[pair] :][:stop]
    fill_band(query, target, band, directions, scheme, H, E)
    walk_pair(tasks, pair, directions, scheme, walks, cigar)
