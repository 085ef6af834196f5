"""Rules of pairwise alignment: modes, codes, limits, and how far a path can stray.

Scores are plain integers here. The lanes of `lanes.py` and the threads of `cuda.py` follow the same recurrence.
"""

from typing import NamedTuple

import numpy as np

from readwarp.compiler.jit import scalar
from readwarp.rules.bases import NEVER, UNKNOWN
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

LOCAL, GLOBAL, SEMIGLOBAL = range(3)

# Codes besides those of sequences (0 to 125), which never match.
ALPHABET = 128
LETTERS = 6  # codes 0 to 5: A C G T, N, and the N of the reference
PAD = 126  # before or after a lane's query
OUTSIDE = 127  # before or after the target: no base, not even a mismatch, can be aligned here

UNKNOWN_COST = 1  # maximum cost of a pair with N, since N says nothing about its base (bwa mem, minimap2)
UNREACHED = -(1 << 29)  # a score that no path has, with room to add to it
OVERFLOWN = -1  # the score of a pair that needs wider lanes


@scalar
def gain_of_bases(query_code, target_code, costs):
    """Return the score of an aligned pair. N has the code UNKNOWN in queries, and NEVER in targets."""
    if query_code == target_code:
        return np.int32(costs.match)
    is_unknown = query_code == UNKNOWN or target_code == NEVER
    return np.int32(-min(costs.mismatch, UNKNOWN_COST) if is_unknown else -costs.mismatch)


class Band(NamedTuple):
    """The cells that a trace keeps: columns i - width to i + lead of row i."""

    before: int  # rows before the diagonal of the end
    lead: int
    width: int
    rows: int


@scalar
def longest_gaps(score, query_length, target_length, costs, bonuses):
    """Return (deletions, insertions): the most bases of either in a path of at least this score.

    A path that strays by g bases from the diagonal it ends on has gaps of g bases or more, which cost at least gap_open
    + g * gap_extend. Its aligned bases and bonuses gain at most min(lengths) * match + bonuses. Those g bases of one
    sequence are not aligned, so the rest of it gains at most (length - g) * match. Hence a path strays only about half
    as far to the side of insertions, which use up bases of the query.
    """
    match, gap_extend = costs.match, costs.gap_extend
    spare = bonuses - score - costs.gap_open
    query, target = query_length * match + spare, target_length * match + spare
    deletions = min(max(target, 0) // (gap_extend + match), max(query, 0) // gap_extend, target_length)
    insertions = min(max(query, 0) // (gap_extend + match), max(target, 0) // gap_extend, query_length)
    return deletions, insertions


@scalar
def band_of(diagonal, deletions, insertions, query_stop, target_stop, mode):
    """Return the band of one pair: see `groups.bands_of`."""
    if mode == GLOBAL:
        return Band(0, deletions - diagonal, insertions + diagonal, target_stop)
    before = min(deletions, max(diagonal, 0) + 1)
    return Band(before, deletions - before, insertions + before, before + query_stop)


# Positions of a walk: on the best of M, E and F; on the better of M and E (a gap opens there); inside a gap; on M.
ON_BEST, ON_PAIR_OR_DELETION, IN_DELETION, IN_INSERTION, ON_PAIR = range(5)

# The four questions about a cell.
DELETION_BETTER, INSERTION_BETTER, DELETION_OPENS, INSERTION_OPENS = 1, 2, 4, 8


@scalar
def cell(diagonal, gain, E, F, opening, extending, floor):
    """Return (H, E of the cell below, F of the cell to the right, answers); no score falls below `floor`."""
    m = max(diagonal + gain, floor)
    md = max(m, E)
    opened = max(md - opening, floor)
    E_extended, F_extended = max(E - extending, floor), max(F - extending, floor)
    answers = (
        (DELETION_BETTER if m < E else 0)
        | (INSERTION_BETTER if md < F else 0)
        | (DELETION_OPENS if opened > E_extended else 0)
        | (INSERTION_OPENS if opened > F_extended else 0)
    )
    return max(md, F), max(E_extended, opened), max(F_extended, opened), answers


@scalar
def operation(state, directions):
    """Return MATCH, INSERTION or DELETION: how the alignment reaches a cell.

    On ties, M precedes E precedes F: a walk from the end puts gaps off as long as possible, so they are leftmost.
    """
    if state == IN_INSERTION or (state == ON_BEST and directions & INSERTION_BETTER):
        return INSERTION
    if state == IN_DELETION or (state != ON_PAIR and directions & DELETION_BETTER):
        return DELETION
    return MATCH


@scalar
def state_after(taken, directions):
    """Return the walk's state after that operation, in a cell with these directions."""
    if taken == MATCH:
        return ON_BEST
    if taken == INSERTION:
        return ON_PAIR_OR_DELETION if directions & INSERTION_OPENS else IN_INSERTION
    return ON_PAIR_OR_DELETION if directions & DELETION_OPENS else IN_DELETION


@scalar
def push(runs, begin, number, taken, length):
    """Lengthen the last of `number` runs from `begin` on, or add another; return the new number."""
    if number > 0 and (runs[begin + number - 1] & 15) == taken:
        runs[begin + number - 1] += np.uint32(length << 4)
        return number
    runs[begin + number] = np.uint32(length << 4 | taken)
    return number + 1


@scalar
def finish(runs, begin, number, place, totals, gaps):
    """Align what is left before a walk's last cell with gaps, as far as the mode asks for it.

    place: (target, query) position before that cell. totals: (rest of the score, edit distance). gaps: (opening,
    extension, mode). Returns (query start, target start, edit distance, rest of the score, runs): see `pairs.Walks`.
    """
    i, j = place
    (left, edits), (opening, extension, mode) = totals, gaps
    inserted, deleted = (j + 1 if mode != LOCAL else 0), (i + 1 if mode == GLOBAL else 0)
    for rest, gap in ((inserted, INSERTION), (deleted, DELETION)):
        if rest > 0:
            left += opening + rest * extension
            number = push(runs, begin, number, gap, rest)
    return j + 1 - inserted, i + 1 - deleted, edits + inserted + deleted, left, number
