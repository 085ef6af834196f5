"""PairHMM on CUDA: a group of 4 to 32 threads per pair, each with several rows of the read in registers.

Reads, haplotypes and pairs go up once, and one sum per pair comes down; `cuda_pairs` says what happens in between. All
logarithms are the host's: those of a card have other bits.

Reads and haplotypes that users give on a card stay there: the card itself finds out which haplotypes have unknown
bases, and nobody looks for equal pairs. Where only the host can compute a pair, all of them come down, once.
"""

from functools import cache, partial
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows, cpu
from readwarp.call.pairhmm.cuda_pairs import MARGIN, complete_on_host, places_of, plan_launches, run
from readwarp.call.pairhmm.pairs import Items, Pass, Sums, Work, items_of, log_probabilities, solve
from readwarp.call.pairhmm.scalar import UNKNOWN, Precision
from readwarp.device.arrays import is_on_card
from readwarp.device.backend import Backend
from readwarp.device.cuda_launch import THREADS, threads_for
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace, current
from readwarp.ragged import offsets_of, ranges, take


def log_likelihoods(
    reads: ReadRows, haplotypes: Any, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract. Arrays of codes and Phreds may be on the card; the results are on the host."""
    sequences = reads, haplotypes, haplotype_offsets
    if any(is_on_card(x) for x in (*reads[:4], haplotypes)):
        return _log_likelihoods_on_card(*sequences, pair_read, pair_haplotype)
    items = items_of(*sequences)

    def engine(work: Work) -> Sums:
        used_reads, row = np.unique(work.read, return_inverse=True)
        used, column = np.unique(work.haplotype, return_inverse=True)
        packed, starts = take(reads, "reads", used_reads), offsets_of(items.sizes[used])[column]
        padded = np.pad(haplotypes[ranges(haplotype_offsets, used)], (MARGIN, MARGIN + int(items.sizes[used].max())))
        places = places_of(items, work, packed.offsets[row], starts)
        with current().frame() as workspace:
            on_card = Backend("cuda").to_device(packed), workspace.upload(padded)
            return _sum(workspace, *on_card, places, work, partial(cpu.sum_pairs, *sequences))

    return solve(items, pair_read, pair_haplotype, engine, partial(log_probabilities, *sequences))


def _log_likelihoods_on_card(
    reads: ReadRows, haplotypes: Any, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """Offsets and pairs are on the host, all others on either side."""
    with current().frame() as workspace:
        backend, sizes = Backend("cuda"), np.diff(haplotype_offsets)
        rows, bases = backend.to_device(reads), haplotypes if is_on_card(haplotypes) else workspace.upload(haplotypes)
        padded, is_known = add_margins(bases, haplotype_offsets, workspace)
        items = Items(np.diff(reads.offsets), sizes, np.arange(len(reads)), np.arange(sizes.size), is_known)

        @cache
        def bring_down() -> tuple[ReadRows, ndarray, ndarray]:
            return backend.to_host(rows), workspace.download(bases)[0], haplotype_offsets

        def sum_on_host(work: Work, precision: Precision) -> ndarray:
            return cpu.sum_pairs(*bring_down(), work, precision)

        def engine(work: Work) -> Sums:
            places = places_of(items, work, reads.offsets[work.read], haplotype_offsets[work.haplotype])
            return _sum(workspace, rows, padded, places, work, sum_on_host)

        def last_resort(read: ndarray, haplotype: ndarray) -> ndarray:
            return log_probabilities(*bring_down(), read, haplotype)

        return solve(items, pair_read, pair_haplotype, engine, last_resort)


def _sum(
    workspace: Workspace, reads: ReadRows, haplotypes: Any, places: ndarray, work: Work, sum_on_host: Pass
) -> Sums:
    """Sums of pairs; for the arguments see `cuda_pairs.run`."""
    plan = plan_launches(places[:, 1], work.is_narrow)
    with workspace.frame():
        found = run(workspace, reads, haplotypes, places, plan)
    return complete_on_host(found, plan.on_card, work, sum_on_host)


def add_margins(bases: Any, offsets: ndarray, workspace: Workspace) -> tuple[Any, ndarray]:
    """(haplotypes with the margins that `run` needs, in the workspace; which of them have no unknown base)"""
    number, widest = offsets.size - 1, int(np.diff(offsets).max(initial=0))
    out = workspace.empty(2 * MARGIN + widest + bases.size, np.uint8)
    known = workspace.upload(np.ones(number, np.uint8))
    copy_between[threads_for(out.size, workspace)](bases, MARGIN, out)
    if number and bases.size:
        find_unknown[number, THREADS, workspace.stream](bases, workspace.upload(offsets), known)
    return out, workspace.download(known)[0].astype(bool)


@cuda_kernel
def copy_between(values, margin, out):
    """out: 0, then the values from `margin` on, then 0."""
    k = cuda.grid(1)
    if k < out.size:
        out[k] = values[k - margin] if margin <= k < margin + values.size else 0


@cuda_kernel
def find_unknown(bases, offsets, known):
    """known[h] = 0 where haplotype h has an unknown base; a block per haplotype."""
    haplotype = cuda.blockIdx.x
    for k in range(offsets[haplotype] + cuda.threadIdx.x, offsets[haplotype + 1], cuda.blockDim.x):
        if bases[k] >= UNKNOWN:
            known[haplotype] = 0
