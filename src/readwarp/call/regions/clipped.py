"""Insertions and deletions that clipped bases spell: longer ones, which aligners clip instead of opening a gap.

At a clip place the clipped bases of all reads are lined up, outwards from the place, and at each distance the base
that most of them show is taken, as far as MIN_CLIPS reads reach: the consensus. Where it continues as the reference
does somewhere within MAX_INDEL bases of the place, the haplotype jumps there: forwards over a deletion, backwards where
bases are repeated, and by bases that are new where the consensus continues so only behind those. It must do so to its
end, over MIN_REJOINED bases or more, with at most one other base in REJOINED_PER_ERROR. The fewest new bases are taken,
then the nearest place, then the one further on.
"""

import numpy as np

from readwarp.batches import AlignedReads, Sites
from readwarp.call.pileup import MAX_INDEL, MAX_SHIFT
from readwarp.call.regions import MAX_CLIP, MIN_CLIP, MIN_CLIP_QUALITY, MIN_CLIPS, MIN_REJOINED, REJOINED_PER_ERROR
from readwarp.call.regions.clips import BEGINNING, ENDING, find_clip_places, good_clips
from readwarp.call.sites.find import Site, sites_of
from readwarp.device.jit import kernel
from readwarp.ragged import concatenate, take

Allele = tuple[int, int, bytes]  # begin, deleted, inserted


def with_clipped(
    reads: AlignedReads, qualities: np.ndarray, sites: Sites, reference: np.ndarray, start: int, low: int, high: int
) -> Sites:
    """The sites, and those of insertions and deletions within [low, high) that only clipped bases spell.

    `reference` are bases 0-4 from position `start` of the contig on, beyond [low, high) where the contig goes on.
    """
    alleles = clipped_alleles(reads, qualities, reference, start, low, high)
    new = _missing(alleles, sites) if alleles else []
    if not new:
        return sites
    rows: list[Site] = [(begin, True, [(0, b""), (deleted, bases)]) for begin, deleted, bases in new]
    added = sites_of(rows, (), sites.contig, reference, start)
    both = concatenate((sites, added), "sites")
    return take(both, "sites", np.lexsort((both.is_indel, both.begin - both.is_indel)))


def clipped_alleles(
    reads: AlignedReads, qualities: np.ndarray, reference: np.ndarray, start: int, low: int, high: int
) -> list[Allele]:
    """Distinct alleles, leftmost, in order."""
    places = find_clip_places(reads, qualities, low, high)
    found = set()
    for side, own in ((ENDING, places.ending), (BEGINNING, places.beginning)):
        votes = np.zeros((own.size, MAX_CLIP, 4), np.int32)
        collect(
            *(reads.position, reads.reference_stop, reads.cigar, reads.cigar_offsets, reads.bases, qualities),
            *(reads.read_offsets, own, side, MIN_CLIP, MIN_CLIP_QUALITY, votes),
        )
        consensus, sizes = votes.argmax(axis=2), (votes.sum(axis=2) >= MIN_CLIPS).cumprod(axis=1).sum(axis=1)
        for place, bases, size in zip(own.tolist(), consensus, sizes.tolist(), strict=True):
            other, new = rejoin(bases[:size], place - start, side, reference, MAX_INDEL)
            if other < 0:
                continue
            ahead = min(size - new, max(0, (place - start - other) * (1 if side == ENDING else -1)))
            inner = bases[: new + ahead].astype(np.uint8).tobytes()  # repeated bases as the consensus has them
            if side == ENDING:
                found.add(_spelled(reference, place - start, other + ahead, inner))
            else:
                found.add(_spelled(reference, other - ahead, place - start, inner[::-1]))
    alleles = [(begin + start, deleted, bases) for begin, deleted, bases in found if _is_fit(deleted, bases)]
    return sorted(allele for allele in alleles if low < allele[0] and allele[0] + allele[1] < high)


def _missing(alleles: list[Allele], sites: Sites) -> list[Allele]:
    """Those that are no alleles of the sites."""
    site = np.repeat(np.arange(len(sites)), np.diff(sites.allele_offsets))
    offsets, bases = sites.inserted_offsets.tolist(), sites.inserted.tobytes()
    begin, deleted = sites.begin[site].tolist(), sites.deleted.tolist()
    known = {(begin[a], deleted[a], bases[offsets[a] : offsets[a + 1]]) for a in range(len(deleted))}
    return [allele for allele in alleles if allele not in known]


def _spelled(reference: np.ndarray, left: int, right: int, new: bytes) -> Allele:
    """The haplotype reference[:left] + new + reference[right:] as one allele, trimmed and moved left."""
    old = reference[left:right].tobytes()
    new += reference[right:left].tobytes()
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    while old and new and old[0] == new[0]:
        left, old, new = left + 1, old[1:], new[1:]
    gap = b"" if old and new else old or new
    for _ in range(MAX_SHIFT):
        if not gap or left < 2 or gap[-1] != reference[left - 1]:
            break
        left, gap = left - 1, gap[-1:] + gap[:-1]
    return (left, len(old), new) if old and new else (left, len(old), gap if new else b"")


def _is_fit(deleted: int, bases: bytes) -> bool:
    return 0 < max(deleted, len(bases)) <= MAX_INDEL and deleted != len(bases) and max(bases, default=0) < 4


@kernel
def collect(
    position, reference_stop, cigar, cigar_offsets, bases, qualities, read_offsets, places, side, least, least_quality,
    votes,
):  # fmt: skip
    """Count in `votes` [place, distance, base] the bases of clips of this side, outwards from their places."""
    for read in range(position.size):
        at = position[read] if side == BEGINNING else reference_stop[read]
        place = np.searchsorted(places, at)
        if place == places.size or places[place] != at:
            continue
        clips = good_clips(cigar, cigar_offsets, qualities, read_offsets, read, least, least_quality)
        size = clips[0] if side == BEGINNING else clips[1]
        for k in range(min(size, votes.shape[1])):
            outwards = size - 1 - k if side == BEGINNING else read_offsets[read + 1] - read_offsets[read] - size + k
            base = bases[read_offsets[read] + outwards]
            if base < 4:
                votes[place, k, base] += 1


@kernel
def rejoin(consensus, place, side, reference, farthest):
    """Where the reference goes on as the consensus does -> (boundary there, new bases before), or (-1, 0)."""
    for new in range(consensus.size - MIN_REJOINED + 1):
        for distance in range(farthest + 1):
            for sign in range(1, -2, -2):
                boundary = place + sign * distance
                if (new > 0 or distance > 0) and continues(consensus, new, boundary, side, reference):
                    return boundary, new
    return np.int64(-1), 0


@kernel
def continues(consensus, new, boundary, side, reference):
    """Whether the consensus from base `new` on is the reference on that side of the boundary, but for a few bases."""
    allowed = (consensus.size - new) // REJOINED_PER_ERROR
    for k in range(consensus.size - new):
        at = boundary + k if side == ENDING else boundary - 1 - k
        if at < 0 or at >= reference.size:
            return False
        if reference[at] != consensus[new + k]:
            allowed -= 1
            if allowed < 0:
                return False
    return True
