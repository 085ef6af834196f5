"""PairHMM on CUDA: a group of 4 to 32 threads per pair, each with several rows of the read in registers.

Group and rows of a thread follow from the read's length, once, on the host. Reads, haplotypes and pairs go up once, and
one sum per pair comes down. Between the two the card is on its own: float32 launches, one for each shape; one that
finds the sums which are too small and appends those pairs to the lists of float64 launches; these, whose grids are as
large as their lists may become. Pairs that no shape holds (reads of more than 640 bases, 320 in float64) are computed
on the host, and so are all logarithms: those of a card have other bits.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows, cpu
from readwarp.call.pairhmm.cuda_sums import BLOCK, fill_tables, find_small, sum_kernel
from readwarp.call.pairhmm.pairs import (
    PROBABILITY,
    Pass,
    Sums,
    bits_of,
    by_logarithms,
    enough,
    in_turn,
    items_of,
    solve,
)
from readwarp.call.pairhmm.scalar import COLUMNS
from readwarp.device.arrays import is_on_card
from readwarp.device.cuda_launch import WARP
from readwarp.device.memory import Workspace, current
from readwarp.ragged import offsets_of, ranges

GROUPS = (4, 8, 16, 32)  # threads per pair
ROWS = {4: (8, 12, 16, 20), 8: (8, 10)}  # per thread, by the bytes of a number
OF_ROW, OF_STEP, TYPICAL = 5.25, 24, 300  # instructions of the inner loop, about; columns
MARGIN = 32  # bases around all haplotypes, which threads that are early or late touch
MOST_BASES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Shape:
    """One launch of pairs."""

    bytes_each: int  # of a number
    group: int  # threads per pair
    rows: int  # of a thread
    room: int  # the most pairs that it may have


@dataclass(frozen=True, slots=True)
class Launches:
    """What is launched for p pairs, float32 first."""

    shapes: list[Shape]
    segments: ndarray  # int32 [launches, 2], where its pairs begin in `chosen`, how many there are at first
    chosen: ndarray  # int32, pairs, with room for those that float64 does again
    again: ndarray  # int32 [p], the float64 launch that would do the pair again, -1 none
    on_card: ndarray  # bool [p]


def log_likelihoods(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract. Arrays of codes and Phreds may lie on the card (`cuda_given`); gives host arrays."""
    if any(is_on_card(x) for x in (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend, haplotypes)):
        from readwarp.call.pairhmm.cuda_given import log_likelihoods_given

        return log_likelihoods_given(reads, haplotypes, haplotype_offsets, pair_read, pair_haplotype)
    items = items_of(reads, haplotypes, haplotype_offsets)
    once = partial(cpu.sums_of, reads, haplotypes, haplotype_offsets)

    def engine(read: ndarray, haplotype: ndarray, is_narrow: ndarray) -> Sums:
        lengths, sizes = items.lengths[read], items.sizes[haplotype]
        row_offsets, row_starts, rows = kept(reads.offsets, read)
        _, starts, columns = kept(haplotype_offsets, haplotype)
        launches = launches_of(lengths, is_narrow)
        with current().frame() as workspace:
            contents = (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend)
            there = [workspace.upload(column[rows]) for column in contents]
            padded = workspace.upload(np.pad(haplotypes[columns], (MARGIN, MARGIN + int(sizes.max()))))
            places = np.stack((row_starts, lengths, starts + MARGIN, sizes, launches.again), axis=1)
            found = run(workspace, there, row_offsets, padded, places, launches)
        return with_host(found, launches.on_card, read, haplotype, is_narrow, lengths * sizes, once)

    return solve(items, pair_read, pair_haplotype, engine, by_logarithms(reads, haplotypes, haplotype_offsets))


