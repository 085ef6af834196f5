"""Rules of the extend step: the ungapped alignment on a diagonal, and the proof that it is the best.

A read with n mismatches is divided into n parts with one mismatch each. If the window holds none of the parts exactly,
every alignment there has a difference in each part, and cannot score more than one with n mismatches. An N costs less
than a mismatch, so this proves nothing where the read or the window has one; but if all differences on the diagonal are
N of the read, no place can be better.

A score here is the raw score plus one end bonus per read end reached, as in `Scores.score`. `query` is an oriented
read.
"""

import numpy as np

from readwarp.compiler.jit import scalar
from readwarp.pairwise.scalar import gain_of_bases
from readwarp.rules.bases import reference_code

LEAST_PART = 8  # bases in a part of a read
MAX_PARTS = 8


@scalar
def loss_by_part(costs):
    """Return the least loss per part of a read, of at least LEAST_PART bases, if no place holds it exactly.

    See `readwarp.align.seed.scalar.least_loss`: one gap or clip may spoil several parts.
    """
    match, mismatch, gap_open, gap_extend, bonus = costs
    least = min(match + mismatch, gap_open + gap_extend)
    for n in range(1, MAX_PARTS + 1):
        inserted, clipped = max(1, (n - 2) * LEAST_PART + 2), (n - 1) * LEAST_PART + 1
        least = min(least, (gap_open + inserted * (gap_extend + match)) // n, (bonus + clipped * match) // n)
    return least


@scalar
def may_be_best(score, length, mismatches, costs):
    """Return whether this alignment is the best, if each mismatch is in a part of the read that occurs nowhere."""
    loss = length * costs.match + 2 * costs.bonus - score
    return mismatches <= MAX_PARTS and mismatches * loss_by_part(costs) >= loss


@scalar
def part_around(i, mismatches, number, length):
    """Return [start, stop) of the i-th part of the read, each with one mismatch."""
    start = (mismatches[i - 1] + mismatches[i] + 1) >> 1 if i > 0 else 0
    stop = (mismatches[i] + mismatches[i + 1] + 1) >> 1 if i + 1 < number else length
    return start, stop


@scalar
def probe_in(start, stop, mismatch):
    """Return where LEAST_PART bases of a part begin to search first: with the mismatch, to miss its own place."""
    return max(start, min(mismatch - LEAST_PART // 2, stop - LEAST_PART))


@scalar
def lengthen(segment, i, gain, length, costs):
    """Extend an ungapped alignment by the pair at query position i.

    segment: (best score of a segment that ends before i, best score so far, its end), with bonuses, int32.
    """
    running, best, stop = segment
    running = np.int32(running + gain)
    reached = np.int32(running + (costs.bonus if i + 1 == length else 0))
    if reached > best:
        best, stop = reached, np.int32(i + 1)
    return max(running, np.int32(0)), best, stop


@scalar
def walk_ungapped(query, stop, diagonal, score, packed, costs):
    """Return (score without bonuses, query start, edit distance) of an ungapped alignment that ends at query `stop`.

    score: includes the bonuses. The alignment begins where the remaining score falls to 0.
    """
    match, bonus = costs.match, costs.bonus
    if score == query.size * match + 2 * bonus:
        return score - np.int32(2 * bonus), np.int32(0), np.int32(0)
    raw = left = np.int32(score - (bonus if stop == query.size else 0))
    i, edits = np.int32(stop), np.int32(0)
    while i > 0 and (left > 0 or i == stop):
        i = np.int32(i - 1)
        code = reference_code(packed, diagonal + i)
        edits += np.int32(0 if query[i] == code else 1)
        left = np.int32(left - gain_of_bases(query[i], code, costs))
    return raw - left, i, edits
