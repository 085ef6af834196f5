"""Rules of the extend step: the ungapped alignment on a diagonal, and when it is the best there is.

A score here is a raw score plus one end bonus per read end reached, as in `Scores.score`. `query` is an oriented read.
"""

import numpy as np

from readwarp.device.jit import scalar
from readwarp.rules.bases import reference_code


@scalar
def ungapped_is_best(score, length, costs):
    """Whether no gapped alignment, and no ungapped one elsewhere with a mismatch or a clip, can score more than this.

    A gap costs at least gap_open + gap_extend, a mismatch match + mismatch, a clip match + bonus. The only other rival
    is an exact match of the whole read elsewhere in the window, which the caller excludes unless the score is perfect.
    """
    match, mismatch, gap_open, gap_extend, bonus = costs
    loss = length * match + 2 * bonus - score
    return loss <= min(gap_open + gap_extend, match + mismatch, match + bonus)


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
def lies_elsewhere(query, packed, start, stop, diagonal):
    """Whether the window [start, stop) holds the whole read exactly at another place than `diagonal`."""
    size = np.int32(query.size)
    for place in range(start, stop - size + 1):
        i = np.int32(0)
        while i < size and query[i] == reference_code(packed, place + i):
            i = np.int32(i + 1)
        if i == size and place != diagonal:
            return True
    return False


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
