"""Haplotypes made of the alleles that alignments show: which fragments show them, and the ways through them.

The alleles of a region are its choices: bit i of a way says that allele i is taken. `alleles` are rows of
(begin, deleted bases, inserted bases, first of them, stop of the site, is_asked), ascending by `begin`.
"""

import numpy as np

from readwarp.batches import Regions, Sites
from readwarp.call.haplotypes import MARGIN, MAX_FORKS, MAX_LONGER, MAX_WAYS, MIN_QUALITY
from readwarp.call.haplotypes.rows import NOT_ASKED, close_row, copy
from readwarp.call.haplotypes.ways import NO_WAY, add_way, agreement
from readwarp.call.pileup import MAX_SHIFT
from readwarp.call.pileup.scalar import rotated
from readwarp.device.jit import kernel, scalar
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match

MISSING = 4  # an inserted base that stands for a deletion across the site
ONE = np.uint64(1)
BEGIN, DELETED, INSERTED, SOURCE, STOP, ASKED = range(6)


def alleles_of(sites: Sites, regions: Regions) -> tuple[np.ndarray, np.ndarray]:
    """(int64 [a, 6] alleles that haplotypes are made of, int64 [g, 2] those of each region)."""
    number = np.diff(sites.allele_offsets)
    site = np.repeat(np.arange(number.size), number)
    size = np.diff(sites.inserted_offsets)
    first = sites.inserted_offsets[:-1]
    is_other = np.arange(site.size) != np.repeat(sites.allele_offsets[:-1], number)
    some = size > 0
    is_other[some] &= (size[some] > 1) | (sites.inserted[first[some]] != MISSING)
    chosen = np.flatnonzero(is_other)
    begin = sites.begin[site[chosen]]
    rows = (
        begin,
        sites.deleted[chosen],
        size[chosen],
        first[chosen],
        sites.stop[site[chosen]],
        sites.is_forced[chosen],
    )
    table = np.stack([np.asarray(row, np.int64) for row in rows], axis=1)
    return table, np.stack((np.searchsorted(begin, regions.start), np.searchsorted(begin, regions.stop)), axis=1)


@scalar
def is_simple(deleted, inserted):
    """A CIGAR shows substitutions, insertions and deletions, but nothing that is several of them."""
    return (deleted == 1 and inserted == 1) or (deleted == 0) != (inserted == 0)


@scalar
def excludes(begin, deleted, inserted, other_begin, other_deleted, other_inserted):
    """Whether a haplotype that has the other allele, which does not begin behind this one, cannot have this one."""
    is_both_gaps = deleted != inserted and other_deleted != other_inserted
    return begin < other_begin + other_deleted or (is_both_gaps and begin == other_begin)


@kernel
def combine(
    spans, start, bounds, alleles, inserted, read_offsets, read, fragment, cut, position, cigar, cigar_offsets,
    read_bases, qualities, sequence_offsets, reference, rows,
):  # fmt: skip
    """Add the haplotypes of each region's alleles to `rows`; returns bool [g], whether some were left out.

    `bounds` int64 [g, 2]: the alleles of each region; `start`: position of the reference's first base.
    """
    reads = (read, cut, position, cigar, cigar_offsets, read_bases, qualities, sequence_offsets)
    is_full = np.zeros(len(spans), np.bool_)
    most = 1
    for g in range(len(spans)):
        most = max(most, read_offsets[g + 1] - read_offsets[g])
    shown, known = np.empty(most, np.uint64), np.empty(most, np.uint64)
    ways = np.empty(MAX_WAYS, np.uint64), np.empty(MAX_WAYS, np.int64), np.empty(MAX_WAYS, np.int64)
    for g in range(len(spans)):
        own = alleles[bounds[g, 0] : bounds[g, 1]]
        chosen = choose(own, inserted, read_offsets[g], read_offsets[g + 1], reads, reference, start)
        choices, is_full[g] = own[chosen], chosen.size < len(own)
        fragments = np.int64(0)
        for r in range(read_offsets[g], read_offsets[g + 1]):
            fragments = max(fragments, fragment[r] + 1)
        for f in range(fragments):
            shown[f] = known[f] = 0
        for r in range(read_offsets[g], read_offsets[g + 1]):
            shows, knows = look(choices, inserted, r, reads, reference, start)
            f = fragment[r]
            differs = known[f] & knows & (shown[f] ^ shows)
            shown[f], known[f] = (shown[f] | shows) & ~differs, (known[f] | knows) & ~differs
        found, lost = combine_alleles(choices, shown, known, fragments, ways)
        is_full[g] |= lost
        taken = np.uint64(0)
        for w in range(found):
            if ways[2][w] != NO_WAY:
                taken |= ways[0][w]
                spell(g, spans[g], choices, ways[0][w], inserted, reference, start, ways[2][w], NOT_ASKED, rows)
        bits = np.zeros(len(own), np.uint64)
        bits[chosen] = ONE << np.arange(chosen.size).astype(np.uint64)
        for i in range(len(own)):
            alone, bit = own[i : i + 1], bits[i]
            if alone[0, ASKED] or not taken & bit:
                support = np.int64(0)
                for f in range(fragments):
                    support += 1 if shown[f] & bit else 0
                asked = bounds[g, 0] + i if alone[0, ASKED] else NOT_ASKED
                spell(g, spans[g], alone, ONE, inserted, reference, start, support, asked, rows)
    return is_full


