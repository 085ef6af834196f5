"""PairHMM on CUDA: a group of 4 to 32 threads per pair, each with several rows of the read in registers.

Reads, haplotypes and pairs go up once, and one sum per pair comes down; see `cuda_pairs` for what happens between the
two. All logarithms are the host's: those of a card have other bits.
"""

from functools import partial

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows, cpu
from readwarp.call.pairhmm.cuda_given import log_likelihoods_given
from readwarp.call.pairhmm.cuda_pairs import MARGIN, planned, run, with_host
from readwarp.call.pairhmm.pairs import Sums, by_logarithms, items_of, solve
from readwarp.device.arrays import is_on_card
from readwarp.device.memory import current
from readwarp.ragged import offsets_of, ranges


def log_likelihoods(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract. Arrays of codes and Phreds may lie on the card (`cuda_given`); gives host arrays."""
    if any(is_on_card(x) for x in (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend, haplotypes)):
        return log_likelihoods_given(reads, haplotypes, haplotype_offsets, pair_read, pair_haplotype)
    items = items_of(reads, haplotypes, haplotype_offsets)
    once = partial(cpu.sums_of, reads, haplotypes, haplotype_offsets)

    def engine(read: ndarray, haplotype: ndarray, is_narrow: ndarray) -> Sums:
        lengths, sizes = items.lengths[read], items.sizes[haplotype]
        row_offsets, row_starts, rows = kept(reads.offsets, read)
        _, starts, columns = kept(haplotype_offsets, haplotype)
        plan = planned(lengths, is_narrow)
        with current().frame() as workspace:
            contents = (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend)
            there = [workspace.upload(column[rows]) for column in contents]
            padded = workspace.upload(np.pad(haplotypes[columns], (MARGIN, MARGIN + int(sizes.max()))))
            places = np.stack((row_starts, lengths, starts + MARGIN, sizes, plan.again), axis=1)
            found = run(workspace, there, row_offsets, padded, places, plan)
        return with_host(found, plan.on_card, read, haplotype, is_narrow, lengths * sizes, once)

    return solve(items, pair_read, pair_haplotype, engine, by_logarithms(reads, haplotypes, haplotype_offsets))


def kept(offsets: ndarray, chosen: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Rows that occur in `chosen`, alone: (offsets, where each of `chosen` begins, indices of their values)."""
    used, number = np.unique(chosen, return_inverse=True)
    packed = offsets_of(np.diff(offsets)[used])
    return packed, packed[number], ranges(offsets, used)
