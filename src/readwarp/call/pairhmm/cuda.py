"""PairHMM on CUDA: a group of 4 to 32 threads per pair, each with several rows of the read in registers.

Reads, haplotypes and pairs go up once, and one sum per pair comes down; see `cuda_pairs` for what happens between the
two. All logarithms are the host's: those of a card have other bits.
"""

from functools import partial

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows, cpu
from readwarp.call.pairhmm.cuda_given import log_likelihoods_given
from readwarp.call.pairhmm.cuda_pairs import MARGIN, complete_on_host, places_of, plan_launches, run
from readwarp.call.pairhmm.logarithms import log_probabilities
from readwarp.call.pairhmm.pairs import Sums, Work, items_of, solve
from readwarp.device.arrays import is_on_card
from readwarp.device.backend import Backend
from readwarp.device.memory import current
from readwarp.ragged import offsets_of, ranges, take


def log_likelihoods(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract. Arrays of codes and Phreds may lie on the card (`cuda_given`); gives host arrays."""
    if any(is_on_card(x) for x in (*reads[:4], haplotypes)):
        return log_likelihoods_given(reads, haplotypes, haplotype_offsets, pair_read, pair_haplotype)
    sequences = reads, haplotypes, haplotype_offsets
    items = items_of(*sequences)

    def engine(work: Work) -> Sums:
        lengths, sizes = items.lengths[work.read], items.sizes[work.haplotype]
        used_reads, row = np.unique(work.read, return_inverse=True)
        used, column = np.unique(work.haplotype, return_inverse=True)
        packed, starts = take(reads, "reads", used_reads), offsets_of(np.diff(haplotype_offsets)[used])[column]
        padded = np.pad(haplotypes[ranges(haplotype_offsets, used)], (MARGIN, MARGIN + int(sizes.max())))
        places = places_of(packed.offsets[row], lengths, starts, sizes)
        plan = plan_launches(lengths, work.is_narrow)
        with current().frame() as workspace:
            found = run(workspace, Backend("cuda").to_device(packed), workspace.upload(padded), places, plan)
        return complete_on_host(found, plan.on_card, work, partial(cpu.sum_pairs, *sequences))

    return solve(items, pair_read, pair_haplotype, engine, partial(log_probabilities, *sequences))
