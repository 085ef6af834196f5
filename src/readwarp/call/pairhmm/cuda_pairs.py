"""Pairs on a card: the shape that each is computed in, the launches, and on the host what no shape holds.

The shape of a pair, rows of a thread and threads of a group, follows from the read's length; the host chooses it once.
Pairs of a shape are a segment, and segments with the same number of rows per thread share a launch. Between what goes
up and the one sum per pair that comes down the card is on its own: launches of float32; one that finds the sums which
are too small and appends those pairs to the segments of float64; launches of these, with as many warps as they may come
to need. Pairs that no shape holds (reads of more than 640 bases, 320 in float64) are computed on the host.
"""

from functools import lru_cache
from itertools import groupby
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.cuda_sums import fill_table, find_small, sum_kernel
from readwarp.call.pairhmm.pairs import Items, Pass, Sums, Work, are_enough, sum_in_turn
from readwarp.call.pairhmm.scalar import COLUMNS, FLOAT32, FLOAT64, PROBABILITY, Precision
from readwarp.device.cuda_launch import WARP, threads_for
from readwarp.device.memory import Workspace
from readwarp.ragged import replace, take

GROUPS = (4, 8, 16, 32)  # threads per pair
PER_ROW, PER_STEP, TYPICAL = 5.25, 20, 300  # instructions of the inner loop, about; columns
MARGIN = WARP  # bases around all haplotypes, which threads that are early or late touch
MAX_BASES = (1 << 31) - 1
Launch = tuple[int, int, int]  # rows of a thread, first warp, the one after the last


class Plan(NamedTuple):
    """What is launched for pairs; for warps and segments see `cuda_sums`."""

    launches: dict[Precision, list[Launch]]
    warps: Annotated[ndarray, "int32 [warps, 2]"]
    segments: Annotated[ndarray, "int32 [segments, 3]"]  # float32 first, with the pairs that there are at first
    order: Annotated[ndarray, "int32 [places]"]  # pairs by segment, with room for those that float64 computes again
    narrow: int  # the places of float32, which come first
    again: Annotated[ndarray, "int32 [pairs]"]  # the segment that would compute the pair again in float64, -1 none
    on_card: Annotated[ndarray, "bool [pairs]"]


@lru_cache
def shape_table(precision: Precision) -> ndarray:
    """By read length: 100 * rows + threads, the shape with the fewest instructions for a pair; 0 after the longest."""
    shapes = [(rows, group) for group in GROUPS for rows in precision.rows]
    table = np.zeros(max(rows * group for rows, group in shapes) + 2, np.int64)
    for length in range(1, table.size - 1):
        costs = [(g * (PER_ROW * k + PER_STEP) * (TYPICAL + g - 1), 100 * k + g) for k, g in shapes if k * g >= length]
        table[length] = min(costs)[1]
    return table


def plan_launches(lengths: ndarray, is_narrow: ndarray) -> Plan:
    """Pairs by the lengths of their reads and by whether float32 comes first, their order kept within a segment."""
    narrow, wide = (table[np.minimum(lengths, table.size - 1)] for table in map(shape_table, (FLOAT32, FLOAT64)))
    on_card = np.where(is_narrow, narrow, wide) > 0
    again, order = np.full(lengths.size, -1, np.int32), np.zeros(2 * lengths.size, np.int32)
    launches: dict[Precision, list[Launch]] = {FLOAT32: [], FLOAT64: []}
    segments: list[tuple[int, int, int]] = []
    warps, used, held = [np.zeros((0, 2), np.int64)], 0, 0
    for precision, shape, begins, may_come in (
        (FLOAT32, narrow, is_narrow, is_narrow),
        (FLOAT64, wide, ~is_narrow, on_card),
    ):
        for rows, several in groupby(np.unique(shape[may_come & (shape > 0)]).tolist(), lambda each: each // 100):
            before = held
            for each in several:
                is_each, group = shape == each, each % 100
                first, room = np.flatnonzero(begins & is_each), int((may_come & is_each).sum())
                if precision is FLOAT64:
                    again[is_each] = len(segments)
                ahead = np.arange(0, room, WARP // group)
                warps.append(np.stack((np.full_like(ahead, len(segments)), ahead), axis=1))
                segments.append((used, first.size, group))
                order[used : used + first.size] = first
                used, held = used + room, held + ahead.size
            launches[precision].append((rows, before, held))
    return Plan(
        launches=launches,
        warps=np.concatenate(warps).astype(np.int32),
        segments=np.array(segments, np.int32).reshape(-1, 3),
        order=order[:used],
        narrow=int((is_narrow & on_card).sum()),
        again=again,
        on_card=on_card,
    )


def places_of(items: Items, work: Work, read_starts: ndarray, haplotype_starts: ndarray) -> ndarray:
    """int64 [pairs, 4]: the first columns of `places` of `cuda_sums`."""
    sizes = items.lengths[work.read], items.sizes[work.haplotype]
    return np.stack((read_starts, sizes[0], haplotype_starts + MARGIN, sizes[1]), axis=1)


def run(workspace: Workspace, reads: ReadRows, haplotypes: Any, places: ndarray, plan: Plan) -> ndarray:
    """Sums of pairs (float64, those computed in float64 negative); undefined for those that no launch has.

    reads, haplotypes: on the card, the latter with margins. places: `places_of`.
    """
    if max(reads.bases.size, haplotypes.size) > MAX_BASES:
        raise ValueError(f"more than {MAX_BASES} bases in one call")
    if not plan.warps.size:
        return np.zeros(len(places))
    phreds, warps = (*reads[:4], workspace.upload(PROBABILITY)), workspace.upload(plan.warps)
    places = np.column_stack((places, plan.again)).astype(np.int32)
    work = [*map(workspace.upload, (places, plan.segments, plan.order)), workspace.empty(len(places), np.float64)]

    def launch(precision: Precision, rows: tuple[Any, ...]) -> None:
        for rows_each, first, stop in plan.launches[precision]:
            kernel = sum_kernel(rows_each, precision)
            kernel[stop - first, WARP, workspace.stream](rows, haplotypes, warps[first:stop], *work)

    if plan.narrow:
        table = workspace.empty((reads.bases.size, COLUMNS), np.float32)
        fill_table[len(reads), WARP, workspace.stream](phreds, reads.offsets, table)
        launch(FLOAT32, (reads.bases, table))
        find_small[threads_for(plan.narrow, workspace)](plan.narrow, FLOAT32.min_per_cell, *work)
    launch(FLOAT64, phreds)
    return workspace.download(work[-1])[0]


def complete_on_host(found: ndarray, on_card: ndarray, work: Work, sum_on_host: Pass) -> Sums:
    """What the card found, and what it had no shape for, computed by `sum_on_host`."""
    is_wide, value = np.signbit(found) | ~work.is_narrow, np.abs(found)
    small = ~is_wide & ~are_enough(value, work.cells, FLOAT32.min_per_cell)
    left = np.flatnonzero(small | ~on_card)
    is_wide |= small
    if left.size:
        rest = take(work, "pairs", left)
        sums = sum_in_turn(sum_on_host, replace(rest, is_narrow=rest.is_narrow & ~on_card[left]))
        value[left], is_wide[left] = sums.value, sums.is_wide
    on_host = np.zeros(work.read.size, bool)
    on_host[left] = True
    return Sums(value, is_wide, on_host)
