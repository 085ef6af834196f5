"""Rules of the recurrence, written once: row constants, precisions, and when a sum is accurate."""

import math
from typing import Any, NamedTuple

import numpy as np

from readwarp.call.reads.usable import INFORMATIVE
from readwarp.compiler.jit import scalar

UNKNOWN, BEYOND = 4, 5  # codes of a haplotype's base: unknown; past its end
BEFORE = 6  # code of a read's base in the rows before the read
MIN_OPEN = 4  # lowest Phred of a gap's opening: 1 - 2 * open must stay above 0
FROM_UNKNOWN = 0.25  # P(base | unknown base of the haplotype)
PROBABILITY = 10.0 ** (-0.1 * np.arange(256))  # P(error) by Phred

# Columns of row constants; see the contract.
SAME, OTHER, FROM_N, INSERTED, DELETED, INSERTION_STAYS, DELETION_STAYS, FLOOR = range(8)
COLUMNS = 8

MARGIN_BITS = 17  # a sum is accurate above floor * cells * 2 ** bits


class Precision(NamedTuple):
    """Number format and limits of sums."""

    number: Any  # dtype of sums
    symbol: Any  # integers of the same width, in which CPU lanes compare bases
    scale_bits: int  # the first row holds 2 ** bits / haplotype length in each column
    floor_bits: int  # 2 ** bits is added to each M to avoid subnormals, which are slow
    codes: int  # haplotype bases that the card distinguishes: 4, or 5 with the unknown one
    rows: tuple[int, ...]  # possible rows of a thread of the card

    def __str__(self) -> str:
        return f"{__name__}:{np.dtype(self.number).name.upper()}"  # where it is found

    @property
    def scale(self) -> float:
        return 2.0**self.scale_bits

    @property
    def floor(self) -> float:
        return 2.0**self.floor_bits

    @property
    def min_per_cell(self) -> float:
        """Return the least value of an accurate sum per cell."""
        return 2.0 ** (self.floor_bits + MARGIN_BITS)


FLOAT32 = Precision(np.float32, np.int32, scale_bits=110, floor_bits=-126, codes=4, rows=(8, 12, 16, 20))
FLOAT64 = Precision(np.float64, np.int64, scale_bits=900, floor_bits=-1022, codes=5, rows=(8, 10))


@scalar
def emissions(error, quality, base):
    """Return P(read base | haplotype base) where that is the same, another one, or unknown."""
    if quality < INFORMATIVE or base >= UNKNOWN:
        return 1.0, 1.0, 1.0
    return 1.0 - error, error / 3.0, FROM_UNKNOWN


@scalar
def transitions(opening, extending, opening_before):
    """Return the factors of X and of Y in the next row's M, and of X in the next row's X.

    X is in units of the opening after the previous base, Y in units of the one after this base; M's factors are in M's
    own units.
    """
    straight = 1.0 - 2.0 * opening
    closing = (1.0 - extending) / straight
    return opening_before * closing, opening * closing, extending * opening_before / opening


@scalar
def row_constants(bases, qualities, gap_open, gap_extend, probability, i, begin, stop):
    """Return the constants, without FLOOR, of the row of base i of the read [begin, stop), in column order.

    probability: PROBABILITY, on the host or on a card. s of the row above is part of the emissions.
    """
    opening, extending = probability[max(gap_open[i], MIN_OPEN)], probability[gap_extend[i]]
    opening_before = probability[max(gap_open[max(i - 1, begin)], MIN_OPEN)]
    same, other, from_n = emissions(probability[qualities[i]], qualities[i], bases[i])
    inserted, deleted, stays = transitions(opening, extending, opening_before)
    if i + 1 == stop:
        inserted, deleted = opening_before, 0.0
    if i != begin:
        before = 1.0 - 2.0 * opening_before
        same, other = same * before, other * before
        from_n = from_n * before
    return same, other, from_n, inserted, deleted, stays, extending


@scalar
def is_enough(total, cells, min_per_cell):
    """Return whether a sum is finite, and so large that neither the floor nor the bits rounded off below it matter."""
    return (min_per_cell * cells <= total) & (total < math.inf)
