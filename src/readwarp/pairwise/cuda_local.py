"""Local scores on a card: the choice of register tiles (`cuda_tiles`) for pairs, and the costs in the tiles' form."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device import cuda_driver
from readwarp.device.cuda_launch import WARP
from readwarp.device.lanes import LaneForm, forms_of
from readwarp.device.memory import current
from readwarp.device.staging import rounded
from readwarp.pairwise.cuda_tiles import AHEAD, BLOCK, COLUMNS, GROUPS, MAX_QUERY, Tiles, lay_rows, score_kernel
from readwarp.pairwise.pairs import Costs, Ends, Pairs
from readwarp.pairwise.scalar import UNKNOWN_COST

ROOM = 1 << 26  # bytes of rows laid out at a time
OF_CELL, OF_ROW = 8, 13  # approximate instructions of a row: per column, and independent of columns
USUAL_ROWS = 230
FEW = 2048  # tiles that do not fill a large card with a warp each
MAX_ROWS = 1 << 15  # steps are counted in 16 bits
MIN_LIMIT = 128  # smallest maximum score of a form that is worth a launch


@dataclass(frozen=True, slots=True)
class Constants:
    """Costs in the number format of a form's lanes."""

    limit: int  # this score or a higher one may have overflowed
    max_bases: int  # of a query: in s16x2 none may overflow, which would carry into the other half
    numbers: ndarray  # uint32 [14]: gains by code of the stream; floor, opening, extending, border, threshold, 1, keys
    bounds: ndarray  # int32 [3]: what makes a number with its key score * keys + key; limit; bonus * keys


def engines(costs: Costs) -> list[tuple[LaneForm, Constants]]:
    """List the forms of the current device that can hold these costs, fastest first."""
    capability = cuda_driver.capability_of(cuda_driver.current_device())
    held = ((form, constants_of(form, costs)) for form in forms_of(capability))
    return [(form, constants) for form, constants in held if constants is not None]


@lru_cache
def constants_of(form: LaneForm, costs: Costs) -> Constants | None:
    """Return the costs for lanes of that form, or None if they do not fit.

    The bonus must not exceed the cost of a gap of one base. Then it is harmless to give it to a cell whose last base is
    in a gap: that cell scores less than the one where the gap began, or comes after it.
    """
    opening = costs.gap_open + costs.gap_extend
    if costs.bonus > opening or opening < 1:
        return None
    held = (_in_halves if form.is_float else _in_integers)(form, costs, opening)
    if held is None or held.limit < MIN_LIMIT:
        return None
    match, mismatch, unknown, outside = held.codes
    rows = [[match if base == code else mismatch for base in range(4)] for code in range(4)]
    rows += [[gain] * 4 for gain in (unknown, mismatch, outside)]
    tables = [int.from_bytes(bytes(row), "little") for row in rows]
    lanes = [form.packed(x, x) for x in (held.floor, -opening, -costs.gap_extend, held.border, held.threshold)]
    if form.numbers == 2 and not form.is_float:
        lanes[1] = -(opening * 0x10001) & 0xFFFFFFFF  # for a 32-bit sum
    factor = form.packed(form.factor, form.factor) if form.is_float else form.factor
    bounds = np.array([held.zero, held.limit, form.factor * costs.bonus], np.int32)
    return Constants(held.limit, held.max_bases, np.array([*tables, *lanes, 1, factor], np.uint32), bounds)


class Held(NamedTuple):
    """Costs as numbers of a form."""

    limit: int
    max_bases: int
    codes: tuple[int, int, int, int]  # bytes for the gains of a match, a mismatch, an N, and outside the target
    floor: int
    border: int
    threshold: int
    zero: int


def _in_halves(form: LaneForm, costs: Costs, opening: int) -> Held | None:
    unknown = min(costs.mismatch, UNKNOWN_COST)
    gains = [opening + costs.match, opening - costs.mismatch, opening - unknown, 0]  # added to H - opening
    halves = np.array(gains, np.float16).view(np.uint16)
    if halves[2] & 255:  # no byte holds the gain of N: pairs with N overflow, and so move to the next form
        halves[2] = np.float16(2048).view(np.uint16)
    if min(gains) < 0 or gains[0] > 2048 or (halves & 255).any():
        return None
    first_key, codes = form.lowest + form.keys - 1, (halves >> 8).tolist()
    limit = (2048 - first_key) // form.factor - costs.match - 2 * costs.bonus - 1
    threshold = form.factor * costs.bonus + first_key
    return Held(limit, MAX_QUERY, tuple(codes), 0, costs.bonus - opening, threshold, -form.lowest)