@kernel
def choose(alleles, inserted, low, high, reads, reference, start):
    """Which alleles of a region are its choices, in order: all, or MAX_FORKS of them.

    Those that nobody asked for come first, then those that more of the reads [low, high) show.
    """
    number = len(alleles)
    if number <= MAX_FORKS:
        return np.arange(number)
    shown = np.zeros(number, np.int64)
    for first in range(0, number, MAX_FORKS):
        some = alleles[first : first + MAX_FORKS]
        for r in range(low, high):
            shows, _ = look(some, inserted, r, reads, reference, start)
            for i in range(len(some)):
                shown[first + i] += np.int64((shows >> np.uint64(i)) & ONE)
    for i in range(number):
        shown[i] = shown[i] if alleles[i, ASKED] else high - low + 1
    return np.sort(np.argsort(-shown, kind="mergesort")[:MAX_FORKS])


@kernel
def look(alleles, inserted, r, reads, reference, start):
    """(alleles that a row's read shows, alleles of which it shows whether or not), by the bases it is cut to."""
    rows, cut, position, cigar, cigar_offsets, bases, qualities, sequence_offsets = reads
    shows, knows = np.uint64(0), np.uint64(0)
    read, first, stop = rows[r], cut[r, 0], cut[r, 1]
    p, q = position[read], sequence_offsets[read]
    left, right = np.int64(-1), np.int64(-1)  # the reference that the read's bases [first, stop) are aligned to
    for c in range(cigar_offsets[read], cigar_offsets[read + 1]):
        operation, length = cigar[c] & 15, np.int64(cigar[c] >> 4)
        if is_match(operation):
            if q + length > first and q < stop:
                left = p + max(0, first - q) if left < 0 else left
                right = p + min(length, stop - q)
            for i in range(len(alleles)):
                place = q + alleles[i, BEGIN] - p
                if alleles[i, DELETED] != 1 or alleles[i, INSERTED] != 1 or not p <= alleles[i, BEGIN] < p + length:
                    continue
                if first <= place < stop and bases[place] < 4 and qualities[place] >= MIN_QUALITY:
                    knows |= np.uint64(1) << np.uint64(i)
                    if bases[place] == inserted[alleles[i, SOURCE]]:
                        shows |= np.uint64(1) << np.uint64(i)
        elif operation in (INSERTION, DELETION) and first <= q <= stop and left >= 0:
            for i in range(len(alleles)):
                is_across = p <= alleles[i, BEGIN] < p + length and alleles[i, DELETED] == alleles[i, INSERTED] == 1
                if operation == DELETION and is_across:
                    knows |= np.uint64(1) << np.uint64(i)
                elif is_event(alleles[i], inserted, operation, length, p, q, bases, reference, start):
                    shows |= np.uint64(1) << np.uint64(i)
                    knows |= np.uint64(1) << np.uint64(i)
        if operation == SKIP and left >= 0:
            break
        p += length if is_match(operation) or operation in (DELETION, SKIP) else 0
        q += length if is_match(operation) or operation in (INSERTION, SOFT_CLIP) else 0
    for i in range(len(alleles)):
        is_gap = is_simple(alleles[i, DELETED], alleles[i, INSERTED]) and alleles[i, DELETED] != alleles[i, INSERTED]
        if is_gap and left + MARGIN <= alleles[i, BEGIN] and alleles[i, STOP] + MARGIN <= right:
            knows |= np.uint64(1) << np.uint64(i)
    return shows, knows


