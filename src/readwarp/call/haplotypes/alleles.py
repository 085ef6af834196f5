"""Haplotypes made of the alleles that alignments show: which fragments show them, and the ways through them.

The alleles of a region are its choices: bit i of a way says that allele i is taken.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import Regions, Sites
from readwarp.call.haplotypes import MARGIN, MAX_FORKS, MAX_LONGER, MIN_QUALITY
from readwarp.call.haplotypes.drafts import NOT_ASKED, add_draft, copy
from readwarp.call.haplotypes.groups import count_fragments
from readwarp.call.haplotypes.ways import NO_WAY, ONE, Seen, add_way, bit_of, count_agreeing, new_ways
from readwarp.call.pileup import MAX_SHIFT
from readwarp.call.pileup.scalar import rotate
from readwarp.device.jit import kernel, scalar
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, is_match, run_of

MISSING = 4  # an inserted base that stands for a deletion across the site


class Alleles(NamedTuple):
    """What haplotypes are made of, in order of `begin`; positions count from the window's first base."""

    begin: Annotated[ndarray, "int64 [alleles]"]
    deleted: Annotated[ndarray, "int64 [alleles]"]  # bases
    added: Annotated[ndarray, "int64 [alleles]"]  # bases, ...
    source: Annotated[ndarray, "int64 [alleles]"]  # ... from here on in `bases`
    stop: Annotated[ndarray, "int64 [alleles]"]  # of the site
    is_asked: Annotated[ndarray, "bool [alleles]"]  # by the user
    bases: Annotated[ndarray, "uint8 [bases]"]


def alleles_of(sites: Sites, regions: Regions, first: int) -> tuple[Alleles, ndarray]:
    """The alleles of sites that a haplotype can have, and those of each region (int64 [regions, 2])."""
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
        bases=sites.inserted,
    )
    bounds = [np.searchsorted(alleles.begin, limits - first) for limits in (regions.start, regions.stop)]
    return alleles, np.stack(bounds, axis=1)


@kernel
def some_of(alleles, rows):
    """Those alleles; loops compile in a fraction of the time that Numba takes for indexing by arrays."""
    out = Alleles(
        np.empty(rows.size, np.int64),
        np.empty(rows.size, np.int64),
        np.empty(rows.size, np.int64),
        np.empty(rows.size, np.int64),
        np.empty(rows.size, np.int64),
        np.empty(rows.size, np.bool_),
        alleles.bases,
    )
    for k in range(rows.size):
        i = rows[k]
        out.begin[k], out.deleted[k], out.added[k] = alleles.begin[i], alleles.deleted[i], alleles.added[i]
        out.source[k], out.stop[k], out.is_asked[k] = alleles.source[i], alleles.stop[i], alleles.is_asked[i]
    return out


@scalar
def is_simple(deleted, added):
    """A CIGAR shows substitutions, insertions and deletions, but nothing that is several of them."""
    return (deleted == 1 and added == 1) or (deleted == 0) != (added == 0)


@kernel
def combine(groups, alleles, bounds, spans, reads, window, drafts):
    """Add the haplotypes of each group's alleles to the drafts. bounds: of `alleles_of`."""
    ways = new_ways()
    for g in range(groups.region.size):
        region = groups.region[g]
        own = some_of(alleles, np.arange(bounds[region, 0], bounds[region, 1]))
        rows = choose(own, g, groups, reads, window)
        choices, bits = some_of(own, rows), np.zeros(own.begin.size, np.uint64)
        for i in range(rows.size):
            bits[rows[i]] = bit_of(i)
        seen = look_up_fragments(choices, g, groups, reads, window)
        found, is_lost = combine_alleles(choices, seen, ways)
        drafts.is_full[region] |= is_lost or rows.size < bits.size
        taken = np.uint64(0)
        for w in range(found):
            if ways.support[w] != NO_WAY:
                taken |= ways.bits[w]
                spell(region, choices, ways.bits[w], ways.support[w], NOT_ASKED, spans, window.bases, drafts)
        for i in range(bits.size):
            if own.is_asked[i] or not taken & bits[i]:
                support = np.int64(0)
                for f in range(seen.shown.size):
                    support += 1 if seen.shown[f] & bits[i] else 0
                asked = bounds[region, 0] + i if own.is_asked[i] else NOT_ASKED
                spell(region, some_of(own, np.array([i])), ONE, support, asked, spans, window.bases, drafts)


@kernel
def choose(alleles, g, groups, reads, window):
    """Which alleles of a region are its choices, in order: all, or MAX_FORKS of them.

    Those that nobody asked for come first, then those that more reads of the group show.
    """
    number = alleles.begin.size
    if number <= MAX_FORKS:
        return np.arange(number)
    shown = np.full(number, groups.read_offsets[g + 1] - groups.read_offsets[g] + 1)  # more than can show one
    for first in range(0, number, MAX_FORKS):
        some = np.arange(first, min(number, first + MAX_FORKS))
        shows, _ = look(some_of(alleles, some), g, groups, reads, window)
        for i in range(some.size):
            if alleles.is_asked[some[i]]:
                shown[some[i]] = 0
                for r in range(shows.size):
                    shown[some[i]] += 1 if shows[r] & bit_of(i) else 0
    return np.sort(np.argsort(-shown, kind="mergesort")[:MAX_FORKS])


@kernel
def look_up_fragments(alleles, g, groups, reads, window):
    """Which alleles the fragments of a group show, and of which they show whether or not.

    Where reads of one fragment disagree on an allele, it knows nothing of that.
    """
    shows, knows = look(alleles, g, groups, reads, window)
    first, fragments = groups.read_offsets[g], count_fragments(groups, g)
    shown, known = np.zeros(fragments, np.uint64), np.zeros(fragments, np.uint64)
    for r in range(shows.size):
        f = groups.fragment[first + r]
        differs = known[f] & knows[r] & (shown[f] ^ shows[r])
        shown[f], known[f] = (shown[f] | shows[r]) & ~differs, (known[f] | knows[r]) & ~differs
    return Seen(shown, known)


