"""Group reads into fragments, and apply the rule for ways through choices, of graphs and of alleles; see the contract.

A way is a set of bits (uint64), and so is what a fragment shows or knows. Lower bits are choices further left.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions
from readwarp.call.likelihoods.haplotypes import MAX_WAYS
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import empty, offsets_of

NO_WAY = -1  # value of a support
ONE = np.uint64(1)


class RegionReads(NamedTuple):
    """Reads of each region, all of one sample, with the reads of one fragment (one name) side by side."""

    region: Annotated[ndarray, "int64 [groups]"]  # ascending
    read_offsets: Annotated[ndarray, "int64 [groups + 1] of rows"]
    fragment_offsets: Annotated[ndarray, "int64 [groups + 1] of fragments"]
    read: Annotated[ndarray, "int32 [rows]"]  # index in AlignedReads
    fragment: Annotated[ndarray, "int64 [rows]"]  # number of its fragment, ascending
    base_start: Annotated[ndarray, "int64 [rows]"]  # see Regions
    base_stop: Annotated[ndarray, "int64 [rows]"]


def group_reads(regions: Regions, reads: AlignedReads) -> RegionReads:
    """Make a group of each region."""
    own = np.repeat(np.arange(len(regions)), np.diff(regions.read_offsets))
    name = reads.name_hash[regions.read]
    order = np.lexsort((name, own))
    own, name = own[order], name[order]
    is_new = np.ones(order.size, bool)
    is_new[1:] = (name[1:] != name[:-1]) | (own[1:] != own[:-1])
    return RegionReads(
        region=np.arange(len(regions)),
        read_offsets=regions.read_offsets,
        fragment_offsets=offsets_of(is_new)[regions.read_offsets],
        read=regions.read[order],
        fragment=np.cumsum(is_new) - 1,
        base_start=regions.base_start[order],
        base_stop=regions.base_stop[order],
    )


class Seen(NamedTuple):
    """Choices of a group that its fragments, or single reads, cover and show."""

    shown: Annotated[ndarray, "uint64 [fragments]"]  # choices that each shows ...
    known: Annotated[ndarray, "uint64 [fragments]"]  # ... among those that it covers


class Ways(NamedTuple):
    """Open ways."""

    bits: Annotated[ndarray, "uint64 [ways]"]
    place: Annotated[ndarray, "int64 [ways]"]  # next choice of each
    support: Annotated[ndarray, "int64 [ways]"]  # NO_WAY: it has ended


def new_ways() -> Ways:
    return empty(Ways, {"ways": MAX_WAYS})


@kernel
def bit_of(i):
    return ONE << np.uint64(i)


@kernel
def count_agreeing(shown, known, rarest, before, choice, way):
    """Count the fragments that agree with the `way` on all choices up to this one; NO_WAY if there are too few.

    shown, known: of Seen, for the fragments of one group. rarest: see the step's contract. before, choice: the bits of
    the last choice (0 for none) and of this one. Where no fragment links the two, fragments count that agree with this
    choice alone.
    """
    upto = choice | (choice - ONE)
    linked = leaving = entering = agreeing = alone = 0
    for f in range(shown.size):
        if known[f] & choice:
            differs = (shown[f] ^ way) & known[f]
            alone += differs & choice == 0
            if before == 0 or known[f] & before:
                linked += 1
                leaving += differs & before == 0
                entering += differs & choice == 0
                agreeing += differs & upto == 0
    if linked == 0 or (alone > 0 and min(leaving, entering) == 0):
        return alone
    return agreeing if agreeing >= 1 + linked // rarest else NO_WAY


@kernel
def add_way(ways, number, way, place, support):
    """Add a way. Where there is no room, it replaces the way of least support (the last on a tie), if that is less.

    Returns the number of ways, and whether one was left out.
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