def kept(offsets: ndarray, chosen: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Rows that occur in `chosen`, alone: (offsets, where each of `chosen` begins, indices of their values)."""
    used, number = np.unique(chosen, return_inverse=True)
    packed = offsets_of(np.diff(offsets)[used])
    return packed, packed[number], ranges(offsets, used)


@lru_cache
def shape_table(bytes_each: int) -> ndarray:
    """By read length: 100 * threads + rows of each, the fewest instructions for a pair; 0 behind the longest."""
    shapes = [(group, rows) for rows in ROWS[bytes_each] for group in GROUPS]
    table = np.zeros(max(group * rows for group, rows in shapes) + 2, np.int64)
    for length in range(1, table.size - 1):
        costs = [(g * (OF_ROW * k + OF_STEP) * (TYPICAL + g - 1), g, k) for g, k in shapes if g * k >= length]
        table[length] = 100 * min(costs)[1] + min(costs)[2]
    return table


def launches_of(lengths: ndarray, is_narrow: ndarray) -> Launches:
    """Pairs by the lengths of their reads and by whether float32 comes first, their order kept within a launch."""
    narrow, wide = (shape_table(n)[np.minimum(lengths, shape_table(n).size - 1)] for n in (4, 8))
    on_card = np.where(is_narrow, narrow, wide) > 0
    again, chosen = np.full(lengths.size, -1, np.int32), np.zeros(2 * lengths.size, np.int32)
    shapes: list[Shape] = []
    segments, used = [], 0
    for bytes_each, shape, begins, may_come in ((4, narrow, is_narrow, is_narrow), (8, wide, ~is_narrow, on_card)):
        for each in np.unique(shape[may_come & (shape > 0)]).tolist():
            is_each = shape == each
            first, room = np.flatnonzero(begins & is_each), int((may_come & is_each).sum())
            if bytes_each == 8:
                again[is_each] = len(shapes)
            shapes.append(Shape(bytes_each, each // 100, each % 100, room))
            segments.append((used, first.size))
            chosen[used : used + first.size] = first
            used += room
    return Launches(shapes, np.array(segments, np.int32).reshape(-1, 2), chosen[:used], again, on_card)


def run(
    workspace: Workspace, rows: list[Any], row_offsets: ndarray, haplotypes: Any, places: ndarray, launches: Launches
) -> ndarray:
    """Sums of pairs (float64, those made in float64 negative); undefined for those that no launch has.

    rows: device arrays: bases, qualities, gap_open, gap_extend. haplotypes: device array with margins. places: see
    `cuda_sums`.
    """
    if max(row_offsets[-1], haplotypes.size) > MOST_BASES:
        raise ValueError(f"more than {MOST_BASES} bases in one call")
    if not launches.shapes:
        return np.zeros(len(places))
    narrow, wide = (workspace.empty((rows[0].size, COLUMNS), dtype) for dtype in (np.float32, np.float64))
    fill_tables[row_offsets.size - 1, WARP, workspace.stream](
        *rows, workspace.upload(row_offsets), workspace.upload(PROBABILITY), narrow, wide
    )
    work = [workspace.upload(x) for x in (places.astype(np.int32), launches.segments, launches.chosen)]
    work.append(workspace.empty(len(places), np.float64))
    in_narrow = sum(shape.room for shape in launches.shapes if shape.bytes_each == 4)
    is_looked = in_narrow == 0
    for launch, shape in enumerate(launches.shapes):
        if shape.bytes_each == 8 and not is_looked:
            blocks, is_looked = -(-in_narrow // BLOCK), True
            find_small[blocks, BLOCK, workspace.stream](in_narrow, bits_of(np.float32)[1], *work)
        tables = narrow if shape.bytes_each == 4 else wide
        launch_sums(workspace.stream, launch, shape, rows[0], tables, haplotypes, work)
    return workspace.download(work[-1])[0]


def launch_sums(stream: Any, launch: int, shape: Shape, bases: Any, tables: Any, haplotypes: Any, work: Any) -> None:
    sum_kernel(shape.rows, shape.bytes_each)[-(-shape.room * shape.group // BLOCK), BLOCK, stream](
        bases, tables, haplotypes, np.int32(launch), np.int32(shape.group), *work
    )


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
