"""Record the strand on which alleles are shown, for strand bias (host only)."""

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Likelihoods
from readwarp.call.likelihoods.evidence import DEPENDENT
from readwarp.call.reads.clips import clips_of
from readwarp.device.jit import scalar
from readwarp.ragged import first_alike

FIRST = 0x40  # bit of FLAG


@scalar
def strand_at(shared, flag, read, k):
    """Return the strand of the read's base k; the first read's, with DEPENDENT, if both mates show it."""
    if shared[read, 0] <= k < shared[read, 1]:  # a fragment has the flag of its forward mate
        return DEPENDENT if flag[read] & FIRST else DEPENDENT | 1
    return 1 if k >= shared[read, 1] else 0


def count_ends_once(reads: AlignedReads, likelihoods: Likelihoods) -> None:
    """Mark a pair DEPENDENT if an earlier one shows the same allele from the same 5' end of that strand."""
    strand, allele = likelihoods.strand, likelihoods.allele
    pairs = np.flatnonzero((allele >= 0) & (strand & DEPENDENT == 0))
    site = np.repeat(np.arange(likelihoods.pair_offsets.size - 1), np.diff(likelihoods.pair_offsets))
    end = ends_of(reads)[strand[pairs], likelihoods.read[pairs]]
    first = first_alike(strand[pairs], allele[pairs], end, site[pairs])
    strand[pairs[first != np.arange(pairs.size)]] |= DEPENDENT


def ends_of(reads: AlignedReads) -> ndarray:
    """Return where each read or fragment begins on either strand, clips included (int64 [2, reads])."""
    leading, trailing = clips_of(reads)
    return np.stack(
        (reads.position - reads.hidden[:, 0] - leading, reads.reference_stop + reads.hidden[:, 1] + trailing)
    )
