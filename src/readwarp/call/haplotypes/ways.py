"""Ways through choices: the rule that assembly and alleles share. See the step's contract.

A way and what a fragment knows are sets of bits (uint64): `shown` and `known`, the bits of lower choices being to the
left of those of higher ones.
"""

import numpy as np

from readwarp.call.haplotypes import RAREST
from readwarp.device.jit import kernel

NO_WAY = -1


@kernel
def agreement(shown, known, fragments, before, choice, way):
    """Fragments that agree with the `way` on all choices up to this one; NO_WAY if they are too few to go on.

    `before` and `choice`: the bits of the last choice and of this one, `before` 0 for none. Where no fragment knows
    both, those that agree with this choice alone.
    """
    upto = choice | (choice - np.uint64(1))
    linked, agreeing, alone = 0, 0, 0
    for f in range(fragments):
        if known[f] & choice:
            differs = (shown[f] ^ way) & known[f]
            alone += differs & choice == 0
            if before == 0 or known[f] & before:
                linked += 1
                agreeing += differs & upto == 0
    if linked == 0:
        return alone
    return agreeing if agreeing >= 1 + linked // RAREST else NO_WAY


@kernel
def add_way(ways, number, way, place, least):
    """Add a way, in place of the one with the smallest support (the last of equal ones) where there is no more room.

    `ways`: the ways, where each goes on, its support. Returns (number of ways, whether one was left out).
    """
    way_of, places, support = ways
    row, is_lost = number, False
    if number == way_of.size:
        row = 0
        for i in range(number):
            row = i if support[i] <= support[row] else row
        is_lost = support[row] != NO_WAY
    if row == number or support[row] < least:
        way_of[row], places[row], support[row] = way, place, least
    return min(number + 1, way_of.size), is_lost
