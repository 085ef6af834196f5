"""Assemble insertions that no read spans, from the clips on both sides and from reads that lie within.

The clips of reads that end at a place spell the beginning of the insertion; those of reads that begin nearby spell its
end. The beginning grows by the bases that follow its last SEED bases in reads until it overlaps the end. It grows as
long as MIN_CLIPS reads and one in MAX_THINNER of the first reach, and all but one in MAX_DISSENT agree.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from readwarp.call.candidates.pileup import MAX_INSERTION
from readwarp.call.candidates.regions import MIN_CLIPS

NEAR = 50  # bases that an insertion may repeat or replace at its place
END = 40  # bases of an insertion's beginning and end that its clips must spell
MIN_OVERLAP, OVERLAP_PER_ERROR = 16, 10
SEED, MAX_UNSURE = 20, 10  # bases of a read's match; last known bases that may be wrong
MAX_THINNER, MAX_DISSENT = 2, 4


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
