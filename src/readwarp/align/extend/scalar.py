"""Rules of the extend step: when the ungapped answer is the best there is, and what a score proves about gaps.

A score here is a raw score plus one end bonus per read end reached, as in `Scores.score`.
"""

from readwarp.device.jit import scalar
from readwarp.pairwise.scalar import longest_gap

NEVER = 5  # the code of a reference base other than A C G T, so that it does not match a read's N (4)


@scalar
def ungapped_is_best(score, length, match, mismatch, gap_open, gap_extend, bonus):
    """Can no gapped alignment, and no ungapped one elsewhere with a mismatch or a clip, score more than this?

    A gap costs at least gap_open + gap_extend, a mismatch match + mismatch, a clip match + bonus. What remains is an
    exact match of the whole read elsewhere in the window, which the caller looks for unless `score` is the maximum.
    """
    loss = length * match + 2 * bonus - score
    return loss <= min(gap_open + gap_extend, match + mismatch, match + bonus)


@scalar
def proven_gap(length, score, match, gap_open, gap_extend, bonus):
    """Padding (bases on either side of the read's diagonal span) beyond which no better alignment can reach.

    An alignment on the diagonal's side of a window that was padded by g bases leaves the window only through gaps of
    more than g bases in all, or by not touching the diagonal at all. So if an alignment of this score was found in a
    window padded by at least proven_gap bases, every alignment of a higher score that shares an aligned pair with the
    read's diagonal lies inside the window too. 0: no gap can pay.
    """
    return longest_gap(score, length, length, match, gap_open, gap_extend, 2 * bonus)
