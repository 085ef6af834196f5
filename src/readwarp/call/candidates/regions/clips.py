"""Find where soft clips pile up and the long indels they spell, for which aligners open no gap.

At a clip place the clipped bases of all reads are lined up outwards from the place. The consensus is the base that most
of them show at each distance, as far as MIN_CLIPS reads reach. Where the consensus continues like the reference within
MAX_INDEL bases of the place, the haplotype jumps there: forwards over a deletion, or backwards where bases are
repeated. If it does so only after some bases, these are new. It must match to its end, over at least MIN_REJOINED
bases, with at most one mismatch in REJOINED_PER_ERROR. The jump with the fewest new bases is taken, then the shortest
one, then the one to the right. After new bases so few match by chance: they must be MIN_UNAIDED unless reads are
clipped there as well.

Where clips on both sides of an insertion do not rejoin, it is assembled from them and from reads that lie within. The
clips of reads that end at a place spell the beginning of the insertion; those of reads that begin nearby spell its
end. The beginning grows by the bases that follow its last SEED bases in reads until it overlaps the end. It grows as
long as MIN_CLIPS reads and one in MAX_THINNER of the first reach, and all but one in MAX_DISSENT agree.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.pileup import MAX_INDEL, MAX_INSERTION, MAX_SHIFT
from readwarp.call.candidates.regions import MIN_CLIP_FRACTION, MIN_CLIP_QUALITY, MIN_CLIPS
from readwarp.call.candidates.sites.find import Site, Variant, list_alleles, sites_of
from readwarp.call.places.bases import Window, contigs_around
from readwarp.call.reads.clips import MIN_CLIP, clips_of
from readwarp.call.reads.usable import hide_poor
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import concatenate, take
from readwarp.rules.bases import OUTSIDE
from readwarp.rules.shares import scale_shares

NEAR = 50  # bases that an insertion may repeat or replace at its place
END = 40  # bases of an insertion's beginning and end that its clips must spell
MIN_OVERLAP, OVERLAP_PER_ERROR = 16, 10
SEED, MAX_UNSURE = 20, 10  # bases of a read's match; last known bases that may be wrong
MAX_THINNER, MAX_DISSENT = 2, 4
MAX_CLIP = 256  # bases of a clip that are used
MIN_REJOINED, REJOINED_PER_ERROR = 10, 10
MIN_UNAIDED, BESIDE = 30, 10  # bases
ENDING, BEGINNING = 0, 1  # sides of a place: reads end there in a clip, or begin after one
Reads = list[bytes]
Mates = Callable[[int], Iterator[Reads]]  # at a place: bases of unaligned mates, then of mates aligned elsewhere


def pair_ends(ending: Iterable[int], beginning: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Pair places where reads end with nearby places where reads begin, nearest first; each place is used once."""
    pairs = ((abs(left - right), left, right) for left in ending for right in beginning if abs(left - right) <= NEAR)
    used = set[tuple[bool, int]]()
    for _, left, right in sorted(pairs):
        if used.isdisjoint(both := {(False, left), (True, right)}):
            used |= both
            yield left, right


