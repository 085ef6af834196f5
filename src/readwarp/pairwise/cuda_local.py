"""Local scores on a card: which pairs run on which register tiles (`cuda_tiles`), and the costs as tiles take them."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_launch import WARP
from readwarp.device.jit import cuda
from readwarp.device.lanes import LEAST_HALF, forms_of, keys_of, packed, pairs_of
from readwarp.device.memory import Workspace, rounded
from readwarp.pairwise.cuda_tiles import AHEAD, BLOCK, COLUMNS, GROUPS, LONGEST, lay_rows, score_kernel
from readwarp.pairwise.pairs import Costs, Ends, Pairs

ROOM = 1 << 26  # bytes of rows that are laid out at a time
OF_CELL, OF_ROW = 8, 13  # instructions of a row, about, per column and beside them
USUAL_ROWS = 230
MOST_ROWS = 1 << 15  # steps are counted in 16 bits
LEAST_LIMIT = 128  # a form whose scores end below this is not worth while


@dataclass(frozen=True, slots=True)
class Constants:
    """Costs as the lanes of a form hold them."""

    limit: int  # scores from here on may have overflowed
    most_bases: int  # of a query: none that overflows in s16x2, where it would carry to the other half
    numbers: ndarray  # uint32 [13]: gains by code of the stream; floor, opening, extending, border, threshold, 1, keys
    bounds: ndarray  # int32 [3]: what makes a number with its key score * keys + key; limit; bonus * keys


def engines(costs: Costs) -> list[tuple[str, Constants]]:
    """The forms of the current device that hold these costs, fastest first."""
    capability = tuple(cuda.get_current_device().compute_capability)
    held = ((form, constants_of(form, costs)) for form in forms_of(capability))
    return [(form, constants) for form, constants in held if constants is not None]


@lru_cache
def constants_of(form: str, costs: Costs) -> Constants | None:
    """The costs for lanes of that form, or None where they do not hold them.

    The bonus may not exceed the cost of a gap of one base: then a cell whose last base is in a gap may have it too, and
    lies below the cell that the gap began at, or comes after it.
    """
    match, mismatch, gap_open, gap_extend, bonus = costs
    opening, keys = gap_open + gap_extend, keys_of(form)
    if bonus > opening or opening < 1:
        return None
    if form == "half2":
        gains = [opening + match, opening - mismatch, 0]  # added to H - opening
        halves = np.array(gains, np.float16).view(np.uint16)
        limit = (2048 - 6 - LEAST_HALF) // keys - match - 2 * bonus - 1
        if min(gains) < 0 or gains[0] > 2048 or (halves & 255).any() or limit < LEAST_LIMIT:
            return None
        codes = (halves >> 8).tolist()
        floor, border, threshold, zero, most_bases = (
            0,
            bonus - opening,
            keys * bonus + LEAST_HALF + 6,
            -LEAST_HALF,
            LONGEST,
        )
    else:
        if match > 127 or max(mismatch, bonus) > 128:
            return None
        floor = opening if pairs_of(form) == 2 else 0  # what is subtracted from a half never borrows
        limit = 32767 // keys - floor - match - 2 * bonus - 1 if pairs_of(form) == 2 else 1 << 25
        if limit < LEAST_LIMIT:
            return None
        codes = [match, -mismatch & 255, 128]
        border, threshold, zero = floor + bonus, keys * (floor + bonus) + keys - 1, -keys * floor
        most_bases = min(LONGEST, (limit - 1 - 2 * bonus) // max(match, 1))
    match_code, mismatch_code, least_code = codes
    rows = [[match_code if base == code else mismatch_code for base in range(4)] for code in range(5)]
    tables = [int.from_bytes(bytes(row), "little") for row in (*rows, [least_code] * 4)]
    both = [packed(form, x, x) for x in (floor, -opening, -gap_extend, border, threshold)]
    if form == "s16x2":
        both[1] = -(opening * 0x10001) & 0xFFFFFFFF  # for a sum of 32 bits
    factor = packed(form, keys, keys) if form == "half2" else keys
    numbers = np.array([*tables, *both, 1, factor], np.uint32)
    return Constants(limit, most_bases, numbers, np.array([zero, limit, keys * bonus], np.int32))


@lru_cache
def shape_table() -> ndarray:
    """By query length: 100 * threads + columns of each, the fewest instructions for a target of the usual length."""
    shapes = [(group, columns) for columns in COLUMNS for group in GROUPS]
    table = np.zeros(LONGEST + 1, np.int64)
    for length in range(LONGEST + 1):
        costs = [(g * (OF_CELL * k + OF_ROW) * (USUAL_ROWS + g), g, k) for g, k in shapes if g * k >= length]
        table[length] = 100 * min(costs)[1] + min(costs)[2]
    return table


def fits_tiles(pairs: Pairs, rows: ndarray, form: str, constants: Constants) -> ndarray:
    """Which of these pairs have lengths that tiles of that form take."""
    most = MOST_ROWS if pairs_of(form) == 2 else 1 << 24
    return (pairs.query_lengths[rows] <= constants.most_bases) & (pairs.target_lengths[rows] < most - 2 * WARP)


def score_on_tiles(
    pairs: Pairs, rows: ndarray, form: str, constants: Constants, workspace: Workspace, ends: Ends
) -> None:
    """Ends of these pairs, none of them empty, their sequences on the device; OVERFLOWN where another form must say."""
    if not rows.size:
        return
    shapes = shape_table()[pairs.query_lengths[rows]]
    order = rows[np.lexsort((-pairs.target_lengths[rows], shapes))]
    shapes = shape_table()[pairs.query_lengths[order]]
    with workspace.frame():
        there = [
            workspace.upload(np.asarray(column)[order].astype(dtype))
            for column, dtype in (
                (pairs.query_starts, np.int64), (pairs.query_lengths, np.int32),
                (pairs.target_starts, np.int64), (pairs.target_lengths, np.int32),
            )
        ]  # fmt: skip
        numbers, bounds = workspace.upload(constants.numbers), workspace.upload(constants.bounds)
        found = workspace.empty((order.size, 3), np.int32)
        for begin, stop, shape in _runs(shapes, pairs.target_lengths[order], form):
            part = [column[begin:stop] for column in there]
            group, columns = divmod(shape, 100)
            starts = stream_starts(pairs.target_lengths[order[begin:stop]], form, group)
            with workspace.frame():
                stream = workspace.empty(int(starts[-1]), np.uint8)
                places = workspace.upload(starts)
                tiles = starts.size - 1
                lay_rows[-(-tiles * WARP // BLOCK), BLOCK, workspace.stream](
                    pairs.targets, part[2], part[3], stream, places, np.int32(group), np.int32(pairs_of(form))
                )
                score_kernel(form, columns)[-(-tiles * group // BLOCK), BLOCK, workspace.stream](
                    pairs.queries, part[0], part[1], stream, places, part[3], numbers, bounds, np.int32(group),
                    found[begin:stop],
                )  # fmt: skip
        (scores,) = workspace.download(found)
    ends.score[order], ends.query_stop[order], ends.target_stop[order] = scores.T


def device_bytes(pairs: int, longest_target: int) -> int:
    """Most bytes of the workspace while so many pairs are scored on tiles, in any form, sequences not counted."""
    rows = longest_target + max(GROUPS) + AHEAD
    laid = max(min(ROOM, pairs * rows), BLOCK * rows) + max(GROUPS) + AHEAD
    columns = 2 * rounded(8 * pairs) + 2 * rounded(4 * pairs) + rounded(12 * pairs) + rounded(8 * (pairs + 1))
    return columns + 2 * rounded(48) + rounded(laid)


def stream_starts(target_lengths: ndarray, form: str, group: int) -> ndarray:
    """Where the rows of each tile begin, and one more: each has as many as its block's longest, and what lies beside.

    target_lengths: falling. Behind the rows of a tile lie `group` + AHEAD that are outside, before the next one's.
    """
    tiles = -(-target_lengths.size // pairs_of(form))
    tiles_each = BLOCK // group
    longest = target_lengths[np.arange(tiles) // tiles_each * tiles_each * pairs_of(form)]
    starts = np.full(tiles + 1, group, np.int64)
    starts[1:] += np.cumsum(longest + group + AHEAD)
    return starts


def _runs(shapes: ndarray, target_lengths: ndarray, form: str) -> Any:
    """(begin, stop, shape) of launches: pairs of one shape whose rows take no more than ROOM."""
    for begin, stop in pairwise([0, *(np.flatnonzero(np.diff(shapes)) + 1).tolist(), shapes.size]):
        while begin < stop:
            longest = int(target_lengths[begin]) + WARP + AHEAD
            tiles = max(1, (ROOM // longest) & -BLOCK)
            yield begin, min(stop, begin + tiles * pairs_of(form)), int(shapes[begin])
            begin += tiles * pairs_of(form)
