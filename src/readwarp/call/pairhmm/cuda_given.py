"""PairHMM of reads and haplotypes that lie on the card already, as users give them.

They stay there: what the host must know (which haplotypes have unknown bases) is found on the card. Pairs of equal
content are not looked for. Pairs that only the host can compute bring reads and haplotypes down, once.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows, cpu
from readwarp.call.pairhmm.cuda_pairs import MARGIN, planned, run, with_host
from readwarp.call.pairhmm.pairs import Items, Sums, by_logarithms, solve
from readwarp.call.pairhmm.scalar import UNKNOWN
from readwarp.device.arrays import is_on_card
from readwarp.device.cuda_launch import THREADS, threads_for
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace, current


def log_likelihoods_given(
    reads: ReadRows, haplotypes: Any, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract; offsets and pairs are host arrays, all others lie on either side."""
    with current().frame() as workspace:
        given = (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend, haplotypes)
        *rows, bases = [x if is_on_card(x) else workspace.upload(x) for x in given]
        sizes = np.diff(haplotype_offsets)
        padded, is_known = with_margins(bases, haplotype_offsets, workspace)
        items = Items(np.diff(reads.offsets), sizes, np.arange(len(reads)), np.arange(sizes.size), is_known)

        @cache
        def host() -> tuple[ReadRows, ndarray, ndarray]:
            down = workspace.download(*rows, bases)
            return ReadRows(down[0], down[1], down[2], down[3], reads.offsets), down[4], haplotype_offsets

        def once(read: ndarray, haplotype: ndarray, dtype: Any) -> ndarray:
            return cpu.sums_of(*host(), read, haplotype, dtype)

        def engine(read: ndarray, haplotype: ndarray, is_narrow: ndarray) -> Sums:
            lengths, own = items.lengths[read], sizes[haplotype]
            plan, starts = planned(lengths, is_narrow), haplotype_offsets[haplotype] + MARGIN
            places = np.stack((reads.offsets[read], lengths, starts, own, plan.again), axis=1)
            with workspace.frame():
                found = run(workspace, rows, reads.offsets, padded, places, plan)
            return with_host(found, plan.on_card, read, haplotype, is_narrow, lengths * own, once)

        def last_resort(read: ndarray, haplotype: ndarray) -> ndarray:
            return by_logarithms(*host())(read, haplotype)

        return solve(items, pair_read, pair_haplotype, engine, last_resort)


def with_margins(bases: Any, offsets: ndarray, workspace: Workspace) -> tuple[Any, ndarray]:
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
