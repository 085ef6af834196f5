"""Alignments break where what lies between two anchors fits badly, as beside an inversion."""

import numpy as np
from numpy import ndarray

from readwarp.align.long.cut import PIECE, Cut
from readwarp.align.long.laid import Laid
from readwarp.pairwise.pairs import Costs


def find_breaks(cut: Cut, score: ndarray, costs: Costs, max_drop: int) -> ndarray:
    """bool [pieces]: whose score (int32) is below -max_drop, the cost of their difference in length left out."""
    difference = np.abs(cut.reference_length - cut.query_length)
    gap = np.where(difference > 0, costs.gap_open + difference * costs.gap_extend, 0)
    return np.asarray(score + gap < -max_drop)


def break_chains(laid: Laid, cut: Cut, is_break: ndarray) -> tuple[Laid, Cut, ndarray]:
    """The chains in parts that end before such a piece and go on after it; the chain of each part (int64 [parts]).

    The piece is the last run of the part before it, and to be left out there.
    """
    rows = np.flatnonzero((cut.runs & 15) == PIECE)
    rows = rows[is_break[cut.runs[rows] >> 4]]
    piece = cut.runs[rows] >> 4
    offsets = np.sort(np.concatenate((cut.run_offsets, rows + 1)))
    chain = np.searchsorted(cut.run_offsets, offsets[:-1], side="right") - 1
    parts = Laid(*(column[chain] for column in laid))
    after = np.searchsorted(offsets, rows + 1)
    before = after - 1
    start = parts.start[after]
    parts.query_start[after] = cut.query_start[piece] + cut.query_length[piece] - start
    parts.query_stop[before] = cut.query_start[piece] - start
    parts.reference_start[after] = cut.reference_start[piece] + cut.reference_length[piece]
    parts.reference_stop[before] = cut.reference_start[piece]
    return parts, cut._replace(run_offsets=offsets), chain
