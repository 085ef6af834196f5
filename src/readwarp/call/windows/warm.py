"""Compile the kernels of calling, and load them onto every card in use, before several threads need them."""

import numpy as np

from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.device.backend import Backend
from readwarp.ragged import offsets_of

LENGTHS = np.arange(20, 641, 20)  # read lengths; PairHMM has a kernel for each range of them
REFERENCE = np.tile(np.arange(4, dtype=np.uint8), 200)
QUALITY, GAP_OPEN, GAP_EXTEND = 30, 45, 10  # Phred


def warm_up(backend: Backend) -> None:
    """Run PairHMM on a tiny input, on the thread's card."""
    with backend.frame():
        pairhmm = backend.step("readwarp.call.likelihoods.pairhmm")
        each = np.arange(LENGTHS.size)
        haplotype = np.array([0, REFERENCE.size], np.int64)
        pairhmm.log_likelihoods(rows_of_all_lengths(), REFERENCE, haplotype, each, np.zeros_like(each))


def rows_of_all_lengths() -> ReadRows:
    """Return the beginning of the reference as a read of each length."""
    offsets = offsets_of(LENGTHS)
    bases = np.concatenate([REFERENCE[:length] for length in LENGTHS])
    quality, gap_open, gap_extend = (np.full(bases.size, phred, np.uint8) for phred in (QUALITY, GAP_OPEN, GAP_EXTEND))
    return ReadRows(bases, quality, gap_open, gap_extend, offsets)
