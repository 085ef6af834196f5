"""The rules of the recurrence, written once: constants of a row, scales, and when float32 is not enough."""

import math

from readwarp.device.jit import scalar

UNKNOWN, BEYOND = 4, 5  # codes of a haplotype's base: not known; behind its end
BEFORE = 6  # code of a read's base in a row before the read
UNINFORMATIVE = 2  # a base of lower quality than this says nothing
LEAST_OPEN = 4  # a lower Phred of a gap's opening counts as this: 1 - 2 * open must stay above 0
FROM_UNKNOWN = 0.25  # P(base | unknown base of the haplotype)

# Columns of a row's constants; see the contract.
SAME, OTHER, FROM_N, INSERTED, DELETED, INSERTION_STAYS, DELETION_STAYS, FLOOR = range(8)
COLUMNS = 8

SCALE_BITS = {4: 110, 8: 900}  # of float32 and float64: the first row holds 2 ** bits / haplotype length in each column
FLOOR_BITS = {4: -126, 8: -1022}  # 2 ** bits is added to each M: nothing becomes subnormal, which would be slow
MARGIN_BITS = 17  # a result is good where it is above floor * cells * 2 ** bits


@scalar
def emissions(error, quality, base):
    """P(read base | base of the haplotype), where that is the same, another, and unknown."""
    if quality < UNINFORMATIVE or base >= UNKNOWN:
        return 1.0, 1.0, 1.0
    return 1.0 - error, error / 3.0, FROM_UNKNOWN


@scalar
def transitions(opening, extending, opening_before):
    """(what X and Y give to the next row's M, what X gives to the next row's X).

    X counts in units of the opening behind the base before, Y in units of the one behind this base; what they give to
    M is in units of M to M.
    """
    straight = 1.0 - 2.0 * opening
    closing = (1.0 - extending) / straight
    return opening_before * closing, opening * closing, extending * opening_before / opening


@scalar
def row_constants(error, quality, base, opening, extending, opening_before, is_first, is_last):
    """A row's constants but FLOOR, in the order of their columns; s of the row above is part of the emissions."""
    same, other, from_n = emissions(error, quality, base)
    inserted, deleted, stays = transitions(opening, extending, opening_before)
    if is_last:
        inserted, deleted = opening_before, 0.0
    if not is_first:
        before = 1.0 - 2.0 * opening_before
        same, other, from_n = same * before, other * before, from_n * before
    return same, other, from_n, inserted, deleted, stays, extending


@scalar
def is_enough(total, cells, least):
    """Whether a sum is finite, and so large that the floor, or what was rounded off below it, cannot matter."""
    return least * cells <= total < math.inf
