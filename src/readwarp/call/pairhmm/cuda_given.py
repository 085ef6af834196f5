"""PairHMM of reads and haplotypes that lie on the card already, as users give them.

They stay there: the card finds what the host must know (which haplotypes have unknown bases). Nobody looks for pairs of
equal content. Pairs that only the host can compute bring reads and haplotypes down, once.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows, cpu
from readwarp.call.pairhmm.cuda_pairs import MARGIN, complete_on_host, places_of, plan_launches, run
from readwarp.call.pairhmm.logarithms import log_probabilities
from readwarp.call.pairhmm.pairs import Items, Sums, Work, solve
from readwarp.call.pairhmm.precision import Precision
from readwarp.call.pairhmm.scalar import UNKNOWN
from readwarp.device.arrays import is_on_card
from readwarp.device.backend import Backend
from readwarp.device.cuda_launch import THREADS, threads_for
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace, current


def log_likelihoods_given(
    reads: ReadRows, haplotypes: Any, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract; offsets and pairs are host arrays, all others lie on either side."""
    with current().frame() as workspace:
        backend, sizes = Backend("cuda"), np.diff(haplotype_offsets)
        on_card, bases = (
            backend.to_device(reads),
            haplotypes if is_on_card(haplotypes) else workspace.upload(haplotypes),
        )
        padded, is_known = add_margins(bases, haplotype_offsets, workspace)
        items = Items(np.diff(reads.offsets), sizes, np.arange(len(reads)), np.arange(sizes.size), is_known)

        @cache
        def bring_down() -> tuple[ReadRows, ndarray, ndarray]:
            return backend.to_host(on_card), workspace.download(bases)[0], haplotype_offsets

        def sum_pairs(work: Work, precision: Precision) -> ndarray:
            return cpu.sum_pairs(*bring_down(), work, precision)

        def engine(work: Work) -> Sums:
            lengths, starts = items.lengths[work.read], haplotype_offsets[work.haplotype]
            plan = plan_launches(lengths, work.is_narrow)
            places = places_of(reads.offsets[work.read], lengths, starts, sizes[work.haplotype])
            with workspace.frame():
                found = run(workspace, on_card, padded, places, plan)
            return complete_on_host(found, plan.on_card, work, sum_pairs)

        def last_resort(read: ndarray, haplotype: ndarray) -> ndarray:
            return log_probabilities(*bring_down(), read, haplotype)

        return solve(items, pair_read, pair_haplotype, engine, last_resort)


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
