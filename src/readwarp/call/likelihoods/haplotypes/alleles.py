"""Make haplotypes of the alleles in alignments: find the fragments that show them, and the ways through them.

The alleles of a region are its choices: each has a bit, which is set in the ways that take it.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions, Sites
from readwarp.call.candidates.pileup import MAX_SHIFT, rotate
from readwarp.call.likelihoods.haplotypes import MARGIN, MAX_FORKS, MAX_LONGER
from readwarp.call.likelihoods.haplotypes.drafts import NOT_ASKED, add_draft
from readwarp.call.likelihoods.haplotypes.ways import (
    NO_WAY,
    ONE,
    RegionReads,
    Seen,
    Ways,
    add_way,
    bit_of,
    count_agreeing,
    new_ways,
)
from readwarp.call.reads.usable import spells
from readwarp.compiler.jit import kernel
from readwarp.formats.common.text import put_copy
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, is_match, run_of

MISSING = 4  # inserted base that stands for a deletion across the site


class Alleles(NamedTuple):
    """Alleles that make up haplotypes, sorted by `begin`; a region has the rows [low, high) of its bounds."""

    begin: Annotated[ndarray, "int64 [alleles]"]
    deleted: Annotated[ndarray, "int64 [alleles]"]  # bases deleted
    added: Annotated[ndarray, "int64 [alleles]"]  # bases added ...
    source: Annotated[ndarray, "int64 [alleles]"]  # ... and their place in `bases`
    stop: Annotated[ndarray, "int64 [alleles]"]  # end of the site
    is_asked: Annotated[ndarray, "bool [alleles]"]  # asked for by the user
    bit: Annotated[ndarray, "uint64 [alleles]"]  # bit of the ways that take it; 0: it is no choice
    bases: Annotated[ndarray, "uint8 [bases]"]


def alleles_of(sites: Sites, regions: Regions, first: int) -> tuple[Alleles, ndarray]:
    """Return the alleles of sites that a haplotype can have, and the bounds of each region's (int64 [regions, 2])."""
    number = np.diff(sites.allele_offsets)
    site = np.repeat(np.arange(number.size), number)
    size, source = np.diff(sites.inserted_offsets), sites.inserted_offsets[:-1]
    is_other = np.arange(site.size) != np.repeat(sites.allele_offsets[:-1], number)
    some = size > 0
    is_other[some] &= (size[some] > 1) | (sites.inserted[source[some]] != MISSING)
    rows = np.flatnonzero(is_other)
    alleles = Alleles(
        begin=sites.begin[site[rows]] - first,
        deleted=sites.deleted[rows].astype(np.int64),
        added=size[rows],
        source=source[rows],
        stop=sites.stop[site[rows]] - first,
        is_asked=sites.is_forced[rows],
        bit=np.zeros(rows.size, np.uint64),
        bases=sites.inserted,
    )
    bounds = [np.searchsorted(alleles.begin, limits - first) for limits in (regions.start, regions.stop)]
    return alleles, np.stack(bounds, axis=1)


class WayRoom(NamedTuple):
    """Scratch space for the alleles that reads of a region show, and for the ways through them."""

    said: Seen  # choices that each row of Groups shows
    seen: Seen
    number: Annotated[ndarray, "int64 [alleles]"]  # alleles of any region
    ways: Ways


def room_to_combine(groups: RegionReads, bounds: ndarray) -> WayRoom:
    rows, fragments = groups.read.size, int(groups.fragment_offsets[-1])
    said, seen = (Seen(*np.empty((2, number), np.uint64)) for number in (rows, fragments))
    return WayRoom(said, seen, np.empty(int(np.diff(bounds).max(initial=0)), np.int64), new_ways())


@kernel
def combine(groups, alleles, bounds, spans, reads, window, room, drafts):
    """Add the haplotypes of each group's alleles to the drafts. bounds: of `alleles_of`."""
    for g in range(groups.region.size):
        region = groups.region[g]
        low, high = bounds[region, 0], bounds[region, 1]
        drafts.is_full[region] |= choose(low, high, g, groups, alleles, reads, window, room)
        look(low, high, g, groups, alleles, reads, window, room.said)
        unite_reads(g, groups, room)
        shown = room.seen.shown[groups.fragment_offsets[g] : groups.fragment_offsets[g + 1]]
        known = room.seen.known[groups.fragment_offsets[g] : groups.fragment_offsets[g + 1]]
        found, is_full = combine_alleles(low, high, alleles, shown, known, spans.rarest[region], room.ways)
        drafts.is_full[region] |= is_full
        taken = np.uint64(0)
        for w in range(found):
            if room.ways.support[w] != NO_WAY:
                taken |= room.ways.bits[w]
                stop = spell(low, high, room.ways.bits[w], region, alleles, spans, window, drafts)
                add_draft(drafts, region, stop, room.ways.support[w], NOT_ASKED)
        for i in range(low, high):
            if alleles.is_asked[i] or not taken & alleles.bit[i]:
                support = np.int64(0)
                for f in range(shown.size):
                    support += 1 if shown[f] & alleles.bit[i] else 0
                alleles.bit[i] = ONE
                stop = spell(i, i + 1, ONE, region, alleles, spans, window, drafts)
                add_draft(drafts, region, stop, support, i if alleles.is_asked[i] else NOT_ASKED)


