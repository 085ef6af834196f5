"""Compute PairHMM on CUDA: a group of 4 to 32 threads per pair, each with several rows of the read in registers.

Reads, haplotypes and pairs are copied to the card once, and one sum per pair is copied back. All logarithms are taken
on the host, since a card's differ in their bits. Reads and haplotypes that users give on a card stay there: the card
itself finds haplotypes with unknown bases, and equal pairs are not merged. If only the host can compute a pair, all of
them are copied down, once.

The host chooses a shape for each pair, rows per thread and threads per group, by the length of its read. Pairs of a
shape are a segment, and segments with the same number of rows per thread share a launch. Once started, the card needs
no host: launches of float32; one that appends pairs with too small a sum to the segments of float64; launches of
float64, with as many warps as they may need. The host computes the pairs that fit no shape (reads of more than 640
bases, 320 in float64).
"""

from functools import cache, lru_cache
from itertools import groupby
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm import ReadRows, cpu
from readwarp.call.likelihoods.pairhmm.cuda_sums import fill_table, find_small, sum_kernel
from readwarp.call.likelihoods.pairhmm.given import Given, add_missing, find_places, log_likelihoods_by
from readwarp.call.likelihoods.pairhmm.pairs import PairSums, PairTraits, PairWork, log_probabilities, solve
from readwarp.call.likelihoods.pairhmm.scalar import COLUMNS, FLOAT32, FLOAT64, PROBABILITY, UNKNOWN, Precision
from readwarp.device.arrays import is_on_card
from readwarp.device.backend import Backend
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import THREADS, WARP, threads_for
from readwarp.device.memory import Workspace, current
from readwarp.ragged import offsets_of

GROUPS = (4, 8, 16, 32)  # threads per pair
PER_ROW, PER_STEP, TYPICAL = 5.25, 20, 300  # instructions of the inner loop, approximately; columns
MARGIN = WARP  # bases around all haplotypes, which early or late threads touch
MAX_BASES = (1 << 31) - 1
LENGTHS = np.arange(20, 641, 20)  # of the reads of `warm_up`: there is a kernel for each range of them
REFERENCE = np.tile(np.arange(4, dtype=np.uint8), 200)
Launch = tuple[int, int, int]  # rows per thread, first warp, end of the warps


