"""The rules of pairwise alignment, written once: modes, codes, limits, and how far a path can stray.

Scores are plain integers here; the lanes of `lanes.py` and the threads of `cuda.py` follow the same recurrence.
"""

from readwarp.device.jit import scalar

LOCAL, GLOBAL, SEMIGLOBAL = 0, 1, 2

# Codes beside those of the sequences (0 to 125), which never match anything.
PAD = 126  # a lane's query has not begun, or is over
OUTSIDE = 127  # beyond the target: not even a mismatch can be aligned here

# Operations of a CIGAR in BAM's coding.
MATCH, INSERTION, DELETION = 0, 1, 2


@scalar
def best_possible(query_length, target_length, match, bonus):
    """No alignment scores more: every base of the shorter sequence matches, and both query ends earn their bonus."""
    return min(query_length, target_length) * match + 2 * bonus


@scalar
def longest_gap(score, query_length, target_length, match, gap_open, gap_extend, bonus):
    """Most bases by which a path of at least this score leaves the diagonal it ends on; -1 if it cannot have a gap.

    A path that strays by g bases holds gaps of g bases or more, which cost at least gap_open + g * gap_extend; without
    them it would score at most `best_possible`.
    """
    spare = best_possible(query_length, target_length, match, bonus) - score - gap_open
    return -1 if spare < gap_extend else min(spare // gap_extend, query_length + target_length)