def _in_integers(form: LaneForm, costs: Costs, opening: int) -> Held | None:
    match, bonus = costs.match, costs.bonus
    is_pair = form.numbers == 2
    if match > 127 or max(costs.mismatch, bonus) > 128:
        return None
    floor = opening if is_pair else 0  # so that no subtraction borrows from the other half
    limit = 32767 // form.factor - floor - match - 2 * bonus - 1 if is_pair else 1 << 25
    max_bases = min(MAX_QUERY, (limit - 1 - 2 * bonus) // max(match, 1))
    border, zero = floor + bonus, -form.factor * floor
    threshold = form.factor * border + form.factor - 1
    codes = match, -costs.mismatch & 255, -min(costs.mismatch, UNKNOWN_COST) & 255, 128
    return Held(limit, max_bases, codes, floor, border, threshold, zero)


@lru_cache
def shape_table() -> ndarray:
    """Tabulate 100 * threads + columns per thread by query length, with the fewest instructions for a usual target."""
    shapes = [(group, columns) for columns in COLUMNS for group in GROUPS]
    table = np.zeros(MAX_QUERY + 1, np.int64)
    for length in range(MAX_QUERY + 1):
        costs = [(g * (OF_CELL * k + OF_ROW) * (USUAL_ROWS + g), g, k) for g, k in shapes if g * k >= length]
        table[length] = 100 * min(costs)[1] + min(costs)[2]
    return table


def shapes_of(lengths: ndarray, form: LaneForm) -> ndarray:
    """Return the shape of each query's tile, as in the table. Pairs too few to fill a card share a launch of warps."""
    if lengths.size > FEW * form.numbers:
        return np.asarray(shape_table()[lengths])
    columns = next(columns for columns in COLUMNS if WARP * columns >= lengths.max())
    return np.full(lengths.size, 100 * WARP + columns)


def fits_tiles(pairs: Pairs, rows: ndarray, form: LaneForm, constants: Constants) -> ndarray:
    """Tell which of these pairs have lengths that tiles of that form can hold."""
    limit = (MAX_ROWS if form.numbers == 2 else 1 << 24) - 2 * WARP
    is_short = pairs.query_lengths[rows] <= constants.max_bases
    return np.asarray(is_short & (pairs.target_lengths[rows] < limit))


def score_on_tiles(pairs: Pairs, rows: ndarray, engine: tuple[LaneForm, Constants], ends: Ends) -> None:
    """Score these non-empty pairs, whose sequences are on the device; OVERFLOWN where another form is needed."""
    if not rows.size:
        return
    form, constants = engine
    workspace, shapes = current(), shapes_of(pairs.query_lengths[rows], form)
    sorting = np.lexsort((-pairs.target_lengths[rows], shapes))
    order, shapes = rows[sorting], shapes[sorting]
    target_lengths = pairs.target_lengths[order]
    with workspace.frame():
        places = (column[order] for column in (pairs.query_starts, pairs.target_starts))
        sizes = (column.astype(np.int32) for column in (pairs.query_lengths[order], target_lengths))
        there = workspace.on_card((*places, *sizes, constants.numbers, constants.bounds))
        starts, target_starts, lengths, heights, numbers, bounds = there
        found = workspace.empty((order.size, 3), np.int32)
        for begin, stop, shape in _runs(shapes, target_lengths, form):
            group, columns = divmod(shape, 100)
            laid, part = stream_starts(target_lengths[begin:stop], form, group), slice(begin, stop)
            with workspace.frame():
                tiles, of_part = laid.size - 1, (starts[part], lengths[part], heights[part])
                stream = workspace.empty(int(laid[-1]), np.uint8)
                on_tiles = Tiles(pairs.queries, *of_part, stream, workspace.upload(laid))
                lay_rows[-(-tiles * WARP // BLOCK), BLOCK, workspace.stream](
                    pairs.targets, target_starts[part], on_tiles, np.int32(group), np.int32(form.numbers)
                )
                score_kernel(form, columns)[-(-tiles * group // BLOCK), BLOCK, workspace.stream](
                    on_tiles, numbers, bounds, np.int32(group), found[part]
                )
        (scores,) = workspace.download(found)
    ends.score[order], ends.query_stop[order], ends.target_stop[order] = scores.T


def device_bytes(pairs: int, longest_target: int) -> int:
    """Return the peak bytes of the workspace while this many pairs are scored on tiles, without their sequences."""
    rows = longest_target + max(GROUPS) + AHEAD
    laid = max(min(ROOM, pairs * rows), BLOCK * rows) + max(GROUPS) + AHEAD
    columns = 2 * rounded(8 * pairs) + 2 * rounded(4 * pairs) + rounded(12 * pairs) + rounded(8 * (pairs + 1))
    return columns + 2 * rounded(56) + rounded(laid)


def stream_starts(target_lengths: ndarray, form: LaneForm, group: int) -> ndarray:
    """Return where each tile's rows begin, and the last end; tiles are as long as the longest of their block.

    target_lengths: descending. Between two tiles there are `group` + AHEAD rows outside the targets.
    """
    tiles = -(-target_lengths.size // form.numbers)
    tiles_each = BLOCK // group
    longest = target_lengths[np.arange(tiles) // tiles_each * tiles_each * form.numbers]
    starts = np.full(tiles + 1, group, np.int64)
    starts[1:] += np.cumsum(longest + group + AHEAD)
    return starts


def _runs(shapes: ndarray, target_lengths: ndarray, form: LaneForm) -> Any:
    """Yield (begin, stop, shape) of launches: pairs of one shape whose rows fit ROOM."""
    for begin, stop in pairwise([0, *(np.flatnonzero(np.diff(shapes)) + 1).tolist(), shapes.size]):
        longest = int(target_lengths[begin]) + WARP + AHEAD
        each = form.numbers * max(1, (ROOM // longest) & -BLOCK)
        yield from ((first, min(stop, first + each), int(shapes[first])) for first in range(begin, stop, each))