@kernel
def look(alleles, g, groups, reads, window):
    """(alleles that each read of a group shows, those of which it shows whether or not), by the bases it is cut to."""
    begin, deleted, added, source, end, _, own = alleles
    read_of, base_start, base_stop = groups.read, groups.base_start, groups.base_stop
    position, cigar, cigar_offsets = reads.position, reads.cigar, reads.cigar_offsets
    bases, qualities, read_offsets = reads.bases, reads.qualities, reads.read_offsets
    first_row, rows = groups.read_offsets[g], groups.read_offsets[g + 1] - groups.read_offsets[g]
    shows, knows = np.zeros(rows, np.uint64), np.zeros(rows, np.uint64)
    for r in range(rows):
        read, first, stop = read_of[first_row + r], base_start[first_row + r], base_stop[first_row + r]
        p, q = position[read] - window.first, read_offsets[read]
        is_inside, left, right = False, p, p  # the reference that the bases [first, stop) are aligned to
        for c in range(cigar_offsets[read], cigar_offsets[read + 1]):
            operation, length, on_reference, on_read = run_of(cigar[c])
            if is_match(operation):
                if q + length > first and q < stop:
                    left = left if is_inside else p + max(0, first - q)
                    is_inside, right = True, p + min(length, stop - q)
                for i in range(begin.size):
                    place = q + begin[i] - p
                    if deleted[i] != 1 or added[i] != 1 or not p <= begin[i] < p + length:
                        continue
                    if first <= place < stop and bases[place] < 4 and qualities[place] >= MIN_QUALITY:
                        knows[r] |= bit_of(i)
                        if bases[place] == own[source[i]]:
                            shows[r] |= bit_of(i)
            elif operation in (INSERTION, DELETION) and first <= q <= stop and is_inside:
                for i in range(begin.size):
                    if deleted[i] == added[i] == 1:
                        if operation == DELETION and p <= begin[i] < p + length:
                            knows[r] |= bit_of(i)
                        continue
                    is_alike = deleted[i] == on_reference and added[i] == on_read and 0 <= p - begin[i] <= MAX_SHIFT
                    if is_alike and is_event(alleles, i, operation, p, q, bases, window.bases):
                        shows[r] |= bit_of(i)
                        knows[r] |= bit_of(i)
            if operation == SKIP and is_inside:
                break
            p, q = p + on_reference, q + on_read
        for i in range(begin.size):
            is_gap = is_simple(deleted[i], added[i]) and deleted[i] != added[i]
            if is_inside and is_gap and left + MARGIN <= begin[i] and end[i] + MARGIN <= right:
                knows[r] |= bit_of(i)
    return shows, knows


@kernel
def is_event(alleles, i, operation, p, q, bases, reference):
    """Whether an insertion or deletion of a CIGAR, of as many bases as allele i, is that allele once moved left."""
    begin, deleted, added = alleles.begin[i], alleles.deleted[i], alleles.added[i]
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
def combine_alleles(alleles, seen, ways):
    """Ways through the alleles, and their supports; returns (how many, whether some were left out)."""
    bits, place, support = ways
    shown = seen.shown
    bits[0], place[0], support[0] = 0, 0, shown.size
    found, is_full, before = np.int64(1), False, np.uint64(0)
    for i in range(alleles.begin.size):
        choice = bit_of(i)
        is_shown = False
        for f in range(shown.size):
            is_shown |= shown[f] & choice != 0
        if not is_shown:
            continue
        for w in range(found):
            if support[w] == NO_WAY or place[w] > i:
                continue
            way, so_far = bits[w], support[w]
            without = count_agreeing(seen, before, choice, way)
            taken = np.int64(NO_WAY)
            if is_possible(alleles, i, way):
                taken = count_agreeing(seen, before, choice, way | choice)
            support[w] = NO_WAY
            if without != NO_WAY:
                support[w] = min(so_far, without)
            if taken != NO_WAY:
                found, is_lost = add_way(ways, found, way | choice, i + 1, min(so_far, taken))
                is_full |= is_lost
        before = choice
    return found, is_full


@kernel
def is_possible(alleles, i, way):
    """Whether allele i does not overlap one that the way has; none of these begins after it."""
    begin, deleted, added = alleles.begin, alleles.deleted, alleles.added
    for j in range(i):
        if way & bit_of(j):
            are_gaps = deleted[i] != added[i] and deleted[j] != added[j]
            if begin[i] < begin[j] + deleted[j] or (are_gaps and begin[i] == begin[j]):
                return False
    return True


@kernel
def spell(region, alleles, way, support, asked, spans, reference, drafts):
    """Add the haplotype with the alleles of a way, if they lie within the span and are not too long."""
    begin, deleted, added, source, bases = alleles.begin, alleles.deleted, alleles.added, alleles.source, drafts.bases
    place, p, high, longer = drafts.used[1], spans.low[region], spans.high[region], 0
    for i in range(begin.size):
        longer += added[i] if way & bit_of(i) else 0
    if longer > MAX_LONGER:
        return
    for i in range(begin.size):
        if way & bit_of(i):
            if begin[i] < p or begin[i] + deleted[i] > high:
                return
            place = copy(reference, p, begin[i], bases, place)
            place = copy(alleles.bases, source[i], source[i] + added[i], bases, place)
            p = begin[i] + deleted[i]
    add_draft(drafts, region, copy(reference, p, high, bases, place), support, asked)
