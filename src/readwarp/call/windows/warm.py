"""Compile the kernels of calling, and load them onto every card in use, before several threads need them."""

import numpy as np

from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.call.places.bases import Window
from readwarp.config import CallParameters
from readwarp.device.backend import Backend
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of

LENGTHS = np.arange(20, 641, 20)  # read lengths; PairHMM has a kernel for each range of them
REFERENCE = np.tile(np.arange(4, dtype=np.uint8), 200)
WINDOW = Window(0, 0, REFERENCE.size, REFERENCE, 0)
QUALITY, GAP_OPEN, GAP_EXTEND = 30, 45, 10  # Phred


def warm_up(backend: Backend, parameters: CallParameters) -> None:
    """Run each step on a tiny input, on the thread's card."""
    with backend.frame():
        pileup = backend.step("readwarp.call.candidates.pileup")
        pairhmm = backend.step("readwarp.call.likelihoods.pairhmm")
        pileup.count_window(read_with_insertion(), WINDOW, parameters)
        each = np.arange(LENGTHS.size)
        haplotype = np.array([0, REFERENCE.size], np.int64)
        pairhmm.log_likelihoods(rows_of_all_lengths(), REFERENCE, haplotype, each, np.zeros_like(each))


def read_with_insertion() -> AlignedReads:
    """Return a read at the beginning of the reference, whose sixth base is inserted."""
    one, ends = np.zeros(1, np.int64), np.array([0, 11], np.int64)
    return AlignedReads(
        contig=0,
        start=0,
        stop=REFERENCE.size,
        position=one,
        reference_stop=one + 10,
        flag=np.zeros(1, np.uint16),
        mapping_quality=np.full(1, 60, np.uint8),
        name_hash=np.zeros(1, np.uint64),
        fragment_end=np.full(1, -1, np.int64),
        shared=np.full((1, 2), 11, np.int32),
        hidden=np.zeros((1, 2), np.int32),
        sample=np.zeros(1, np.uint16),
        cigar=np.array([5 << 4, 1 << 4 | 1, 5 << 4], np.uint32),
        cigar_offsets=np.array([0, 3], np.int64),
        bases=REFERENCE[:11],
        qualities=np.full(11, QUALITY, np.uint8),
        read_offsets=ends,
        unassigned=np.empty(0, np.int64),
    )


def rows_of_all_lengths() -> ReadRows:
    """Return the beginning of the reference as a read of each length."""
    offsets = offsets_of(LENGTHS)
    bases = np.concatenate([REFERENCE[:length] for length in LENGTHS])
    quality, gap_open, gap_extend = (np.full(bases.size, phred, np.uint8) for phred in (QUALITY, GAP_OPEN, GAP_EXTEND))
    return ReadRows(bases, quality, gap_open, gap_extend, offsets)
