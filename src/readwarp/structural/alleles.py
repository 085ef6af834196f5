"""Choose the allele that stands for each cluster, and spell it.

Insertions that copy the bases around them move to one place: aligners may put them anywhere along the copy. Gaps are
left-aligned, but only as far as bases are equal: one error of the read in either copy stops them. So words of SEED
bases of an insertion are looked up around it; where half of them are found within its own length, it moves before these
bases.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.spelling import spell_alleles
from readwarp.call.places.bases import Bases
from readwarp.ragged import replace
from readwarp.structural.evidence import StructuralEvents

SEED = 12  # bases of a word
MIN_COPY = 100  # bases; the place of a shorter copy makes little difference
MISMATCH, DROP = 3, 20  # penalties, where a match scores 1, to compare two copies from their beginnings


def move_copies(events: StructuralEvents, bases: Bases) -> StructuralEvents:
    """Move insertions into a copy of theirs, among events within alignments, to its beginning.

    A moved one takes the contig's bases for those that it leaves behind: the read's were compared with them.
    """
    start, stop = events.start.copy(), events.stop.copy()
    held = events.bases.copy()
    is_pure = (events.start == events.stop) & (events.length >= MIN_COPY)
    for row in np.flatnonzero(is_pure).tolist():
        own = slice(*events.base_offsets[row : row + 2].tolist())
        place = find_copy(held[own], int(start[row]), bases)
        if place < start[row]:
            held[own] = np.concatenate((bases.array(place, int(start[row])), held[own]))[: own.stop - own.start]
            start[row] = stop[row] = place
    return replace(events, start=start, stop=stop, bases=held)


def find_copy(own: ndarray, start: int, bases: Bases) -> int:
    """Return the start of the copy that an insertion at `start` lies in or follows; `start` if there is none."""
    low, high = max(0, start - own.size), min(bases.length, start + own.size)
    words, around = words_of(own), words_of(bases.array(low, high))
    if around.size < words.size:
        return start
    is_found = np.isin(around, words)
    found = np.cumsum(np.append(0, is_found))
    number = found[words.size :] - found[: -words.size]  # words found within a copy that begins at each place
    # On a tie, the first place at which a word is found.
    best = int((2 * number + is_found[: number.size])[: start - low + 1].argmax())
    return low + best if 2 * number[best] >= words.size else start


def is_copy(own: ndarray, after: ndarray) -> bool:
    """Return whether half of the words of one are in the other."""
    words = words_of(own)
    return words.size > 0 and 2 * int(np.isin(words, words_of(after)).sum()) >= words.size


def words_of(bases: ndarray) -> ndarray:
    """Return each run of SEED bases as a number (int64 [words])."""
    out = np.zeros(max(0, bases.size - SEED + 1), np.int64)
    for offset in range(SEED):
        out = out * 5 + bases[offset : offset + out.size]
    return out


class Allele(NamedTuple):
    """Replacement of `deleted` reference bases from `start` on by `inserted` (bases 0-4)."""

    start: int  # 0-based
    deleted: int
    inserted: bytes | None  # None: unknown
    length: int  # bases inserted less bases deleted

    @property
    def stop(self) -> int:
        return self.start + self.deleted


def represent(events: StructuralEvents) -> int:
    """Choose the event that stands for a cluster: the most common place, length and then bases.

    On a tie, take those near the medians, then the first in that order. Events within alignments come before those
    between alignments.
    """
    shapes = list(zip(events.start.tolist(), events.stop.tolist(), events.length.tolist(), strict=True))
    rows = np.flatnonzero(events.kind == events.kind.min()).tolist()
    middle = [float(np.median(column)) for column in np.array([shapes[row] for row in rows]).T]
    number = Counter(shapes[row] for row in rows)
    spelled = {row: events.bases[slice(*events.base_offsets[row : row + 2])].tobytes() for row in rows}
    alike = Counter((shapes[row], spelled[row]) for row in rows)

    def rank(row: int) -> tuple[object, ...]:
        shape = shapes[row]
        far = abs(shape[2] - middle[2]), abs(shape[0] - middle[0])
        return -number[shape], *far, shape, -alike[shape, spelled[row]], spelled[row], int(events.name[row])

    return min(rows, key=rank)


def spell(start: int, stop: int, length: int, new: bytes | None, bases: Bases) -> Allele:
    """Return the allele of an event, left-aligned, without the bases that both sides share at their ends.

    If bases are unknown, inserted bases beside those that replace the reference's are left out.
    """
    if new is None:
        deleted = max(0, -length)
        return Allele(start, deleted, b"" if length < 0 else None, length)
    old = bases.between(start, stop)
    ahead = common(old, new)
    old, new = old[ahead:], new[ahead:]
    start += ahead
    behind = common(old[::-1], new[::-1])
    old, new = old[: len(old) - behind], new[: len(new) - behind]
    if not (old and new):
        start, deleted, new = next(spell_alleles(bases, start, new, len(old)))
        return Allele(start, deleted, new, length)
    return Allele(start, len(old), new, length)


def common(one: bytes, other: bytes) -> int:
    """Count the bases that both begin with."""
    size = min(len(one), len(other))
    differs = np.frombuffer(one, np.uint8, size) != np.frombuffer(other, np.uint8, size)
    return int(differs.argmax()) if differs.any() else size


def shared_bases(allele: Allele, bases: Bases) -> int:
    """Count the bases, from its start on, that the contig with the allele shares with the contig without it.

    All of the allele where it is a copy of the bases that follow.
    """
    size = abs(allele.length)
    if allele.inserted is None or (allele.deleted and allele.inserted):
        return 0
    own = np.frombuffer(allele.inserted, np.uint8) if allele.inserted else bases.array(allele.start, allele.stop)
    after = bases.array(allele.stop, min(allele.stop + size, bases.length))
    if is_copy(own, after):
        return size
    together = min(own.size, after.size)
    score = np.cumsum(np.where(own[:together] == after[:together], 1, -MISMATCH))
    best = np.maximum.accumulate(np.append(0, score))
    ended = np.flatnonzero(best[1:] - score > DROP)
    score = score[: ended[0]] if ended.size else score
    return int(score.argmax()) + 1 if score.size and score.max() > 0 else 0
