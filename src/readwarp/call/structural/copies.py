"""Insertions that copy the bases around them: one place for what aligners may put anywhere along the copy.

Gaps are put leftmost, but only as far as bases are equal: one error of the read in either copy stops them. So the bases
of an insertion are looked up in its surroundings, by words of SEED bases; where half of them are found within so many
bases as it has, it goes before these.
"""

import numpy as np
from numpy import ndarray

from readwarp.call.spelling import Bases
from readwarp.call.structural.evidence import Events
from readwarp.ragged import replace

SEED = 12  # bases of a word
MIN_COPY = 100  # bases; where shorter ones lie makes little difference


def move_copies(events: Events, bases: Bases) -> Events:
    """Events within alignments, of which insertions into a copy of theirs are moved to its beginning.

    A moved one gets the contig's bases for those that it leaves behind it: the read's were compared with them.
    """
    start, stop, held = events.start.copy(), events.stop.copy(), events.bases.copy()
    is_pure = (events.start == events.stop) & (events.length >= MIN_COPY)
    for row in np.flatnonzero(is_pure).tolist():
        own = slice(*events.base_offsets[row : row + 2].tolist())
        place = find_copy(held[own], int(start[row]), bases)
        if place < start[row]:
            held[own] = np.concatenate((bases.array(place, int(start[row])), held[own]))[: own.stop - own.start]
            start[row] = stop[row] = place
    return replace(events, start=start, stop=stop, bases=held)


def find_copy(own: ndarray, start: int, bases: Bases) -> int:
    """Where the copy begins that an insertion at `start` lies in or follows; `start` if there is none."""
    low, high = max(0, start - own.size), min(bases.length, start + own.size)
    words, around = words_of(own), words_of(bases.array(low, high))
    if around.size < words.size:
        return start
    is_found = np.isin(around, words)
    found = np.cumsum(np.append(0, is_found))
    number = found[words.size :] - found[: -words.size]  # of those within a copy that begins at each place
    # Of places with as many, the first at which a word is found.
    best = int((2 * number + is_found[: number.size])[: start - low + 1].argmax())
    return low + best if 2 * number[best] >= words.size else start


def is_copy(own: ndarray, after: ndarray) -> bool:
    """Whether half of the words of one are in the other."""
    words = words_of(own)
    return words.size > 0 and 2 * int(np.isin(words, words_of(after)).sum()) >= words.size


def words_of(bases: ndarray) -> ndarray:
    """int64 [words]: each SEED bases in a row as a number."""
    out = np.zeros(max(0, bases.size - SEED + 1), np.int64)
    for offset in range(SEED):
        out = out * 5 + bases[offset : offset + out.size]
    return out
