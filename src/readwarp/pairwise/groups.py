"""Groups of pairs in lanes: laid out, scored or traced, and read back.

Group g has the pairs order[g * lanes] to order[(g + 1) * lanes], one per lane; the last group may have fewer.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import VECTOR_BYTES, empty_vectors, lanes
from readwarp.pairwise.band import Directions, trace_pair, walk_pair
from readwarp.pairwise.lanes import (
    BLOCK,
    COLUMN,
    END_ROW,
    END_SCORE,
    ROW,
    SCORE,
    VECTORS,
    Group,
    byte_lanes,
    score_group,
    set_top_row,
    trace_group,
)
from readwarp.pairwise.pairs import Ends, Pairs, Scheme, Tasks, Walks
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, OUTSIDE, OVERFLOWN, PAD, UNREACHED
from readwarp.pairwise.transpose import LaneSequences, transpose_groups
from readwarp.ragged import offsets_of

ROOM = 1 << 26  # bytes of directions per group of lanes; larger pairs are traced one by one


class GroupSide(NamedTuple):
    """Queries or targets of all groups."""

    codes: Annotated[ndarray, "int8 [bytes]"]  # [positions, lanes of bytes]
    offsets: Annotated[ndarray, "int64 [groups + 1]"]  # in positions


class PairGroups(NamedTuple):
    """Groups of pairs, and space to compute one."""

    columns: Annotated[ndarray, "int64 [groups]"]
    rows: Annotated[ndarray, "int64 [groups]"]
    queries: GroupSide
    targets: GroupSide
    H: ndarray  # see `lanes.Group`
    E: ndarray
    matrix: ndarray
    gains: ndarray


def most(values: ndarray, count: int) -> ndarray:
    """Return the greatest of each `count` values."""
    return np.asarray(np.maximum.reduceat(values, np.arange(0, values.size, count)))


def spread(values: ndarray, like: ndarray, count: int) -> ndarray:
    """Spread values of groups to each of their pairs."""
    return np.repeat(values, count)[: like.size]


def lay_out(
    queries: LaneSequences, columns: ndarray, targets: LaneSequences, rows: ndarray, scheme: Scheme, width: Any
) -> PairGroups:
    """Lay out pairs in lanes of that dtype; columns, rows: positions of each group."""
    longest, letters = int(columns.max()), scheme.matrix[: PAD * ALPHABET] > UNREACHED
    matrix = scheme.matrix[: (int(np.flatnonzero(letters).max(initial=-1)) // ALPHABET + 1) * ALPHABET]
    gains = longest + matrix.size // ALPHABET if matrix.size else 0
    return PairGroups(
        columns,
        rows,
        _side(queries, columns, PAD, lanes(width)),
        _side(targets, rows + 1, OUTSIDE, lanes(width)),
        H=empty_vectors(longest * lanes(width), width),
        E=empty_vectors(longest * lanes(width), width),
        matrix=np.maximum(matrix, np.iinfo(width).min).astype(width),
        gains=empty_vectors(gains * lanes(width), width),
    )


def _side(sequences: LaneSequences, positions: ndarray, filler: int, count: int) -> GroupSide:
    width, offsets = max(8, count), offsets_of(-(-positions // 8) * 8)
    codes = empty_vectors(int(offsets[-1]) * width, np.int8)
    transpose_groups(sequences, width, count, offsets, filler, codes)
    return GroupSide(codes, offsets)


def score_sorted(pairs: Pairs, order: ndarray, scheme: Scheme, width: Any, ends: Ends) -> None:
    """Score the pairs in `order`, of lengths 1 or more, in lanes of that dtype.

    A local score that reaches the greatest value of a lane becomes OVERFLOWN.
    """
    count = lanes(width)
    query_lengths, target_lengths = pairs.query_lengths[order], pairs.target_lengths[order]
    columns, rows = most(query_lengths, count), most(target_lengths, count)
    pads = spread(columns, order, count) - query_lengths
    groups = lay_out(
        LaneSequences(pairs.queries, pairs.query_starts[order], query_lengths, pads),
        columns,
        LaneSequences(pairs.targets, pairs.target_starts[order], target_lengths, np.zeros_like(pads)),
        rows,
        scheme,
        width,
    )
    first, found = most(pads, count), np.empty((columns.size, VECTORS, count), width)
    score_groups(groups, first, scheme, found.reshape(-1))
    of_pairs = found.transpose(1, 0, 2).reshape(VECTORS, -1)[:, : order.size]
    best, stop, end = _collect(of_pairs, query_lengths, pads, spread(first, order, count), scheme.mode)
    is_full = (scheme.mode == LOCAL) & (best == 2 ** (8 * found.itemsize) - 1)
    ends.score[order] = np.where(is_full, OVERFLOWN, best)
    ends.query_stop[order], ends.target_stop[order] = stop, end


def _digits(found: ndarray, low: int) -> ndarray:
    """Combine positions from their two digits in base BLOCK (rows `low` and `low + 1`), each a signed lane."""
    high = found[low + 1].astype(np.int64) & ((1 << (8 * found.itemsize)) - 1)
    return np.asarray((found[low].astype(np.int64) & (BLOCK - 1)) + high * BLOCK)


def _collect(found: ndarray, lengths: ndarray, pads: ndarray, first: ndarray, mode: int) -> tuple[ndarray, ...]:
    """Return (score, query stop, target stop) of pairs: the best cell, ties to the first row, then the first column.

    found: the vectors of `score_group`, with a column for each pair.
    """
    floor = np.iinfo(found.dtype).min if mode == LOCAL else 0
    end_score, end_row = found[END_SCORE].astype(np.int64) - floor, _digits(found, END_ROW)
    if mode != LOCAL:
        return end_score, lengths, end_row
    score, row = found[SCORE].astype(np.int64) - floor, _digits(found, ROW) + 1
    blocks, place = np.divmod(_digits(found, COLUMN), BLOCK)
    padded_blocks = -(-first // BLOCK)
    start = np.where(blocks < padded_blocks, blocks * BLOCK, first + (blocks - padded_blocks) * BLOCK)
    is_end = (end_score > score) | ((end_score == score) & (end_row < row))
    score = np.where(is_end, end_score, score)
    query_stop = np.where(is_end, lengths, start + place - pads + 1)
    return score, np.where(score > 0, query_stop, 0), np.where(score > 0, np.where(is_end, end_row, row), 0)


@kernel
def begin_group(groups, g, scheme):
    """Return group g, its top row set."""
    columns, rows, (queries, query_offsets), (targets, target_offsets), H, E, matrix, gains = groups
    query, target = queries[query_offsets[g] * byte_lanes(H) :], targets[target_offsets[g] * byte_lanes(H) :]
    group = Group(columns[g], rows[g], query, target, H, E, matrix, gains)
    set_top_row(group, scheme)
    return group


@kernel
def score_groups(groups, first, scheme, found):
    """Write the vectors of `score_group` for each group to `found`."""
    number = groups.columns.size
    for g in range(number):
        score_group(begin_group(groups, g, scheme), first[g], scheme, found[found.size // number * g :])


class CellBands(NamedTuple):
    """Bands that hold the paths of all lanes of each group: columns i - width to i + lead of row i."""

    lead: Annotated[ndarray, "int64 [groups]"]
    width: Annotated[ndarray, "int64 [groups]"]
    rows: Annotated[ndarray, "int64 [groups]"]
    origins: Annotated[ndarray, "int64 [pairs]"]  # target position of row 0, per pair in the order of lanes


def bands_of(tasks: Tasks, order: ndarray, count: int, mode: int) -> CellBands:
    """Compute the bands of groups of lanes.

    A path strays from the diagonal of its end by at most strays[pair, 0] towards the first rows (deletions follow) and
    strays[pair, 1] towards the first columns. Lanes are aligned on that diagonal, so some have rows above the target;
    in GLOBAL mode they are aligned on their first cell, so that their borders coincide.
    """
    query_stop, target_stop = (stops[order].astype(np.int64) for stops in tasks.ends[1:])
    (deletions, insertions), diagonals = tasks.strays[order].T, target_stop - query_stop
    if mode == GLOBAL:
        lead, width = most(deletions - diagonals, count), most(insertions + diagonals, count)
        return CellBands(lead, width, most(target_stop, count), np.zeros_like(diagonals))
    before = np.minimum(most(deletions, count), np.maximum(most(diagonals, count), 0) + 1)
    lead, width = most(deletions, count) - before, most(insertions, count) + before
    return CellBands(lead, width, before + most(query_stop, count), diagonals - spread(before, order, count))


def trace_sorted(tasks: Tasks, order: ndarray, scheme: Scheme, width: Any, walks: Walks, cigar: ndarray) -> None:
    """Trace the pairs in `order` from their ends, of stops 1 or more, in lanes of that dtype."""
    count, pairs = lanes(width), tasks.pairs
    query_stop, target_stop = (stops[order].astype(np.int64) for stops in tasks.ends[1:])
    columns, bands = most(query_stop, count), bands_of(tasks, order, count, scheme.mode)
    sizes = bands.rows * np.minimum(columns, bands.lead + bands.width + 1) * max(8, count) // 2
    is_large = spread(sizes > ROOM, order, count)
    if is_large.any():
        trace_single(tasks, order[is_large], scheme, walks, cigar)
        if not is_large.all():
            trace_sorted(tasks, order[~is_large], scheme, width, walks, cigar)
        return
    outside = np.maximum(-bands.origins, 0)  # rows above the target
    skipped = np.maximum(bands.origins, 0)
    groups = lay_out(
        LaneSequences(pairs.queries, pairs.query_starts[order], query_stop, np.zeros_like(query_stop)),
        columns,
        LaneSequences(pairs.targets, pairs.target_starts[order] + skipped, target_stop - skipped, outside),
        bands.rows,
        scheme,
        width,
    )
    trace_groups(tasks, order, groups, bands, scheme, empty_vectors(int(sizes.max()), np.uint8), walks, cigar)


@kernel
def trace_groups(tasks, order, groups, bands, scheme, bits, walks, cigar):
    """Trace each group, and walk back from the ends of its pairs. bits: space for one group's directions."""
    lead, width, _, origins = bands
    count, span = VECTOR_BYTES // groups.H.itemsize, byte_lanes(groups.H)
    for g in range(groups.columns.size):
        trace_group(begin_group(groups, g, scheme), lead[g], width[g], scheme, bits)
        stride = min(groups.columns[g], lead[g] + width[g] + 1)
        for k in range(g * count, min((g + 1) * count, order.size)):
            directions = Directions(bits, k - g * count, span, stride, width[g], origins[k])
            walk_pair(tasks, order[k], directions, scheme, walks, cigar)


@kernel
def trace_single(tasks, order, scheme, walks, cigar):
    """Trace like `trace_sorted`, one pair at a time in plain integers (`band`)."""
    _, query_stop, _ = tasks.ends
    for pair in order:
        columns = np.int64(query_stop[pair])
        widest = tasks.strays[pair, 0] + tasks.strays[pair, 1] + 1
        bits = np.empty((columns + widest) * ((min(columns, widest) + 1) // 2), np.uint8)
        H, E = np.empty(columns, np.int32), np.empty(columns, np.int32)
        trace_pair(tasks, pair, scheme, H, E, bits, walks, cigar)
