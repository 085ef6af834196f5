"""Breaks of alignments, where a piece between two anchors fits badly or another chain explains it: an inversion.

A piece is a break if its table exceeds MAX_CELLS; if it scores below -max_drop, not counting the cost of its difference
in length; or if it scores below 0 by that measure and another chain of the read lies there: the two share at least half
of each.
"""

import numpy as np
from numpy import ndarray

from readwarp.align.long.cut import PIECE, CutChains, LaidAlignments
from readwarp.align.places import turned
from readwarp.compiler.jit import kernel
from readwarp.pairwise.pairs import Costs

MAX_CELLS = 1 << 25  # cells in the table of a piece: 5,000 bases against 6,700


def fits(cut: CutChains) -> ndarray:
    """Tell which pieces have a small enough table: bool [pieces]."""
    return np.asarray(cut.query_length * cut.reference_length <= MAX_CELLS)


def find_breaks(
    laid: LaidAlignments, read: ndarray, cut: CutChains, score: ndarray, costs: Costs, max_drop: int
) -> ndarray:
    """Find the breaks: bool [pieces]. read (int64 [chains]): of each chain; score (int32): of pieces that fit."""
    difference = np.abs(cut.reference_length - cut.query_length)
    score = score + np.where(difference > 0, costs.gap_open + difference * costs.gap_extend, 0)
    is_break = ~fits(cut) | (score < -max_drop)
    explain(laid, read, cut, score < 0, is_break)
    return is_break


@kernel
def explain(laid, read, cut, is_bad, is_break):
    """Mark in `is_break` bad pieces within which another chain of the read lies."""
    first = 0
    for chain in range(read.size):
        while read[first] != read[chain]:
            first += 1
        last = chain + 1
        while last < read.size and read[last] == read[chain]:
            last += 1
        if last - first == 1:
            continue
        for row in range(cut.run_offsets[chain], cut.run_offsets[chain + 1]):
            piece = np.int64(cut.runs[row] >> 4)
            if cut.runs[row] & 15 != PIECE or not is_bad[piece] or is_break[piece]:
                continue
            low = cut.query_start[piece] - laid.start[chain]
            high = low + cut.query_length[piece]
            for other in range(first, last):
                is_turned = laid.strand[other] != laid.strand[chain]
                begin, end = turned(
                    laid.query_start[other], laid.query_stop[other], laid.query_length[chain], is_turned
                )
                shared = 2 * (min(high, end) - max(low, begin))
                if other != chain and shared >= high - low and shared >= end - begin:
                    is_break[piece] = True


def break_chains(laid: LaidAlignments, cut: CutChains, is_break: ndarray) -> tuple[LaidAlignments, CutChains, ndarray]:
    """Split chains before and after each break; also return the chain of each part (int64 [parts]).

    The break is the last run of the part before it, to be left out there.
    """
    rows = np.flatnonzero((cut.runs & 15) == PIECE)
    rows = rows[is_break[cut.runs[rows] >> 4]]
    piece = cut.runs[rows] >> 4
    offsets = np.sort(np.concatenate((cut.run_offsets, rows + 1)))
    chain = np.searchsorted(cut.run_offsets, offsets[:-1], side="right") - 1
    parts = LaidAlignments(*(column[chain] for column in laid))
    after = np.searchsorted(offsets, rows + 1)
    before = after - 1
    start = parts.start[after]
    parts.query_start[after] = cut.query_start[piece] + cut.query_length[piece] - start
    parts.query_stop[before] = cut.query_start[piece] - start
    parts.reference_start[after] = cut.reference_start[piece] + cut.reference_length[piece]
    parts.reference_stop[before] = cut.reference_start[piece]
    return parts, cut._replace(run_offsets=offsets), chain
