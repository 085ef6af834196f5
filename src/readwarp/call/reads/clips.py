"""Find soft clips at the ends of alignments, and the reads across a span (host only)."""

import numpy as np
from numpy import ndarray

from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import SOFT_CLIP

MIN_CLIP = 8  # bases


def reads_across(reads: AlignedReads, start: ndarray, stop: ndarray) -> tuple[ndarray, ndarray]:
    """Find the reads whose alignments overlap each span [start, stop); spans are sorted and do not overlap.

    Returns offsets (int64 [spans + 1]) and reads (int32) in file order.
    """
    first, last = np.searchsorted(stop, reads.position, "right"), np.searchsorted(start, reads.reference_stop)
    offsets = offsets_of(last - first)
    read = np.repeat(np.arange(len(reads), dtype=np.int32), last - first)
    span = np.arange(read.size) + np.repeat(first - offsets[:-1], last - first)
    return offsets_of(np.bincount(span, minlength=start.size)), read[np.argsort(span, kind="stable")]


def clips_of(reads: AlignedReads) -> ndarray:
    """Return the soft-clipped bases at the beginning and end of each read (int64 [2, reads]).

    Only the first and last CIGAR operations count: `readwarp.call.reads.mates` has removed hard clips.
    """
    if len(reads) == 0:
        return np.zeros((2, 0), np.int64)
    codes = reads.cigar[np.stack((reads.cigar_offsets[:-1], reads.cigar_offsets[1:] - 1))]
    return np.asarray((codes >> 4) * (codes & 15 == SOFT_CLIP), np.int64)