def log_likelihoods(
    reads: ReadRows, haplotypes: Any, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """Compute log10 P of pairs; see the step's contract. Codes and Phreds may be on the card; results are not."""
    sequences = reads, haplotypes, haplotype_offsets
    if any(is_on_card(x) for x in (*reads[:4], haplotypes)):
        return _log_likelihoods_on_card(*sequences, pair_read, pair_haplotype)
    return log_likelihoods_by(sum_given, *sequences, pair_read, pair_haplotype)


def warm_up(backend: Backend) -> None:
    """Load the kernels onto the thread's card, by reads of all lengths."""
    with backend.frame():
        each, haplotype = np.arange(LENGTHS.size), np.array([0, REFERENCE.size], np.int64)
        log_likelihoods(rows_of_all_lengths(), REFERENCE, haplotype, each, np.zeros_like(each))


def rows_of_all_lengths() -> ReadRows:
    """Return the beginning of the reference as a read of each length."""
    offsets = offsets_of(LENGTHS)
    bases = np.concatenate([REFERENCE[:length] for length in LENGTHS])
    quality, gap_open, gap_extend = (np.full(bases.size, phred, np.uint8) for phred in (30, 45, 10))
    return ReadRows(bases, quality, gap_open, gap_extend, offsets)


def sum_given(given: Given) -> ndarray:
    """Sum the pairs; see `SumGiven`. Arrays are on the host."""
    padded = np.pad(given.haplotypes, (MARGIN, MARGIN + int(given.places[:, 3].max(initial=0))))
    with current().frame() as workspace:
        rows, bases = workspace.on_card((given.reads, padded))
        return sum_pairs(workspace, rows, bases, given.places, given.is_narrow)


def _log_likelihoods_on_card(
    reads: ReadRows, haplotypes: Any, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """Compute pairs whose sequences are on either side; offsets and pairs are on the host."""
    with current().frame() as workspace:
        backend, sizes = Backend("cuda"), np.diff(haplotype_offsets)
        rows, bases = backend.to_device(reads), haplotypes if is_on_card(haplotypes) else workspace.upload(haplotypes)
        padded, is_known = add_margins(bases, haplotype_offsets, workspace)
        items = PairTraits(np.diff(reads.offsets), sizes, np.arange(len(reads)), np.arange(sizes.size), is_known)

        @cache
        def bring_down() -> tuple[ReadRows, ndarray, ndarray]:
            return *workspace.on_host((rows, bases)), haplotype_offsets

        def engine(work: PairWork) -> PairSums:
            places = find_places(items, work, reads.offsets[work.read], haplotype_offsets[work.haplotype])
            found = sum_pairs(workspace, rows, padded, places, work.is_narrow)
            return add_missing(found, work, lambda *given: cpu.sum_pairs(*bring_down(), *given))

        return solve(items, pair_read, pair_haplotype, engine, lambda *given: log_probabilities(*bring_down(), *given))


class LaunchPlan(NamedTuple):
    """Launches of pairs; `cuda_sums` explains warps and segments."""

    launches: dict[Precision, list[Launch]]
    warps: Annotated[ndarray, "int32 [warps, 2]"]
    segments: Annotated[ndarray, "int32 [segments, 3]"]  # float32 first, with their initial number of pairs
    order: Annotated[ndarray, "int32 [places]"]  # pairs by segment, with space for pairs to repeat in float64
    narrow: int  # number of places in float32, which come first
    again: Annotated[ndarray, "int32 [pairs]"]  # segment in which to repeat the pair in float64; -1: none
    on_card: Annotated[ndarray, "bool [pairs]"]


@lru_cache
def shape_table(precision: Precision) -> ndarray:
    """Return, by read length, 100 * rows + threads of the shape with the fewest instructions per pair; 0: too long."""
    shapes = [(rows, group) for group in GROUPS for rows in precision.rows]
    table = np.zeros(max(rows * group for rows, group in shapes) + 2, np.int64)
    for length in range(1, table.size - 1):
        costs = [(g * (PER_ROW * k + PER_STEP) * (TYPICAL + g - 1), 100 * k + g) for k, g in shapes if k * g >= length]
        table[length] = min(costs)[1]
    return table


def plan_launches(lengths: ndarray, is_narrow: ndarray) -> LaunchPlan:
    """Plan launches by the reads' lengths and whether float32 comes first; pairs keep their order within a segment."""
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
    return LaunchPlan(
        launches=launches,
        warps=np.concatenate(warps).astype(np.int32),
        segments=np.array(segments, np.int32).reshape(-1, 3),
        order=order[:used],
        narrow=int((is_narrow & on_card).sum()),
        again=again,
        on_card=on_card,
    )


def sum_pairs(workspace: Workspace, reads: ReadRows, haplotypes: Any, places: ndarray, is_narrow: ndarray) -> ndarray:
    """Sum the pairs; see `SumGiven`. reads, haplotypes, places: see `run`."""
    plan = plan_launches(places[:, 1], is_narrow)
    with workspace.frame():
        return np.where(plan.on_card, run(workspace, reads, haplotypes, places, plan), np.nan)


def run(workspace: Workspace, reads: ReadRows, haplotypes: Any, places: ndarray, plan: LaunchPlan) -> ndarray:
    """Return the sums of pairs (float64 [pairs]; negative if computed in float64, undefined if in no launch).

    reads, haplotypes: on the card, haplotypes with margins. places: Given.places, without margins.
    """
    if max(reads.bases.size, haplotypes.size) > MAX_BASES:
        raise ValueError(f"more than {MAX_BASES} bases in one call")
    if not plan.warps.size:
        return np.zeros(len(places))
    places = np.column_stack((places + np.array((0, 0, MARGIN, 0)), plan.again)).astype(np.int32)
    probabilities, warps, *work = workspace.on_card((PROBABILITY, plan.warps, places, plan.segments, plan.order))
    phreds, work = (*reads[:4], probabilities), [*work, workspace.empty(len(places), np.float64)]

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


def add_margins(bases: Any, offsets: ndarray, workspace: Workspace) -> tuple[Any, ndarray]:
    """Copy the haplotypes to the workspace with the margins that `run` needs; also flag those without unknown bases."""
    number, longest = offsets.size - 1, int(np.diff(offsets).max(initial=0))
    out = workspace.empty(2 * MARGIN + longest + bases.size, np.uint8)
    known, starts = workspace.on_card((np.ones(number, np.uint8), offsets))
    copy_between[threads_for(out.size, workspace)](bases, MARGIN, out)
    if number and bases.size:
        find_unknown[number, THREADS, workspace.stream](bases, starts, known)
    return out, workspace.download(known)[0].astype(bool)


@cuda_kernel
def copy_between(values, margin, out):
    """Fill `out` with 0, with the values from `margin` on, then with 0."""
    k = cuda.grid(1)
    if k < out.size:
        out[k] = values[k - margin] if margin <= k < margin + values.size else 0


@cuda_kernel
def find_unknown(bases, offsets, known):
    """Set known[h] = 0 where haplotype h has an unknown base; a block per haplotype."""
    haplotype = cuda.blockIdx.x
    for k in range(offsets[haplotype] + cuda.threadIdx.x, offsets[haplotype + 1], cuda.blockDim.x):
        if bases[k] >= UNKNOWN:
            known[haplotype] = 0
