"""The extent of alignments: soft clips at their ends, and the reads across a span (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of
from readwarp.rules.bases import UNKNOWN
from readwarp.rules.cigar import SOFT_CLIP

SURE = 1.0  # log10 odds from which a read counts as being of that haplotype alone


class Sides(NamedTuple):
    """Haplotypes of a window's reads, and the odds of each read in the window."""

    odds: Annotated[ndarray, "float64 [reads]"]  # see Phasing
    phase_set: Annotated[ndarray, "int64 [reads]"]
    own_offsets: Annotated[ndarray, "int64 [reads + 1] of sites"]  # phased sites of each read, by position
    own_position: Annotated[ndarray, "int64 [sites]"]
    own_odds: Annotated[ndarray, "float64 [sites]"]


def split_sides(odds: ndarray) -> list[ndarray]:
    """Return the rows of reads of the first haplotype, of the second, and of either. odds: log10, of the first."""
    is_sure = np.abs(odds) >= SURE
    return [np.flatnonzero(chosen) for chosen in (is_sure & (odds > 0), is_sure & (odds < 0), ~is_sure)]


MIN_QUALITY = 10  # least Phred of usable bases


def hide_poor(bases: ndarray, qualities: ndarray) -> ndarray:
    """Return a read's bases (uint8), UNKNOWN where quality is low."""
    return np.where(qualities < MIN_QUALITY, np.uint8(UNKNOWN), bases)


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
