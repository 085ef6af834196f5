"""Places where soft clips pile up: the ends of insertions and deletions that no CIGAR shows."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Window
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.regions import MIN_CLIP, MIN_CLIP_FRACTION, MIN_CLIP_QUALITY, MIN_CLIPS
from readwarp.device.jit import kernel
from readwarp.rules.cigar import soft_clips

ENDING, BEGINNING = 0, 1  # sides of a place: reads that end there in a clip, and reads that begin after one


class ClipPlaces(NamedTuple):
    """Positions of the first base after each place, ascending."""

    ending: Annotated[ndarray, "int64 [endings]"]  # where reads end in a clip
    beginning: Annotated[ndarray, "int64 [beginnings]"]  # where they begin after one


def find_clip_places(reads: AlignedReads, window: Window) -> ClipPlaces:
    """Places between bases of the window that one of the samples shows by reads of its own."""
    start, stop = window.start, window.stop
    is_place = np.zeros((2, max(0, stop - start - 1)), bool)
    for sample in range(int(reads.sample.max(initial=0)) + 1):
        clips = np.zeros((2, stop - start + 1), np.int32)
        across = np.zeros(stop - start + 2, np.int32)
        count_clips(reads, sample, start, stop, clips, across)
        depth = np.cumsum(across)  # at base start + i
        number = clips[:, 1:-1]
        beside = np.stack((depth[: number.shape[1]], depth[1 : 1 + number.shape[1]]))
        is_place |= (number >= MIN_CLIPS) & (number >= MIN_CLIP_FRACTION * beside)
    ending, beginning = (np.flatnonzero(side) + start + 1 for side in is_place)
    return ClipPlaces(ending, beginning)


def pair_places(places: ClipPlaces) -> tuple[ndarray, ndarray]:
    """Spans of deletions that clips may show: from each place where reads end to the next where they begin."""
    following = np.searchsorted(places.beginning, places.ending, side="right")
    is_paired = following < places.beginning.size
    first, last = places.ending[is_paired], places.beginning[following[is_paired]]
    is_near = last - first <= MAX_INDEL
    return first[is_near], last[is_near]


@kernel
def count_clips(reads, sample, start, stop, clips, across):
    """Add every read of the sample to `clips` [ENDING | BEGINNING, boundary], and to `across`.

    To `across` it adds 1 where it begins and -1 after its end.
    """
    position, reference_stop, samples = reads.position, reads.reference_stop, reads.sample
    cigar, cigar_offsets, qualities, read_offsets = (
        reads.cigar,
        reads.cigar_offsets,
        reads.qualities,
        reads.read_offsets,
    )
    for read in range(position.size):
        first, last = position[read], reference_stop[read]
        if samples[read] != sample or first >= stop or last <= start:
            continue
        across[max(first, start) - start] += 1
        across[min(last, stop) - start] -= 1
        leading, trailing = soft_clips(cigar, cigar_offsets[read], cigar_offsets[read + 1])
        if first >= start and is_good(qualities, read_offsets[read], leading):
            clips[BEGINNING, first - start] += 1
        if last <= stop and is_good(qualities, read_offsets[read + 1] - trailing, trailing):
            clips[ENDING, last - start] += 1


@kernel
def is_good(qualities, first, size):
    """Whether a clip of `size` bases is long enough and of sufficient quality."""
    if size < MIN_CLIP:
        return False
    total = 0
    for i in range(first, first + size):
        total += qualities[i]
    return total >= MIN_CLIP_QUALITY * size
