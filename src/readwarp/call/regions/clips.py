"""Where soft clips pile up, and which insertions and deletions they spell: long ones, for which aligners open no gap.

At a clip place the clipped bases of all reads are lined up outwards from the place. The consensus is the base that most
of them show at each distance, as far as MIN_CLIPS reads reach. Where the consensus continues like the reference within
MAX_INDEL bases of the place, the haplotype jumps there: forwards over a deletion, or backwards where bases are
repeated. If it does so only after some bases, these are new. It must match to its end, over at least MIN_REJOINED
bases, with at most one other base in REJOINED_PER_ERROR. The jump with the fewest new bases is taken, then the shortest
one, then the one to the right.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Sites, Window
from readwarp.call.pileup import MAX_INDEL, MAX_SHIFT
from readwarp.call.regions import MIN_CLIP, MIN_CLIP_FRACTION, MIN_CLIP_QUALITY, MIN_CLIPS
from readwarp.call.sites.find import Site, Variant, list_alleles, sites_of
from readwarp.device.jit import kernel
from readwarp.ragged import concatenate, take
from readwarp.rules.bases import OUTSIDE
from readwarp.rules.cigar import soft_clips
from readwarp.rules.shares import scale_shares

MAX_CLIP = 256  # bases of a clip that are looked at
MIN_REJOINED, REJOINED_PER_ERROR = 10, 10
ENDING, BEGINNING = 0, 1  # sides of a place: reads that end there in a clip, and reads that begin after one


class ClipPlaces(NamedTuple):
    """Places between two bases, as positions of the second; ascending."""

    ending: Annotated[ndarray, "int64 [endings]"]  # where reads end in a clip
    beginning: Annotated[ndarray, "int64 [beginnings]"]  # where they begin after one


def find_clip_places(reads: AlignedReads, window: Window, ploidy: ndarray | None = None) -> ClipPlaces:
    """Those of the window that the reads of at least one sample show. `ploidy`: int8 [positions, samples]; None: 2."""
    start, stop, is_on = window.start, window.stop, window.trim().bases != OUTSIDE
    is_place = np.zeros((2, max(0, stop - start - 1)), bool)
    for sample in range(int(reads.sample.max(initial=0)) + 1):
        clips = np.zeros((2, stop - start + 1), np.int32)
        across = np.zeros(stop - start + 2, np.int32)
        count_clips(reads, sample, start, stop, clips, across)
        depth = np.cumsum(across)  # at base start + i
        side, place = np.nonzero(clips[:, 1:-1] >= MIN_CLIPS)
        scale = 1.0 if ploidy is None else scale_shares(ploidy[place + 1, sample])
        is_place[side, place] |= clips[side, place + 1] >= MIN_CLIP_FRACTION * scale * depth[place + side]
    ending, beginning = (np.flatnonzero(side & is_on[:-1] & is_on[1:]) + start + 1 for side in is_place)
    return ClipPlaces(ending, beginning)


def pair_places(places: ClipPlaces) -> tuple[ndarray, ndarray]:
    """Deletions that clips may show: from each place where reads end to the next place where reads begin, if near."""
    following = np.searchsorted(places.beginning, places.ending, side="right")
    is_paired = following < places.beginning.size
    first, last = places.ending[is_paired], places.beginning[following[is_paired]]
    is_near = last - first <= MAX_INDEL
    return first[is_near], last[is_near]


@kernel
def count_clips(reads, sample, start, stop, clips, across):
    """Count the clips of the sample's reads in `clips` [ENDING | BEGINNING, boundary].

    In `across` each read counts 1 where it begins and -1 after its end.
    """
    position, reference_stop, samples = reads.position, reads.reference_stop, reads.sample
    cigar, cigar_offsets = reads.cigar, reads.cigar_offsets
    qualities, read_offsets = reads.qualities, reads.read_offsets
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
    """Whether a clip of `size` bases is long enough and of good quality."""
    if size < MIN_CLIP:
        return False
    total = 0
    for i in range(first, first + size):
        total += qualities[i]
    return total >= MIN_CLIP_QUALITY * size


def add_clipped(reads: AlignedReads, places: ClipPlaces, sites: Sites, window: Window) -> Sites:
    """The sites, and new ones of insertions and deletions in the window that only clipped bases spell."""
    variants = clipped_variants(reads, places, window)
    known = set(list_alleles(sites)) if variants else set()
    rows: list[Site] = [(v[0], True, [(0, b""), v[1:]]) for v in variants if v not in known]
    if not rows:
        return sites
    both = concatenate((sites, sites_of(rows, window)), "sites")
    return take(both, "sites", np.lexsort((both.is_indel, both.position)))


def clipped_variants(reads: AlignedReads, places: ClipPlaces, window: Window) -> list[Variant]:
    """Distinct insertions and deletions, leftmost, in order."""
    found = set[Variant]()
    for side, own in ((ENDING, places.ending), (BEGINNING, places.beginning)):
        votes = np.zeros((own.size, MAX_CLIP, 4), np.int32)
        count_votes(reads, own, side, votes)
        consensus, sizes = votes.argmax(axis=2), (votes.sum(axis=2) >= MIN_CLIPS).cumprod(axis=1).sum(axis=1)
        for place, bases, size in zip((own - window.first).tolist(), consensus, sizes.tolist(), strict=True):
            other, new = rejoin(bases[:size], place, side, window.bases, MAX_INDEL)
            if other < 0:
                continue
            ahead = min(size - new, max(0, (place - other) * (1 if side == ENDING else -1)))
            inner = bases[: new + ahead].astype(np.uint8).tobytes()  # repeated bases as the consensus has them
            if side == ENDING:
                found.add(_spell(window.bases, place, other + ahead, inner))
            else:
                found.add(_spell(window.bases, other - ahead, place, inner[::-1]))
    variants = [(begin + window.first, deleted, bases) for begin, deleted, bases in found if _is_fit(deleted, bases)]
    return sorted(v for v in variants if window.start < v[0] and v[0] + v[1] < window.stop)


def _spell(reference: ndarray, left: int, right: int, new: bytes) -> Variant:
    """The haplotype reference[:left] + new + reference[right:] as one variant, trimmed and moved left."""
    old = reference[left:right].tobytes()
    new += reference[right:left].tobytes()
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    while old and new and old[0] == new[0]:
        left, old, new = left + 1, old[1:], new[1:]
    gap = b"" if old and new else old or new
    for _ in range(MAX_SHIFT):
        if not gap or left < 2 or reference[left - 2] == OUTSIDE or gap[-1] != reference[left - 1]:
            break
        left, gap = left - 1, gap[-1:] + gap[:-1]
    return (left, len(old), new) if old and new else (left, len(old), gap if new else b"")


def _is_fit(deleted: int, bases: bytes) -> bool:
    return 0 < max(deleted, len(bases)) <= MAX_INDEL and deleted != len(bases) and max(bases, default=0) < 4


@kernel
def count_votes(reads, places, side, votes):
    """Count the bases of one side's clips, outwards from their places, in `votes` [place, distance, base]."""
    bases, qualities, read_offsets = reads.bases, reads.qualities, reads.read_offsets
    cigar, cigar_offsets = reads.cigar, reads.cigar_offsets
    ends = reads.position if side == BEGINNING else reads.reference_stop
    for read in range(ends.size):
        place = np.searchsorted(places, ends[read])
        if place == places.size or places[place] != ends[read]:
            continue
        leading, trailing = soft_clips(cigar, cigar_offsets[read], cigar_offsets[read + 1])
        size = leading if side == BEGINNING else trailing
        first = read_offsets[read] if side == BEGINNING else read_offsets[read + 1] - trailing
        if not is_good(qualities, first, size):
            continue
        for k in range(min(size, votes.shape[1])):
            base = bases[first + (size - 1 - k if side == BEGINNING else k)]
            if base < 4:
                votes[place, k, base] += 1


@kernel
def rejoin(consensus, place, side, reference, farthest):
    """Returns (where the reference continues like the consensus, number of new bases before that), or (-1, 0)."""
    for new in range(consensus.size - MIN_REJOINED + 1):
        for distance in range(farthest + 1):
            for sign in range(1, -2, -2):
                boundary = place + sign * distance
                if (new > 0 or distance > 0) and continues(consensus, new, boundary, side, reference):
                    return boundary, new
    return np.int64(-1), 0


@kernel
def continues(consensus, new, boundary, side, reference):
    """Whether the consensus, from base `new` on, is the reference beside the boundary, except for a few bases."""
    allowed = (consensus.size - new) // REJOINED_PER_ERROR
    for k in range(consensus.size - new):
        at = boundary + k if side == ENDING else boundary - 1 - k
        if at < 0 or at >= reference.size or reference[at] == OUTSIDE:
            return False
        if reference[at] != consensus[new + k]:
            allowed -= 1
            if allowed < 0:
                return False
    return True
