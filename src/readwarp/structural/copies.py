"""Move insertions that copy the bases around them to one place; aligners may put them anywhere along the copy.

Gaps are left-aligned, but only as far as bases are equal: one error of the read in either copy stops them. So words of
SEED bases of an insertion are looked up around it; where half of them are found within its own length, it moves before
these bases.
"""

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Bases
from readwarp.ragged import replace
from readwarp.structural.evidence import StructuralEvents

SEED = 12  # bases of a word
MIN_COPY = 100  # bases; the place of a shorter copy makes little difference


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