@kernel
def choose(low, high, g, groups, alleles, reads, window, room):
    """Assign the bits of a region's choices to its alleles, in order; return whether an allele shown is left out.

    If so, MAX_FORKS are chosen: first those that nobody asked for, then those that most reads of the group show.
    """
    if high - low <= MAX_FORKS:
        for i in range(low, high):
            alleles.bit[i] = bit_of(i - low)
        return False
    begin, end = groups.read_offsets[g], groups.read_offsets[g + 1]
    for first in range(low, high, MAX_FORKS):
        stop = min(high, first + MAX_FORKS)
        for i in range(first, stop):
            alleles.bit[i] = bit_of(i - first)
        look(first, stop, g, groups, alleles, reads, window, room.said)
        for i in range(first, stop):
            room.number[i - low] = 0 if alleles.is_asked[i] else end - begin + 1
            for r in range(begin, end):
                room.number[i - low] += 1 if room.said.shown[r] & alleles.bit[i] else 0
    for _ in range(MAX_FORKS):
        best = 0
        for i in range(high - low):
            best = i if room.number[i] > room.number[best] else best
        room.number[best] = -1
    chosen, is_lost = 0, False
    for i in range(low, high):
        is_chosen = room.number[i - low] < 0
        alleles.bit[i] = bit_of(chosen) if is_chosen else np.uint64(0)
        chosen += is_chosen
        is_lost |= not is_chosen and room.number[i - low] % (end - begin + 1) > 0
    return is_lost


@kernel
def unite_reads(g, groups, room):
    """Combine the reads of each fragment of a group; a fragment is uninformative where they disagree."""
    shown, known = room.seen.shown, room.seen.known
    for f in range(groups.fragment_offsets[g], groups.fragment_offsets[g + 1]):
        shown[f], known[f] = np.uint64(0), np.uint64(0)
    for r in range(groups.read_offsets[g], groups.read_offsets[g + 1]):
        f = groups.fragment[r]
        differs = known[f] & room.said.known[r] & (shown[f] ^ room.said.shown[r])
        shown[f], known[f] = (shown[f] | room.said.shown[r]) & ~differs, (known[f] | room.said.known[r]) & ~differs


@kernel
def look(low, high, g, groups, alleles, reads, window, said):
    """Set what each read of a group, cut to its bases, shows of the alleles [low, high)."""
    for r in range(groups.read_offsets[g], groups.read_offsets[g + 1]):
        read, first = groups.read[r], groups.base_start[r]
        stop = groups.base_stop[r]
        shown = known = more_shown = more_known = np.uint64(0)
        p, q = reads.position[read] - window.first, reads.read_offsets[read]
        is_inside, (left, right) = False, (p, p)  # [left, right): where the bases [first, stop) are aligned
        for c in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
            operation, length, on_reference, on_read = run_of(reads.cigar[c])
            if is_match(operation) and q + length > first and q < stop:
                left = left if is_inside else p + max(0, first - q)
                is_inside, right = True, p + min(length, stop - q)
                bases = max(q, first), min(q + length, stop)
                more_shown, more_known = look_at_bases(low, high, alleles, bases, q - p, reads)
            elif operation in (INSERTION, DELETION) and first <= q <= stop and is_inside:
                more_shown, more_known = look_at_gap(low, high, alleles, reads.cigar[c], p, q, reads, window)
            if operation == SKIP and is_inside:
                break
            shown, known = shown | more_shown, known | more_known
            p, q = p + on_reference, q + on_read
        for i in range(low, high):
            is_gap = (alleles.deleted[i] == 0) != (alleles.added[i] == 0)  # a CIGAR cannot show both at once
            if is_inside and is_gap and left + MARGIN <= alleles.begin[i] and alleles.stop[i] + MARGIN <= right:
                known |= alleles.bit[i]
        said.shown[r], said.known[r] = shown, known