def assemble(left: bytes, right: bytes, reads: Sequence[bytes]) -> bytes | None:
    """Return the bases that begin like `left` and end like `right`; None if the reads do not resolve them."""
    left, right = left[:END], right[-END:]
    while len(left) <= MAX_INSERTION + len(right):
        place, shared = find_overlap(left, right)
        if shared:
            return left[: place + shared // 2] + right[shared // 2 :]  # each is most reliable at its own end
        longer = grow(left, reads)
        if len(longer) <= len(left):
            return None
        left = longer
    return None


def find_overlap(left: bytes, right: bytes) -> tuple[int, int]:
    """Return where `right` begins within `left` and the number of bases up to the end of either; (0, 0): nowhere."""
    own, other = np.frombuffer(left, np.uint8), np.frombuffer(right, np.uint8)
    best = (0, 0)
    for place in range(len(left) - MIN_OVERLAP + 1):
        size = min(len(left) - place, len(right))
        is_longest = size >= max(MIN_OVERLAP, best[1] + 1)
        if is_longest and (own[place : place + size] != other[:size]).sum() <= size // OVERLAP_PER_ERROR:
            best = place, size
    return best


def grow(left: bytes, reads: Sequence[bytes]) -> bytes:
    """Extend `left` by the bases that follow it in reads; its last bases may be replaced if no read has them."""
    for unsure in range(min(MAX_UNSURE, len(left) - SEED) + 1):
        known = left[: len(left) - unsure]
        found = ((read, read.find(known[-SEED:])) for read in reads)
        tails = [read[at + SEED :] for read, at in found if at >= 0]
        if sum(len(tail) > unsure for tail in tails) >= MIN_CLIPS:
            return known + agree(tails)
    return left


def agree(tails: Sequence[bytes]) -> bytes:
    """Return the consensus of the tails, as far as enough of them reach and agree."""
    out, votes = bytearray(), np.zeros((max(map(len, tails)), 5), np.int64)
    for tail in tails:
        votes[np.arange(len(tail)), np.frombuffer(tail, np.uint8)] += 1
    least = max(MIN_CLIPS, votes[0].sum() // MAX_THINNER)
    for row in votes[:, :4]:
        if row.max() < least or MAX_DISSENT * (row.sum() - row.max()) > row.sum():
            break
        out.append(int(row.argmax()))
    return bytes(out)


class ClipPlaces(NamedTuple):
    """Sorted places between two bases, each named by the position of the second base."""

    ending: Annotated[ndarray, "int64 [endings]"]  # where reads end in a clip
    beginning: Annotated[ndarray, "int64 [beginnings]"]  # where reads begin after a clip


class Clips(NamedTuple):
    """Soft clips that are long enough and of good quality."""

    side: Annotated[ndarray, "int64 [clips]"]  # side of the place: ENDING or BEGINNING
    place: Annotated[ndarray, "int64 [clips]"]
    base: Annotated[ndarray, "int64 [clips]"]  # index into AlignedReads.bases of the clipped base beside the place
    size: Annotated[ndarray, "int64 [clips]"]  # clipped bases
    sample: Annotated[ndarray, "uint16 [clips]"]

    def spread(self) -> tuple[ndarray, ndarray, ndarray]:
        """Return (clip, distance from the place, index of the base) of each clipped base, outwards (int64)."""
        clip = np.repeat(np.arange(self.size.size), self.size)
        distance = np.arange(clip.size) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        return clip, distance, self.base[clip] + distance * np.where(self.side == ENDING, 1, -1)[clip]


def find_clips(reads: AlignedReads) -> Clips:
    """Find all such clips: first those after reads, then those before reads."""
    leading, trailing = clips_of(reads)
    before, after = np.flatnonzero(leading >= MIN_CLIP), np.flatnonzero(trailing >= MIN_CLIP)
    first, stop = reads.read_offsets[:-1][before], reads.read_offsets[1:][after]
    clips = Clips(
        side=np.repeat((ENDING, BEGINNING), (after.size, before.size)),
        place=np.append(reads.reference_stop[after], reads.position[before]),
        base=np.append(stop - trailing[after], first + leading[before] - 1),
        size=np.append(trailing[after], leading[before]),
        sample=np.append(reads.sample[after], reads.sample[before]),
    )
    clip, _, base = clips.spread()
    total = np.bincount(clip, reads.qualities[base], clips.size.size)
    return take(clips, "clips", total >= MIN_CLIP_QUALITY * clips.size)


def find_clip_places(reads: AlignedReads, window: Window, ploidy: ndarray | None = None) -> ClipPlaces:
    """Find the window's clip places, shown by at least one sample. `ploidy`: int8 [positions, samples]; None: 2."""
    start, is_on = window.start, window.trim().bases != OUTSIDE
    is_place, clips = np.zeros((2, max(0, window.stop - start - 1)), bool), find_clips(reads)
    is_near = (reads.position < window.stop) & (reads.reference_stop > start)
    is_inside = (clips.place > start) & (clips.place < window.stop)
    for sample in range(int(reads.sample.max(initial=0)) + 1):
        own = is_near & (reads.sample == sample)
        first, last = np.maximum(reads.position[own], start), np.minimum(reads.reference_stop[own], window.stop)
        size = window.stop - start + 1
        depth = np.cumsum(np.bincount(first - start, minlength=size) - np.bincount(last - start, minlength=size))
        number, mine = np.zeros(is_place.shape, np.int32), is_inside & (clips.sample == sample)
        np.add.at(number, (clips.side[mine], clips.place[mine] - start - 1), 1)
        side, place = np.nonzero(number >= MIN_CLIPS)
        scale = 1.0 if ploidy is None else scale_shares(ploidy[place + 1, sample])
        is_place[side, place] |= number[side, place] >= MIN_CLIP_FRACTION * scale * depth[place + side]
    ending, beginning = (np.flatnonzero(side & is_on[:-1] & is_on[1:]) + start + 1 for side in is_place)
    return ClipPlaces(ending, beginning)


def pair_places(places: ClipPlaces) -> tuple[ndarray, ndarray]:
    """Pair each place where reads end with the next place where reads begin, if near: deletions that clips may show."""
    following = np.searchsorted(places.beginning, places.ending, side="right")
    is_paired = following < places.beginning.size
    first, last = places.ending[is_paired], places.beginning[following[is_paired]]
    is_near = last - first <= MAX_INDEL
    return first[is_near], last[is_near]


def drop_overhangs(reads: AlignedReads, places: ClipPlaces, sites: Sites, window: Window) -> Sites:
    """Drop sites that only the last bases of reads show, where these overhang a clip place.

    Beyond such a place the contig goes on, but fewer than MIN_CLIPS reads are aligned: a long deletion is there.
    Alleles that the user asks for stay.
    """
    place, is_before = np.concatenate(places), np.repeat((False, True), (places.ending.size, places.beginning.size))
    beyond = np.where(is_before, place - MIN_CLIP - 1, place + MIN_CLIP)
    start, stop = contigs_around(window, place)
    aligned = np.searchsorted(reads.position, beyond, "right")
    aligned -= np.searchsorted(np.sort(reads.reference_stop), beyond, "right")
    is_thin = (aligned < MIN_CLIPS) & (start <= beyond) & (beyond < stop)
    first, is_before = (place - MIN_CLIP * is_before)[is_thin], is_before[is_thin]
    begin = sites.begin - (sites.is_indel & is_before[:, None])  # an insertion there follows the base before it
    is_over = ((begin >= first[:, None]) & (begin < first[:, None] + MIN_CLIP)).any(axis=0)
    return take(sites, "sites", ~is_over | np.logical_or.reduceat(sites.is_forced, sites.allele_offsets[:-1]))


def add_clipped(
    reads: AlignedReads, places: ClipPlaces, sites: Sites, window: Window, mates: Mates
) -> tuple[Sites, ndarray]:
    """Add sites of the window's indels that only clipped bases spell.

    mates: of the reads beside a place, on both strands. Also returns the places of insertions that cannot be assembled
    (int64).
    """
    if not any(map(len, places)):
        return sites, np.empty(0, np.int64)
    variants, unknown = clipped_variants(reads, places, window, mates)
    known = set(list_alleles(sites)) if variants else set()
    rows: list[Site] = [(v[0], True, [(0, b""), v[1:]]) for v in variants if v not in known]
    if not rows:
        return sites, unknown
    both = concatenate((sites, sites_of(rows, window)), "sites")
    return take(both, "sites", np.lexsort((both.is_indel, both.position))), unknown


def clipped_variants(
    reads: AlignedReads, places: ClipPlaces, window: Window, mates: Mates
) -> tuple[list[Variant], ndarray]:
    """Return the distinct indels, left-aligned and sorted; see `add_clipped`."""
    found, clips = set[Variant](), find_clips(reads)
    open_ends: tuple[dict[int, bytes], dict[int, bytes]] = {}, {}
    for side, (own, others) in enumerate((places, places[::-1])):
        votes = count_votes(reads, clips, own, side)
        consensus, sizes = votes.argmax(axis=2), (votes.sum(axis=2) >= MIN_CLIPS).cumprod(axis=1).sum(axis=1)
        for place, bases, size in zip((own - window.first).tolist(), consensus, sizes.tolist(), strict=True):
            other, new = rejoin(bases[:size], place, side, window.bases, MAX_INDEL)
            is_beside = (np.abs(others - other - window.first) <= BESIDE).any()
            if other < 0 or not (new == 0 or size - new >= MIN_UNAIDED or is_beside):
                if size >= MIN_OVERLAP:
                    open_ends[side][place] = bases[:size].astype(np.uint8).tobytes()
                continue
            ahead = min(size - new, max(0, (place - other) * (1 if side == ENDING else -1)))
            inner = bases[: new + ahead].astype(np.uint8).tobytes()  # repeated bases as in the consensus
            if side == ENDING:
                found.add(_spell(window.bases, place, other + ahead, inner))
            else:
                found.add(_spell(window.bases, other - ahead, place, inner[::-1]))

    def read_sets(left: int, right: int) -> Iterator[Reads]:
        own = spell_clips(reads, clips, left + window.first, right + window.first)
        return (own + found for found in mates(left + window.first))

    joined, unknown = join_ends(*open_ends, window.bases, read_sets)
    variants = [(begin + window.first, gone, new) for begin, gone, new in found | joined if _is_fit(gone, new)]
    inside = sorted(v for v in variants if window.start < v[0] and v[0] + v[1] < window.stop)
    return inside, np.array(unknown, np.int64) + window.first


def spell_clips(reads: AlignedReads, clips: Clips, ending: int, beginning: int) -> list[bytes]:
    """Return the clipped bases at the two places, UNKNOWN where quality is low."""
    is_ending = clips.side == ENDING
    rows = np.flatnonzero(clips.place == np.where(is_ending, ending, beginning))
    first = np.where(is_ending, clips.base, clips.base - clips.size + 1)[rows]
    spans = [slice(at, at + size) for at, size in zip(first, clips.size[rows], strict=True)]
    return [hide_poor(reads.bases[own], reads.qualities[own]).tobytes() for own in spans]


def join_ends(
    ending: dict[int, bytes],
    beginning: dict[int, bytes],
    reference: ndarray,
    read_sets: Callable[[int, int], Iterator[Reads]],
) -> tuple[set[Variant], list[int]]:
    """Assemble insertions between places of both sides, with clips given outwards; also return where this failed.

    Clips of fewer than END bases may be anything, and do not count. read_sets: for two places, sets of reads to try.
    """
    found, unknown = set[Variant](), list[int]()
    for left, right in pair_ends(ending, beginning):
        first, last = ending[left], beginning[right][::-1]
        joined = (assemble(first, last, reads) for reads in read_sets(left, right))
        if bases := next(filter(None, joined), None):
            found.add(_spell(reference, left, right, bases))
        elif min(len(first), len(last)) >= END:
            unknown.append(left)
    return found, unknown


def _spell(reference: ndarray, left: int, right: int, new: bytes) -> Variant:
    """Return the haplotype reference[:left] + new + reference[right:] as one variant, trimmed and left-aligned."""
    old = reference[left:right].tobytes()
    new += reference[right:left].tobytes()
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    while old and new and old[0] == new[0]:
        left, old = left + 1, old[1:]
        new = new[1:]
    gap = b"" if old and new else old or new
    for _ in range(MAX_SHIFT):
        if not gap or left < 2 or reference[left - 2] == OUTSIDE or gap[-1] != reference[left - 1]:
            break
        left, gap = left - 1, gap[-1:] + gap[:-1]
    return (left, len(old), new) if old and new else (left, len(old), gap if new else b"")


def _is_fit(deleted: int, bases: bytes) -> bool:
    fits = deleted <= MAX_INDEL and len(bases) <= MAX_INSERTION
    return fits and deleted != len(bases) and max(bases, default=0) < 4


def count_votes(reads: AlignedReads, clips: Clips, places: ndarray, side: int) -> ndarray:
    """Count the clips of one side that show each base outwards from its place (int32 [places, MAX_CLIP, base])."""
    votes, row = np.zeros((places.size, MAX_CLIP, 4), np.int32), np.searchsorted(places, clips.place)
    is_own = (clips.side == side) & (np.append(places, -1)[row] == clips.place)
    clip, distance, at = clips.spread()
    base = reads.bases[at]
    counts = is_own[clip] & (distance < MAX_CLIP) & (base < 4)
    np.add.at(votes, (row[clip[counts]], distance[counts], base[counts]), 1)
    return votes


@kernel
def rejoin(consensus, place, side, reference, farthest):
    """Return (where the reference continues like the consensus, number of new bases before that), or (-1, 0)."""
    for new in range(consensus.size - MIN_REJOINED + 1):
        for distance in range(farthest + 1):
            for sign in range(1, -2, -2):
                boundary = place + sign * distance
                if (new > 0 or distance > 0) and continues(consensus, new, boundary, side, reference):
                    return boundary, new
    return np.int64(-1), 0


@kernel
def continues(consensus, new, boundary, side, reference):
    """Return whether the consensus, from base `new` on, matches the reference beside the boundary with few errors."""
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
