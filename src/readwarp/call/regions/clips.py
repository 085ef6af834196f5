"""Places where soft clips pile up: the ends of insertions and deletions that no CIGAR shows."""

import numpy as np

from readwarp.batches import AlignedReads
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.pileup.scalar import SOFT_CLIP, is_match
from readwarp.call.regions import MIN_CLIP, MIN_CLIP_FRACTION, MIN_CLIP_QUALITY, MIN_CLIPS
from readwarp.device.jit import kernel


def find_clip_places(reads: AlignedReads, qualities: np.ndarray, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """int64 positions in (low, high), ascending: where reads end in a clip, and where they begin behind one.

    A position is that of the first base behind the place.
    """
    clips = np.zeros((2, high - low + 1), np.int32)
    across = np.zeros(high - low + 2, np.int32)
    count_clips(
        *(reads.position, reads.reference_stop, reads.cigar, reads.cigar_offsets, qualities, reads.read_offsets),
        *(low, high, MIN_CLIP, MIN_CLIP_QUALITY, clips, across),
    )
    depth = np.cumsum(across)  # at base low + i
    ending, beginning = clips[:, 1:-1]
    found = [
        np.flatnonzero((number >= MIN_CLIPS) & (number >= MIN_CLIP_FRACTION * beside)) + low + 1
        for number, beside in ((ending, depth[: ending.size]), (beginning, depth[1 : 1 + beginning.size]))
    ]
    return found[0], found[1]


def pair_places(ending: np.ndarray, beginning: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spans of deletions that clips may show: from each place of `ending` to the next of `beginning`."""
    following = np.searchsorted(beginning, ending, side="right")
    is_paired = following < beginning.size
    first, last = ending[is_paired], beginning[following[is_paired]]
    is_near = last - first <= MAX_INDEL
    return first[is_near], last[is_near]


@kernel
def count_clips(
    position, reference_stop, cigar, cigar_offsets, qualities, read_offsets, low, high, least, least_quality,
    clips, across,
):  # fmt: skip
    """Add every read to `clips` [ending | beginning, boundary], and to `across`: +1 where it begins, -1 behind it."""
    for read in range(position.size):
        if position[read] >= high or reference_stop[read] <= low:
            continue
        across[max(position[read], low) - low] += 1
        across[min(reference_stop[read], high) - low] -= 1
        leading = trailing = np.int64(0)
        is_leading = True
        for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            if operation == SOFT_CLIP and is_leading:
                leading = length
            elif operation == SOFT_CLIP:
                trailing = length
            elif is_match(operation):
                is_leading = False
        first, last = read_offsets[read], read_offsets[read + 1]
        if leading >= least and position[read] >= low and is_good(qualities, first, first + leading, least_quality):
            clips[1, position[read] - low] += 1
        if (
            trailing >= least
            and reference_stop[read] <= high
            and is_good(qualities, last - trailing, last, least_quality)
        ):
            clips[0, reference_stop[read] - low] += 1


@kernel
def is_good(qualities, first, last, least):
    total = 0
    for i in range(first, last):
        total += qualities[i]
    return total >= least * (last - first)