@kernel
def look_at_bases(low, high, alleles, aligned, ahead, reads):
    """Return the substitutions that aligned bases (first, stop) show and know; they lie `ahead` of their positions."""
    begin, deleted, added, source, _, _, bit, own = alleles
    shown, known = np.uint64(0), np.uint64(0)
    first, stop = aligned
    for i in range(low, high):
        place = begin[i] + ahead
        if deleted[i] != 1 or added[i] != 1 or not first <= place < stop:
            continue
        if spells(reads.bases[place], reads.qualities[place]):
            known |= bit[i]
            if reads.bases[place] == own[source[i]]:
                shown |= bit[i]
    return shown, known


@kernel
def look_at_gap(low, high, alleles, run, p, q, reads, window):
    """Return what an insertion or deletion of a CIGAR, at position p and base q, shows and knows."""
    added = alleles.added
    operation, length, on_reference, on_read = run_of(run)
    shown = known = np.uint64(0)
    for i in range(low, high):
        if alleles.deleted[i] == added[i] == 1:
            if operation == DELETION and p <= alleles.begin[i] < p + length:
                known |= alleles.bit[i]
            continue
        is_alike = alleles.deleted[i] == on_reference and added[i] == on_read and 0 <= p - alleles.begin[i] <= MAX_SHIFT
        if is_alike and is_event(alleles, i, operation, p, q, reads.bases, window.bases):
            shown |= alleles.bit[i]
            known |= alleles.bit[i]
    return shown, known


@kernel
def is_event(alleles, i, operation, p, q, bases, reference):
    """Return whether a CIGAR's indel of the size of allele i is that allele once left-aligned."""
    begin, deleted = alleles.begin[i], alleles.deleted[i]
    added = alleles.added[i]
    source, own = alleles.source[i], alleles.bases
    for k in range(p - begin):
        gone = reference[p - 1 - k]
        last = reference[p - 1 - k + deleted] if operation == DELETION else bases[q + rotate(added - 1, k, added)]
        if gone != last:
            return False
    same = True
    for k in range(added):
        same &= bases[q + rotate(k, p - begin, added)] == own[source + k]
    return same


@kernel
def combine_alleles(low, high, alleles, shown, known, rarest, ways):
    """Fill the ways through the alleles [low, high); return their number, and whether some were left out.

    shown, known, rarest: see `count_agreeing`.
    """
    bits, place, support = ways
    bits[0], place[0] = 0, 0
    support[0] = shown.size
    found, is_full = np.int64(1), False
    before = np.uint64(0)
    for i in range(low, high):
        choice = alleles.bit[i]
        is_shown = False
        for f in range(shown.size):
            is_shown |= shown[f] & choice != 0
        if not is_shown:
            continue
        for w in range(found):
            if support[w] == NO_WAY or place[w] > i:
                continue
            way, so_far = bits[w], support[w]
            without = count_agreeing(shown, known, rarest, before, choice, way)
            taken = np.int64(NO_WAY)
            if is_possible(low, i, alleles, way):
                taken = count_agreeing(shown, known, rarest, before, choice, way | choice)
            support[w] = NO_WAY
            if without != NO_WAY:
                support[w] = min(so_far, without)
            if taken != NO_WAY:
                found, is_lost = add_way(ways, found, way | choice, i + 1, min(so_far, taken))
                is_full |= is_lost
        before = choice
    return found, is_full


@kernel
def is_possible(low, i, alleles, way):
    """Return whether allele i overlaps none of the way's alleles, which are in [low, i) and start no further right."""
    begin = alleles.begin
    for j in range(low, i):
        if way & alleles.bit[j]:
            are_gaps = alleles.deleted[i] != alleles.added[i] and alleles.deleted[j] != alleles.added[j]
            if begin[i] < begin[j] + alleles.deleted[j] or (are_gaps and begin[i] == begin[j]):
                return False
    return True


@kernel
def spell(low, high, way, region, alleles, spans, window, drafts):
    """Write the haplotype of the alleles [low, high) that the way takes, after the last draft.

    Returns the end of its bases; -1 if it is too long or reaches beyond the span.
    """
    begin, deleted, added, source, _, _, bit, own = alleles
    longer = 0
    place, p = drafts.used[1], spans.low[region]
    last = spans.high[region]
    for i in range(low, high):
        longer += added[i] if way & bit[i] else 0
    if longer > MAX_LONGER:
        return np.int64(-1)
    for i in range(low, high):
        if way & bit[i]:
            if begin[i] < p or begin[i] + deleted[i] > last:
                return np.int64(-1)
            place = put_copy(window.bases, p, begin[i], drafts.bases, place)
            place = put_copy(own, source[i], source[i] + added[i], drafts.bases, place)
            p = begin[i] + deleted[i]
    return put_copy(window.bases, p, last, drafts.bases, place)
