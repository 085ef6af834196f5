"""Ways through choices: the rule that assembly and alleles share. See the step's contract.

A way is a set of bits (uint64), and so is what a fragment shows or knows; lower bits are choices further to the left.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.haplotypes import MAX_WAYS, RAREST
from readwarp.device.jit import kernel

NO_WAY = -1  # as a support
ONE = np.uint64(1)


class Seen(NamedTuple):
    """What the fragments of a region and sample say about its choices."""

    shown: Annotated[ndarray, "uint64 [fragments]"]  # what they show ...
    known: Annotated[ndarray, "uint64 [fragments]"]  # ... of what they show whether or not


class Ways(NamedTuple):
    """The ways that are open."""

    bits: Annotated[ndarray, "uint64 [ways]"]
    place: Annotated[ndarray, "int64 [ways]"]  # the choice where each goes on
    support: Annotated[ndarray, "int64 [ways]"]  # NO_WAY: it ended


@kernel
def new_ways():
    return Ways(np.empty(MAX_WAYS, np.uint64), np.empty(MAX_WAYS, np.int64), np.empty(MAX_WAYS, np.int64))


@kernel
def bit_of(i):
    return ONE << np.uint64(i)


@kernel
def count_agreeing(seen, before, choice, way):
    """Fragments that agree with the `way` on all choices up to this one; NO_WAY if they are too few to go on.

    `before` and `choice`: the bits of the last choice and of this one, `before` 0 for none. Where no fragment knows
    both, those that agree with this choice alone.
    """
    shown, known, upto = seen.shown, seen.known, choice | (choice - ONE)
    linked, agreeing, alone = 0, 0, 0
    for f in range(shown.size):
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
def add_way(ways, number, way, place, support):
    """Add a way, in place of the one with the smallest support (the last of equal ones) where there is no more room.

    Returns (number of ways, whether one was left out).
    """
    bits, places, supports = ways
    row, is_lost = number, False
    if number == bits.size:
        row = 0
        for i in range(number):
            row = i if supports[i] <= supports[row] else row
        is_lost = supports[row] != NO_WAY
    if row == number or supports[row] < support:
        bits[row], places[row], supports[row] = way, place, support
    return min(number + 1, bits.size), is_lost