@kernel
def is_event(allele, inserted, operation, length, p, q, bases, reference, start):
    """Whether an insertion or deletion of a CIGAR, moved left as far as it can be, is this allele."""
    size = allele[DELETED] if operation == DELETION else allele[INSERTED]
    other = allele[INSERTED] if operation == DELETION else allele[DELETED]
    shift = p - allele[BEGIN]
    if size != length or other != 0 or shift < 0 or shift > MAX_SHIFT:
        return False
    for i in range(shift):
        gone = reference[p - 1 - i - start]
        if operation == DELETION:
            last = reference[p - 1 - i + length - start]
        else:
            last = bases[q + rotated(length - 1, i, length)]
        if gone != last:
            return False
    if operation == INSERTION:
        for i in range(length):
            if bases[q + rotated(i, shift, length)] != inserted[allele[SOURCE] + i]:
                return False
    return True


@kernel
def combine_alleles(alleles, shown, known, fragments, ways):
    """Ways through the alleles, and their supports; returns (how many, whether some were left out)."""
    way_of, place, support = ways
    way_of[0], place[0], support[0] = 0, 0, fragments
    found, is_full, before = np.int64(1), False, np.uint64(0)
    for i in range(len(alleles)):
        choice = np.uint64(1) << np.uint64(i)
        is_shown = False
        for f in range(fragments):
            is_shown |= shown[f] & choice != 0
        if not is_shown:
            continue
        for w in range(found):
            if support[w] == NO_WAY or place[w] > i:
                continue
            way, least = way_of[w], support[w]
            without = agreement(shown, known, fragments, before, choice, way)
            taken = np.int64(NO_WAY)
            if is_possible(alleles, i, way):
                taken = agreement(shown, known, fragments, before, choice, way | choice)
            support[w] = NO_WAY
            if without != NO_WAY:
                support[w] = min(least, without)
            if taken != NO_WAY:
                found, lost = add_way(ways, found, way | choice, i + 1, min(least, taken))
                is_full |= lost
        before = choice
    return found, is_full


@kernel
def is_possible(alleles, i, way):
    """Whether allele i does not overlap one that the way has."""
    for j in range(i):
        if (way >> np.uint64(j)) & np.uint64(1):
            mine, other = alleles[i], alleles[j]
            if excludes(mine[BEGIN], mine[DELETED], mine[INSERTED], other[BEGIN], other[DELETED], other[INSERTED]):
                return False
    return True


@kernel
def spell(region, span, alleles, way, inserted, reference, start, support, asked, rows):
    """Add the haplotype with the alleles of a way, if they lie within the span and are not too long."""
    bases, used = rows[0], rows[-1]
    place, p, longer = used[1], span[0], 0
    for i in range(len(alleles)):
        if (way >> np.uint64(i)) & np.uint64(1):
            longer += alleles[i, INSERTED]
    if longer > MAX_LONGER:
        return
    for i in range(len(alleles)):
        begin = alleles[i, BEGIN] - start
        if (way >> np.uint64(i)) & np.uint64(1):
            if begin < p or begin + alleles[i, DELETED] > span[1]:
                return
            place = copy(reference, p, begin, bases, place)
            first, p = alleles[i, SOURCE], begin + alleles[i, DELETED]
            place = copy(inserted, first, first + alleles[i, INSERTED], bases, place)
    place = copy(reference, p, span[1], bases, place)
    close_row(rows, region, place, support, asked)
