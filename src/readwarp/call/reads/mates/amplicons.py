"""Find the part of each read's fragment that was copied from the sample rather than from a primer."""

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads
from readwarp.call.reads.mates import TOLERANCE
from readwarp.call.reads.mates.pairs import NONE, REVERSE, OverlappingMates
from readwarp.call.reads.mates.primers import Primers
from readwarp.rules.cigar import HARD_CLIP, SOFT_CLIP

NOWHERE = 1 << 60


def find_amplicons(reads: AlignedReads, pairs: OverlappingMates, primers: Primers) -> tuple[ndarray, ndarray]:
    """Return [low, high) of each read, -NOWHERE and NOWHERE where no primer is known (int64); see the contract."""
    low, high = np.full((2, len(reads)), ((-NOWHERE,), (NOWHERE,)))
    if primers.start.size and len(reads):
        is_reverse, has_mate = reads.flag & REVERSE != 0, pairs.mate != NONE
        outer, aligned = outer_ends(reads)
        own = find_primers(primers, outer, aligned, is_reverse)
        end = reads.fragment_end - ~is_reverse
        outer, aligned = (np.where(has_mate, place[pairs.mate], end) for place in (outer, aligned))
        other = find_primers(primers, outer, aligned, ~is_reverse)
        partner = np.where(own != NONE, primers.partner[own], NONE)
        other = np.where(has_mate | (reads.fragment_end >= 0), other, partner)
        left, right = np.where(is_reverse, (other, own), (own, other))
        low, high = np.where(left != NONE, primers.stop[left], low), np.where(right != NONE, primers.start[right], high)
    return low, high


def outer_ends(reads: AlignedReads) -> tuple[ndarray, ndarray]:
    """Return where each read's 5' end lies, if clips continue along the diagonal, and the aligned base next to it."""
    first, last = reads.cigar_offsets[:-1], reads.cigar_offsets[1:] - 1
    is_reverse = reads.flag & REVERSE != 0
    outside, inside = np.where(is_reverse, (last, np.maximum(last - 1, first)), (first, np.minimum(first + 1, last)))
    code, following = reads.cigar[outside].astype(np.int64), reads.cigar[inside].astype(np.int64)
    is_hard = code & 15 == HARD_CLIP
    soft = np.where(is_hard, following, code)
    clipped = np.where(is_hard, code >> 4, 0) + np.where(soft & 15 == SOFT_CLIP, soft >> 4, 0)
    aligned = np.where(is_reverse, reads.reference_stop - 1, reads.position)
    return aligned + np.where(is_reverse, clipped, -clipped), aligned


def find_primers(primers: Primers, outer: ndarray, aligned: ndarray, is_reverse: ndarray) -> ndarray:
    """Find the primer of a read's strand that holds its outermost or its first aligned base; NONE if there is none.

    On a tie, the one that begins nearest to the outermost base. int64 [reads], like `outer` and `aligned`.
    """
    before = np.where(is_reverse, 0, TOLERANCE)
    after = TOLERANCE - before
    first = np.searchsorted(primers.reach, np.minimum(outer, aligned) - after, "right")
    stop = np.searchsorted(primers.start, np.maximum(outer, aligned) + before, "right")
    number = np.maximum(stop - first, 0)
    read = np.repeat(np.arange(number.size), number)
    k = np.arange(read.size) + (first - np.cumsum(number) + number)[read]
    low, high = primers.start[k] - before[read], primers.stop[k] + after[read]
    is_within = ((low <= outer[read]) & (outer[read] < high)) | ((low <= aligned[read]) & (aligned[read] < high))
    fits = is_within & (primers.is_reverse[k] == is_reverse[read])
    read, k = read[fits], k[fits]
    distance = np.abs(outer[read] - np.where(is_reverse[read], primers.stop[k] - 1, primers.start[k]))
    order = np.lexsort((distance, read))  # stable: the first one on a tie
    rows, nearest = np.unique(read[order], return_index=True)
    out = np.full(number.size, NONE, np.int64)
    out[rows] = k[order[nearest]]
    return out
