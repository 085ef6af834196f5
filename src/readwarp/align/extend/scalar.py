"""Rules of the extend step: the ungapped alignment on a diagonal, and when it is the best there is.

A score here is a raw score plus one end bonus per read end reached, as in `Scores.score`. `query` is an oriented read.
"""

from typing import NamedTuple

import numpy as np

from readwarp.device.jit import scalar
from readwarp.rules.bases import reference_code

LEAST_PART = 8  # bases of an exact match that is looked for


class Allowance(NamedTuple):
    """What another alignment can have that scores more than an ungapped one."""

    differences: int  # mismatches, gaps and clips in all: 0, 1, or 2 for two and more
    deleted: int  # reference bases in a gap, at most
    inserted: int  # read bases in a gap, at most
    clipped: int  # read bases, at most


@scalar
def allowance_of(score, length, costs):
    """Of alignments that score more than `score`. A gap costs at least gap_open + gap_extend, a mismatch match +
    mismatch, a clip match + bonus.
    """
    match, mismatch, gap_open, gap_extend, bonus = costs
    loss = length * match + 2 * bonus - score
    least = min(gap_open + gap_extend, match + mismatch, match + bonus)
    differences = 0 if loss <= least else 1 if loss <= 2 * least else 2
    deleted, inserted = (loss - 1 - gap_open) // gap_extend, (loss - 1 - gap_open) // (gap_extend + match)
    return Allowance(differences, max(0, deleted), max(0, inserted), max(0, (loss - 1 - bonus) // match))


@scalar
def exact_part(length, allowed):
    """Of so many bases, every such alignment has the first or the last ones of the read exactly; 0: that is not known.

    It has the whole read if it has no difference.
    """
    if allowed.differences == 0:
        return length if length >= LEAST_PART else 0
    part = (length - allowed.inserted) >> 1
    return part if allowed.differences == 1 and LEAST_PART <= part <= length - allowed.clipped else 0


@scalar
def is_exact(query, first, stop, packed, diagonal):
    """Whether query[first:stop] is equal to the reference on a diagonal."""
    i = np.int32(first)
    while i < stop and query[i] == reference_code(packed, diagonal + i):
        i = np.int32(i + 1)
    return i >= stop


@scalar
def can_change_diagonal(query, head, tail, packed, window, diagonal, allowed):
    """Whether one allowed gap and no other difference lead from the diagonal to another one, or from there to it.

    head, tail: query positions of the first and the last mismatch on the diagonal.
    """
    start, stop, size = window[0], window[1], query.size
    for gap in range(1, allowed.deleted + 1):
        if diagonal + gap + size <= stop and is_exact(query, head, size, packed, diagonal + gap):
            return True
        if diagonal - gap >= start and is_exact(query, 0, tail + 1, packed, diagonal - gap):
            return True
    for gap in range(1, allowed.inserted + 1):
        if head + gap < size and is_exact(query, head + gap, size, packed, diagonal - gap):
            return True
        if tail + 1 > gap and is_exact(query, 0, tail + 1 - gap, packed, diagonal + gap):
            return True
    return False


@scalar
def lengthen(segment, i, is_equal, length, costs):
    """Lengthen an ungapped alignment by the pair at query position i.

    segment: (best score of a segment that ends before i, best score so far, where that ends), with bonuses, int32.
    """
    running, best, stop = segment
    running = np.int32(running + (costs.match if is_equal else -costs.mismatch))
    reached = np.int32(running + (costs.bonus if i + 1 == length else 0))
    if reached > best:
        best, stop = reached, np.int32(i + 1)
    return max(running, np.int32(0)), best, stop


@scalar
def walk_ungapped(query, stop, diagonal, score, packed, costs):
    """(score without bonuses, query start, edit distance) of an ungapped alignment that ends at query position `stop`.

    score: with its bonuses. The alignment begins where the rest of the score falls to 0.
    """
    match, mismatch, _, _, bonus = costs
    if score == query.size * match + 2 * bonus:
        return score - np.int32(2 * bonus), np.int32(0), np.int32(0)
    raw = left = np.int32(score - (bonus if stop == query.size else 0))
    i, edits = np.int32(stop), np.int32(0)
    while i > 0 and (left > 0 or i == stop):
        i = np.int32(i - 1)
        equal = query[i] == reference_code(packed, diagonal + i)
        edits += np.int32(0 if equal else 1)
        left -= np.int32(match if equal else -mismatch)
    return raw - left, i, edits
