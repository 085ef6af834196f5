"""The plan of a traceback on CUDA, made on the host: bands, thread groups, launches, bytes.

Pairs are assigned to slots, sorted by the shape (words, group) that is fastest for their band, then by rows, so that
the groups of a warp end together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_launch import WARP
from readwarp.device.staging import rounded
from readwarp.pairwise.cpu import max_runs
from readwarp.pairwise.pairs import Costs, Scheme, Tasks
from readwarp.pairwise.scalar import LETTERS, LOCAL, UNKNOWN_COST
from readwarp.rules.bases import NEVER, UNKNOWN

PAD, OUTSIDE = 6, 7  # codes of columns outside the query and of rows outside the target

GROUPS = (1, 2, 3, 4, 5, 6, 8, 10, 16, 32)  # threads per pair
STEP = {1: 169, 2: 303, 4: 568}  # instructions of a step on sm_90, by words of eight diagonals per thread
FULL = 1024  # warps that keep a large card busy; fewer run no faster
MAX_DIAGONALS = 8 * max(STEP) * max(GROUPS)
MAX_SCORE = 1 << 28  # so that no score comes near UNREACHED

# Rows of Slots.starts and Slots.geometry, columns of warps.
QUERY_AT, TARGET_AT, RUNS_AT = range(3)
PAIR, FIRST, ROWS, COLUMNS, SHIFT, REACHED, WARP_OF = range(7)
DIRECTIONS_AT, STEPS, SLOT, SLOTS, GROUP, WORDS = range(6)


class TraceSlots(NamedTuple):
    """Pairs in the order of tracing, in few arrays, since each is a copy to the card."""

    queries: Annotated[ndarray, "uint8 [query bases]"]
    targets: Annotated[ndarray, "uint8 [target bases]"]
    starts: Annotated[ndarray, "int64 [3, slots]"]  # of the query, the target, and the runs
    # Pair, first target base, number of target bases, columns, shift, score without the bonus for the end, warp.
    geometry: Annotated[ndarray, "int32 [7, slots]"]


@dataclass(frozen=True, slots=True)
class TraceRound:
    """Slots whose directions are in memory together, with a launch for each of `words` and one to walk back.

    words: (words, first warp, end of warps) of warps whose threads have 8 * words diagonals each.
    """

    begin: int
    stop: int
    words: tuple[tuple[int, int, int], ...]
    directions: int  # int32 values


@dataclass(frozen=True, slots=True)
class TracePlan:
    slots: TraceSlots
    warps: ndarray  # int64 [warps, 6]: start of its directions, steps, first slot, slots, threads per slot, words
    rounds: tuple[TraceRound, ...]
    runs: int  # maximum for all pairs

    def device_bytes(self, sequences: int = 0) -> int:
        """Return the peak bytes of the workspace. sequences: bytes of those not yet there."""
        starts, geometry = self.slots.starts, self.slots.geometry
        pairs = geometry.shape[1]
        arrays = (starts.nbytes, geometry.nbytes, self.warps.nbytes, 64, 20 * pairs, 4 * self.runs, 8 * (pairs + 1))
        filling = max((rounded(4 * each.directions) for each in self.rounds), default=0)
        return sequences + sum(map(rounded, arrays)) + max(filling, rounded(4 * self.runs))


def can_trace(scheme: Scheme, longest: int, letters: int) -> bool:
    """Return whether tracing handles these scores, sequences of this length, and codes below `letters`.

    Gains are signed bytes. The cells before the query's first column are worth the bonus, so a gap from there must cost
    at least as much.
    """
    match, mismatch, gap_open, gap_extend, bonus = scheme.costs
    fits = match + 2 * gap_extend < 128 and mismatch - 2 * gap_extend <= 128 and letters <= LETTERS
    scores = 2 * longest * max(match + 2 * gap_extend, mismatch) + 2 * (gap_open + bonus)
    return fits and scores < MAX_SCORE and (scheme.mode != LOCAL or bonus <= gap_open + gap_extend)


def gains_of(costs: Costs) -> ndarray:
    """Return gains of a query's eight codes by target code, each plus twice the gap extension: bytes, as int32 [16].

    PAD gains nothing, so that border cells keep their value.
    """
    neutral = 2 * costs.gap_extend
    gains = np.full((8, 8), neutral, np.int8)
    gains[:LETTERS, :LETTERS] = neutral - costs.mismatch
    gains[NEVER, :LETTERS] = gains[:LETTERS, UNKNOWN] = neutral - min(costs.mismatch, UNKNOWN_COST)
    np.fill_diagonal(gains[:LETTERS, :LETTERS], neutral + costs.match)
    return gains.view(np.int32).ravel()


@lru_cache
def shape_table(pairs: int) -> ndarray:
    """Tabulate, by number of diagonals, 100 * words + group of the shape that traces this many pairs fastest."""
    cost = {(words, group): STEP[words] * max(pairs / (WARP // group), FULL) for words in STEP for group in GROUPS}
    table = np.zeros(MAX_DIAGONALS + 1, np.int64)
    for words, group in sorted(cost, key=lambda shape: (cost[shape], shape[0] * shape[1]), reverse=True):
        table[: 8 * words * group + 1] = 100 * words + group
    return table


def plan_trace(tasks: Tasks, scheme: Scheme, room: int) -> TracePlan:
    """Plan the traceback of pairs with up to MAX_DIAGONALS. A round's directions fit `room` bytes or are one warp's."""
    pairs, (reached, query_stop, target_stop), strays = tasks
    columns, target_stop = query_stop.astype(np.int64), target_stop.astype(np.int64)
    first = np.maximum(target_stop - columns - strays[:, 0], 0)
    rows = target_stop - first
    shapes = shape_table(1 << len(pairs).bit_length())[strays.sum(axis=1) + 1]
    slots = np.lexsort((-rows, shapes))
    runs = max_runs(tasks.ends, scheme)[slots]
    starts = np.stack((pairs.query_starts[slots], pairs.target_starts[slots], np.cumsum(runs) - runs))
    shift = target_stop - columns + strays[:, 1]
    warps = _warps(shapes[slots], rows[slots])
    each = np.repeat(np.arange(len(warps)), warps[:, SLOTS])
    geometry = np.stack((slots, *(row[slots] for row in (first, rows, columns, shift, reached)), each))
    rounds = tuple(_round(warps, *cut) for cut in cuts(_sizes(warps), room // 4))
    laid = TraceSlots(pairs.queries, pairs.targets, starts, geometry.astype(np.int32))
    return TracePlan(laid, warps, rounds, max(1, int(runs.sum())))


def _warps(shapes: ndarray, rows: ndarray) -> ndarray:
    """Return Plan.warps of slots with these shapes, ascending, and rows; DIRECTIONS_AT is set later."""
    warps = [np.zeros((0, 6), np.int64)]
    for shape in np.unique(shapes).tolist():
        words, group = divmod(shape, 100)
        begin, stop = np.searchsorted(shapes, (shape, shape + 1)).tolist()
        first = np.arange(begin, stop, WARP // group)
        some = np.zeros((first.size, 6), np.int64)
        some[:, STEPS] = np.maximum.reduceat(rows[begin:stop], first - begin) + group - 1
        some[:, SLOT], some[:, SLOTS] = first, np.minimum(stop - first, WARP // group)
        some[:, GROUP], some[:, WORDS] = group, words
        warps.append(some)
    return np.concatenate(warps)


def _sizes(warps: ndarray) -> ndarray:
    """Return the int32 values of each warp's directions."""
    return np.asarray(warps[:, STEPS] * warps[:, WORDS] * WARP)


def _round(warps: ndarray, low: int, high: int) -> TraceRound:
    """Return the round of these warps; set their DIRECTIONS_AT."""
    some, sizes = warps[low:high], _sizes(warps[low:high])
    some[:, DIRECTIONS_AT] = np.cumsum(sizes) - sizes
    ends = [low, *(low + 1 + np.flatnonzero(np.diff(some[:, WORDS]))).tolist(), high]
    words = ((int(warps[first, WORDS]), first, last) for first, last in pairwise(ends))
    return TraceRound(int(some[0, SLOT]), int(some[-1, SLOT] + some[-1, SLOTS]), tuple(words), int(sizes.sum()))


def cuts(sizes: ndarray, room: int) -> Iterator[tuple[int, int]]:
    """Cut sizes into (begin, stop) of those that fit `room` together, or of a single one that does not."""
    total, begin = np.cumsum(sizes), 0
    while begin < sizes.size:
        spent = total[begin] - sizes[begin]
        stop = max(begin + 1, int(np.searchsorted(total, spent + room, "right")))
        yield begin, stop
        begin = stop
