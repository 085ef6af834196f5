"""Haplotypes while they are made."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import Regions
from readwarp.device.jit import kernel

NOT_ASKED = np.int64(-1)


class Spans(NamedTuple):
    """Where regions lie; in this room positions count from the first base of the window."""

    start: Annotated[ndarray, "int64 [regions]"]  # variants begin in [start, stop)
    stop: Annotated[ndarray, "int64 [regions]"]
    low: Annotated[ndarray, "int64 [regions]"]  # haplotypes span [low, high)
    high: Annotated[ndarray, "int64 [regions]"]
    known_low: Annotated[ndarray, "int64 [regions]"]  # the part without N around the region, which is assembled; ...
    known_high: Annotated[ndarray, "int64 [regions]"]  # ... empty where the region itself has one

    def __len__(self) -> int:
        return self.start.size


class Drafts(NamedTuple):
    """Haplotypes of regions in any order, and room for more."""

    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    base_offsets: Annotated[ndarray, "int64 [drafts + 1] of bases"]
    region: Annotated[ndarray, "int64 [drafts]"]
    support: Annotated[ndarray, "int64 [drafts]"]
    asked: Annotated[ndarray, "int64 [drafts]"]  # the allele asked for that alone makes it, or NOT_ASKED
    used: Annotated[ndarray, "int64 [2]"]  # drafts and bases that there are
    reference_support: Annotated[ndarray, "int64 [regions]"]  # of the reference's haplotype
    is_full: Annotated[ndarray, "bool [regions]"]  # some were left out

    def __len__(self) -> int:
        return self.region.size


def spans_of(regions: Regions, bases: ndarray, first: int) -> Spans:
    start, stop, low, high = (column - first for column in (regions.start, regions.stop, regions.low, regions.high))
    bounds = np.concatenate(([-1], np.flatnonzero(bases > 3), [bases.size]))  # of stretches without N
    before = np.searchsorted(bounds, start) - 1
    known_low, known_high = np.maximum(low, bounds[before] + 1), np.minimum(high, bounds[before + 1])
    return Spans(start, stop, low, high, known_low, np.where(stop <= bounds[before + 1], known_high, known_low))


def new_drafts(drafts: int, bases: int, reference_support: ndarray, is_full: ndarray) -> Drafts:
    """Room for that many."""
    return Drafts(
        bases=np.empty(bases, np.uint8),
        base_offsets=np.zeros(drafts + 1, np.int64),
        region=np.empty(drafts, np.int64),
        support=np.empty(drafts, np.int64),
        asked=np.empty(drafts, np.int64),
        used=np.zeros(2, np.int64),
        reference_support=reference_support,
        is_full=is_full,
    )


@kernel
def copy(source, first, stop, out, place):
    """Copy source[first:stop] to `out`, from `place` on; returns the place after it."""
    for i in range(first, stop):
        out[place + i - first] = source[i]
    return place + stop - first


@kernel
def add_draft(drafts, region, stop, support, asked):
    """Add the draft whose bases, up to `stop`, were written after those of the draft before."""
    row = drafts.used[0]
    drafts.region[row], drafts.support[row], drafts.asked[row] = region, support, asked
    drafts.base_offsets[row + 1] = stop
    drafts.used[0], drafts.used[1] = row + 1, stop


@kernel
def is_equal(bases, first, size, other, begin, length):
    """Whether bases [first, first + size) are those of `other` [begin, begin + length)."""
    if size != length:
        return False
    same = True
    for i in range(size):
        same &= bases[first + i] == other[begin + i]
    return same


@kernel
def unite(drafts, order, spans, reference):
    """The drafts that differ from the reference's span and from drafts before them, in `order` (drafts by region).

    Of equal drafts the first one stays, with the greatest support.
    """
    bases, offsets, region, support = drafts.bases, drafts.base_offsets, drafts.region, drafts.support
    reference_support, low, high = drafts.reference_support, spans.low, spans.high
    stays = np.zeros(order.size, np.bool_)
    begin = 0
    for i in range(order.size):
        row = order[i]
        g, first, size = region[row], offsets[row], offsets[row + 1] - offsets[row]
        if region[order[begin]] != g:
            begin = i
        stays[i] = True
        if is_equal(bases, first, size, reference, low[g], high[g] - low[g]):
            stays[i] = False
            reference_support[g] = max(reference_support[g], support[row])
        for j in range(begin, i):
            other = order[j]
            length = offsets[other + 1] - offsets[other]
            if stays[i] and stays[j] and is_equal(bases, first, size, bases, offsets[other], length):
                stays[i] = False
                support[other] = max(support[other], support[row])
    return order[stays]


@kernel
def comes_before(drafts, one, other):
    """Whether a draft has more support than another of its region, or the same and a smaller sequence."""
    bases, offsets, support = drafts.bases, drafts.base_offsets, drafts.support
    if support[one] != support[other]:
        return support[one] > support[other]
    size, length = offsets[one + 1] - offsets[one], offsets[other + 1] - offsets[other]
    for i in range(min(size, length)):
        mine, its = bases[offsets[one] + i], bases[offsets[other] + i]
        if mine != its:
            return mine < its
    return size < length


@kernel
def rank(drafts, order, max_drafts):
    """The drafts of each region in their final order: all that are asked for, and at most `max_drafts` others."""
    region, asked, is_full = drafts.region, drafts.asked, drafts.is_full
    ranked, best, number, begin = order.copy(), order.copy(), 0, 0
    while begin < order.size:
        g, stop = region[order[begin]], begin
        while stop < order.size and region[order[stop]] == g:
            place = stop
            while place > begin and comes_before(drafts, order[stop], ranked[place - 1]):
                ranked[place] = ranked[place - 1]
                place -= 1
            ranked[place] = order[stop]
            stop += 1
        room = np.int64(max_drafts)
        for i in range(begin, stop):
            is_other = asked[ranked[i]] == NOT_ASKED
            if is_other and room == 0:
                is_full[g] = True
                continue
            best[number] = ranked[i]
            number, room = number + 1, room - is_other
        begin = stop
    return best[:number].copy()
