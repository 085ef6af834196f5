"""Pairs on a card: the shape that each is computed in, the launches, and by the host what no shape holds.

Rows of a thread and threads of a group, a shape, follow from the read's length, once, on the host. Pairs of a shape are
a segment, and segments of as many rows share a launch. Between what goes up and the one sum per pair that comes down
the card is on its own: launches of float32; one that finds the sums which are too small and appends those pairs to the
segments of float64; launches of these, with as many warps as they may come to need. Pairs that no shape holds (reads of
more than 640 bases, 320 in float64) are computed on the host.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm.cuda_sums import fill_table, find_small, sum_kernel
from readwarp.call.pairhmm.pairs import PROBABILITY, Pass, Sums, bits_of, enough, in_turn
from readwarp.call.pairhmm.scalar import COLUMNS
from readwarp.device.cuda_launch import WARP, threads_for
from readwarp.device.memory import Workspace

GROUPS = (4, 8, 16, 32)  # threads per pair
ROWS = {4: (8, 12, 16, 20), 8: (8, 10)}  # per thread, by the bytes of a number
OF_ROW, OF_STEP, TYPICAL = 5.25, 24, 300  # instructions of the inner loop, about; columns
MARGIN = 32  # bases around all haplotypes, which threads that are early or late touch
MOST_BASES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What is launched for p pairs. For warps and segments see `cuda_sums`."""

    launches: dict[int, list[tuple[int, int, int]]]  # by bytes of a number: (rows of a thread, first warp, last)
    warps: ndarray  # int32 [warps, 2]
    segments: ndarray  # int32 [segments, 3], float32 first, with those pairs that there are at first
    chosen: ndarray  # int32, pairs by segment, with room for those that float64 does again
    narrow: int  # how many of them float32 does
    again: ndarray  # int32 [p], the segment that would do the pair again in float64, -1 none
    on_card: ndarray  # bool [p]


@lru_cache
def shape_table(bytes_each: int) -> ndarray:
    """By read length: 100 * rows + threads, the shape with the fewest instructions for a pair; 0 behind the longest."""
    shapes = [(rows, group) for group in GROUPS for rows in ROWS[bytes_each]]
    table = np.zeros(max(rows * group for rows, group in shapes) + 2, np.int64)
    for length in range(1, table.size - 1):
        costs = [(g * (OF_ROW * k + OF_STEP) * (TYPICAL + g - 1), 100 * k + g) for k, g in shapes if k * g >= length]
        table[length] = min(costs)[1]
    return table


def planned(lengths: ndarray, is_narrow: ndarray) -> Plan:
    """Pairs by the lengths of their reads and by whether float32 comes first, their order kept within a segment."""
    narrow, wide = (shape_table(n)[np.minimum(lengths, shape_table(n).size - 1)] for n in (4, 8))
    on_card = np.where(is_narrow, narrow, wide) > 0
    again, chosen = np.full(lengths.size, -1, np.int32), np.zeros(2 * lengths.size, np.int32)
    launches: dict[int, list[tuple[int, int, int]]] = {4: [], 8: []}
    segments: list[tuple[int, int, int]] = []
    warps, used, held = [np.zeros((0, 2), np.int64)], 0, 0
    for bytes_each, shape, begins, may_come in ((4, narrow, is_narrow, is_narrow), (8, wide, ~is_narrow, on_card)):
        for rows, several in groupby(np.unique(shape[may_come & (shape > 0)]).tolist(), lambda each: each // 100):
            before = held
            for each in several:
                is_each, group = shape == each, each % 100
                first, room = np.flatnonzero(begins & is_each), int((may_come & is_each).sum())
                if bytes_each == 8:
                    again[is_each] = len(segments)
                ahead = np.arange(0, room, WARP // group)
                warps.append(np.stack((np.full_like(ahead, len(segments)), ahead), axis=1))
                segments.append((used, first.size, group))
                chosen[used : used + first.size] = first
                used, held = used + room, held + ahead.size
            launches[bytes_each].append((rows, before, held))
    table, in_narrow = np.array(segments, np.int32).reshape(-1, 3), int((is_narrow & on_card).sum())
    return Plan(launches, np.concatenate(warps).astype(np.int32), table, chosen[:used], in_narrow, again, on_card)


def run(
    workspace: Workspace, rows: list[Any], row_offsets: ndarray, haplotypes: Any, places: ndarray, plan: Plan
) -> ndarray:
    """Sums of pairs (float64, those made in float64 negative); undefined for those that no launch has.

    rows: device arrays: bases, qualities, gap_open, gap_extend. haplotypes: device array with margins. places: see
    `cuda_sums`.
    """
    if max(row_offsets[-1], haplotypes.size) > MOST_BASES:
        raise ValueError(f"more than {MOST_BASES} bases in one call")
    if not plan.warps.size:
        return np.zeros(len(places))
    phreds, warps = (*rows, workspace.upload(PROBABILITY)), workspace.upload(plan.warps)
    work = [workspace.upload(x) for x in (places.astype(np.int32), plan.segments, plan.chosen)]
    work.append(workspace.empty(len(places), np.float64))

    def launch(bytes_each: int, reads: tuple[Any, ...]) -> None:
        for rows_each, first, last in plan.launches[bytes_each]:
            kernel = sum_kernel(rows_each, bytes_each)
            kernel[last - first, WARP, workspace.stream](reads, haplotypes, warps[first:last], *work)

    if plan.narrow:
        table = workspace.empty((rows[0].size, COLUMNS), np.float32)
        fill_table[row_offsets.size - 1, WARP, workspace.stream](phreds, workspace.upload(row_offsets), table)
        launch(4, (rows[0], table))
        find_small[threads_for(plan.narrow, workspace)](plan.narrow, bits_of(np.float32)[1], *work)
    launch(8, phreds)
    return workspace.download(work[-1])[0]


def with_host(
    found: ndarray, on_card: ndarray, read: ndarray, haplotype: ndarray, is_narrow: ndarray, cells: ndarray, once: Pass
) -> Sums:
    """What the card found, and by the host what it had no shape for."""
    is_wide, value = np.signbit(found) | ~is_narrow, np.abs(found)
    small = ~is_wide & ~enough(value, cells, bits_of(np.float32)[1])
    left = np.flatnonzero(small | ~on_card)
    is_wide |= small
    if left.size:
        sums = in_turn(once, read[left], haplotype[left], is_narrow[left] & ~on_card[left], cells[left])
        value[left], is_wide[left] = sums.value, sums.is_wide
    on_host = np.zeros(read.size, bool)
    on_host[left] = True
    return Sums(value, is_wide, on_host)
