"""Gap costs of an alignment, the merging of nearby gaps where one gap costs less, and the places of gaps.

A gap of n bases costs the least of gap_open + n gap_extend, long_open + n long_extend, and `most`. The pairwise engine
knows only the first, and opens two gaps where a few bases between them match by chance.
"""

from typing import NamedTuple

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.pairwise.scalar import gain_of_bases
from readwarp.rules.bases import reference_code
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

MAX_BETWEEN = 32  # bases between two gaps that may be merged


class GapCosts(NamedTuple):
    """Gap costs, as magnitudes."""

    gap_open: int
    gap_extend: int
    long_open: int
    long_extend: int
    most: int


@scalar
def cost_of_gap(length, gaps):
    gap_open, gap_extend, long_open, long_extend, most = gaps
    return min(gap_open + length * gap_extend, long_open + length * long_extend, most)


@scalar
def matches_of(sequences, query, reference, length, costs):
    """Score this many aligned bases."""
    (bases, packed), score = sequences, 0
    for k in range(length):
        score += gain_of_bases(bases[query + k], reference_code(packed, reference + k), costs)
    return score


@kernel
def unite_gaps(sequences, starts, costs, gaps, offsets, cigar):
    """Merge gaps of one kind with up to MAX_BETWEEN aligned bases between them where that scores more.

    sequences: oriented bases, packed reference. starts: where each alignment begins in them. offsets, cigar: runs,
    changed in place. The bases between the gaps move to its right, or to its left if that scores more. Returns the
    number of runs.
    """
    query_starts, reference_starts = starts
    made, begin = 0, offsets[0]
    for row in range(offsets.size - 1):
        last, first = offsets[row + 1], made
        q, r = query_starts[row], reference_starts[row]
        for i in range(begin, last):
            run = cigar[i]
            operation, length = run & 15, int(run >> 4)
            if operation != MATCH and made - first > 1 and cigar[made - 1] & 15 == MATCH:
                between, before = int(cigar[made - 1] >> 4), int(cigar[made - 2] >> 4)
                if cigar[made - 2] & 15 == operation and between <= MAX_BETWEEN:
                    on_query, on_reference = operation == INSERTION, operation == DELETION
                    low_q, low_r = q - between - before * on_query, r - between - before * on_reference
                    now = matches_of(sequences, q - between, r - between, between, costs)
                    now -= cost_of_gap(before, gaps) + cost_of_gap(length, gaps)
                    whole = before + length
                    right = matches_of(
                        sequences, low_q + whole * on_query, low_r + whole * on_reference, between, costs
                    )
                    left = matches_of(sequences, low_q, low_r, between, costs)
                    if max(left, right) - cost_of_gap(whole, gaps) > now:
                        q, r = q + length * on_query, r + length * on_reference
                        if right >= left:
                            cigar[made - 2] += run - operation
                            continue
                        if made - first > 2:  # aligned bases precede the gap
                            cigar[made - 3] += cigar[made - 1] - MATCH
                            cigar[made - 2] += run - operation
                            made -= 1
                        else:
                            cigar[made - 2], cigar[made - 1] = cigar[made - 1], cigar[made - 2] + run - operation
                        continue
            if operation == MATCH and made > first and cigar[made - 1] & 15 == MATCH:
                cigar[made - 1] += run - operation
            else:
                cigar[made] = run
                made += 1
            q, r = q + length * (operation != DELETION), r + length * (operation != INSERTION)
        begin, offsets[row + 1] = last, made
    return made


@kernel
def put_left(queries, references, offsets, cigar):
    """Move each gap between two runs of M left as far as the score stays equal, keeping one base of M before it."""
    (bases, query_starts), (packed, reference_starts) = queries, references
    for chain in range(offsets.size - 1):
        q, r = query_starts[chain], reference_starts[chain]
        for i in range(offsets[chain], offsets[chain + 1]):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            if operation == MATCH:
                q, r = q + length, r + length
                continue
            if offsets[chain] < i < offsets[chain + 1] - 1:
                most = np.int64(cigar[i - 1] >> 4) - 1 if cigar[i - 1] & 15 == MATCH else np.int64(0)
                most = most if cigar[i + 1] & 15 == MATCH else np.int64(0)
                moved = np.int64(0)
                while moved < most:
                    if operation == INSERTION:
                        is_alike = bases[q - 1 - moved] == bases[q + length - 1 - moved]
                    else:
                        is_alike = reference_code(packed, r - 1 - moved) == reference_code(
                            packed, r + length - 1 - moved
                        )
                    if not is_alike:
                        break
                    moved += 1
                cigar[i - 1] -= np.uint32(moved << 4)
                cigar[i + 1] += np.uint32(moved << 4)
                q, r = q - moved, r - moved
            q, r = q + length * (operation == INSERTION), r + length * (operation == DELETION)
