"""Places where soft clips pile up: the ends of insertions and deletions that no CIGAR shows."""

from dataclasses import dataclass

import numpy as np

from readwarp.batches import AlignedReads
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.regions import MIN_CLIP, MIN_CLIP_FRACTION, MIN_CLIP_QUALITY, MIN_CLIPS
from readwarp.device.jit import kernel
from readwarp.rules.cigar import SOFT_CLIP, is_match

ENDING, BEGINNING = 0, 1  # sides of a place: reads that end there in a clip, and reads that begin behind one


@dataclass(frozen=True, slots=True)
class ClipPlaces:
    """Positions of the first base behind each place, within (low, high), ascending."""

    ending: np.ndarray  # int64, where reads end in a clip
    beginning: np.ndarray  # int64, where they begin behind one


def find_clip_places(reads: AlignedReads, qualities: np.ndarray, low: int, high: int) -> ClipPlaces:
    """Places that one of the samples shows by reads of its own."""
    is_place = np.zeros((2, max(0, high - low - 1)), bool)
    for sample in range(int(reads.sample.max(initial=0)) + 1):
        clips = np.zeros((2, high - low + 1), np.int32)
        across = np.zeros(high - low + 2, np.int32)
        count_clips(
            *(reads.position, reads.reference_stop, reads.sample, reads.cigar, reads.cigar_offsets, qualities),
            *(reads.read_offsets, sample, low, high, MIN_CLIP, MIN_CLIP_QUALITY, clips, across),
        )
        depth = np.cumsum(across)  # at base low + i
        number = clips[:, 1:-1]
        beside = np.stack((depth[: number.shape[1]], depth[1 : 1 + number.shape[1]]))
        is_place |= (number >= MIN_CLIPS) & (number >= MIN_CLIP_FRACTION * beside)
    return ClipPlaces(*(np.flatnonzero(side) + low + 1 for side in is_place))


def pair_places(places: ClipPlaces) -> tuple[np.ndarray, np.ndarray]:
    """Spans of deletions that clips may show: from each place where reads end to the next where they begin."""
    following = np.searchsorted(places.beginning, places.ending, side="right")
    is_paired = following < places.beginning.size
    first, last = places.ending[is_paired], places.beginning[following[is_paired]]
    is_near = last - first <= MAX_INDEL
    return first[is_near], last[is_near]


@kernel
def count_clips(
    position, reference_stop, sample, cigar, cigar_offsets, qualities, read_offsets, own, low, high, least,
    least_quality, clips, across,
):  # fmt: skip
    """Add every read of the sample `own` to `clips` [ENDING | BEGINNING, boundary], and to `across`.

    There it adds 1 where it begins and -1 behind it.
    """
    for read in range(position.size):
        if sample[read] != own or position[read] >= high or reference_stop[read] <= low:
            continue
        begin, end = position[read], reference_stop[read]
        across[max(begin, low) - low] += 1
        across[min(end, high) - low] -= 1
        leading, trailing = good_clips(cigar, cigar_offsets, qualities, read_offsets, read, least, least_quality)
        if leading and begin >= low:
            clips[BEGINNING, begin - low] += 1
        if trailing and end <= high:
            clips[ENDING, end - low] += 1


@kernel
def good_clips(cigar, cigar_offsets, qualities, read_offsets, read, least, least_quality):
    """Bases clipped at the beginning and at the end of a read, 0 where they are too few or of low quality."""
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
    if leading < least or not is_good(qualities, first, first + leading, least_quality):
        leading = np.int64(0)
    if trailing < least or not is_good(qualities, last - trailing, last, least_quality):
        trailing = np.int64(0)
    return leading, trailing


@kernel
def is_good(qualities, first, last, least):
    total = 0
    for i in range(first, last):
        total += qualities[i]
    return total >= least * (last - first)
