"""Kernels that decide which bases are cut off a batch of reads and why, and which are corrected."""

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.trim import matches as rule
from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.common.reads import Segment
from readwarp.formats.common.text import Names

FIRST, UNPAIRED = int(Segment.FIRST), int(Segment.UNPAIRED)
NO_QUALITY = 255
MASKS = 16  # of bases


class Reason(IntEnum):
    """Reasons for cutting bases off."""

    MATES = 0
    ADAPTER = 1
    POLY_G = 2
    QUALITY = 3


MATES, ADAPTER, POLY_G, QUALITY = map(int, Reason)


class Patterns(NamedTuple):
    """Adapters as base masks."""

    masks: Annotated[ndarray, "uint8 [letters]"]  # the bases that a letter stands for: 1 A, 2 C, 4 G, 8 T
    offsets: Annotated[ndarray, "int64 [adapters + 1] of letters"]


class TrimRules(NamedTuple):
    firsts: Patterns  # for first and single reads
    lasts: Patterns
    always_poly_g: bool
    instruments: Names  # whose reads may have a poly-G tail
    min_quality: int
    all_fragments: bool  # also find fragments at least as long as the reads
    anything_beyond: bool  # bases beyond a fragment need not look like adapter


class Cuts(NamedTuple):
    bases: Annotated[ndarray, "int32 [reads, 4]"]  # bases cut off the 3' end, by Reason
    fragment: Annotated[ndarray, "int32 [reads]"]  # fragment length from the overlap of mates; 0: unknown


@scalar
def is_adapter_beyond(bases, spans, fragment, rules):
    """Return whether mates agree beyond their fragment, or one continues like a known adapter, or neither continues."""
    start, length, mate_start, mate_length = spans
    firsts, lasts = rules.firsts, rules.lasts
    beyond, mate_beyond = max(0, length - fragment), max(0, mate_length - fragment)
    n = min(beyond, mate_beyond, rule.ALIKE)
    if n and rule.are_alike(bases, start + fragment, mate_start + fragment, n):
        return True
    if beyond and rule.begins_adapter(bases, start + fragment, start + length, firsts.masks, firsts.offsets):
        return True
    if mate_beyond:
        return rule.begins_adapter(bases, mate_start + fragment, mate_start + mate_length, lasts.masks, lasts.offsets)
    return beyond == 0


@scalar
def find_fitting(bases, planes, spans, is_long, limit, rules, scratch):
    """Find the fragment that fits best, and its mismatches; (0, 0): none fits.

    is_long: search fragments at least as long as both reads, instead of those not longer than the longer read. limit:
    mismatches and overlap of another fragment; the fraction of mismatches must not be higher, or the score must be. An
    overlap of 0: no limit.
    """
    best, best_score = 0, -1
    best_mismatches = 0
    start, length, mate_start, mate_length = spans
    (hits, pattern), (most, of) = scratch, limit
    for slot in range(2):
        own = length if slot == 0 else mate_length
        other_start, other = (mate_start, mate_length) if slot == 0 else (start, length)
        places = own - rule.PREFIX + 1
        if places <= 0 or other < rule.PREFIX:
            continue
        lay_mate(bases, other_start + (other if is_long else rule.PREFIX), pattern)
        if not rule.find_prefix(planes[slot], places, pattern, 0, rule.PREFIX, hits):
            continue
        place = rule.next_hit(hits, max(0, own - other) if is_long else 0, places)
        while place < places:
            fragment = place + (other if is_long else rule.PREFIX)
            shared = rule.overlap_of(fragment, length, mate_length)
            room = shared // rule.ONE_IN
            if of:
                room = max(most * shared // of, (shared - (of - rule.ONE_IN * most) - 1) // rule.ONE_IN)
            is_known = fragment == best
            mismatches = -1 if is_known else rule.count_mismatches(bases, spans, fragment, room)
            score = shared - rule.ONE_IN * mismatches
            is_better = score > best_score or (score == best_score and fragment > best)
            is_anything = is_long or rules.anything_beyond
            if mismatches >= 0 and is_better and (is_anything or is_adapter_beyond(bases, spans, fragment, rules)):
                best, best_score, best_mismatches = fragment, score, mismatches
            place = rule.next_hit(hits, place + 1, places)
    return best, best_mismatches


@scalar
def lay_mate(bases, end, pattern):
    """Write the masks of the mate's bases before `end` to `pattern`, as its fragment ends seen from the other read."""
    for i in range(rule.PREFIX):
        base = bases[end - 1 - i]
        pattern[i] = 0 if base > 3 else 8 >> base


@scalar
def find_fragment(bases, planes, spans, rules, scratch):
    """Find the length of a pair's fragment from the overlap of its mates; 0: unknown.

    Fragments not shorter than both reads are searched if a shorter one fits, or if all are wanted.
    """
    _, length, _, mate_length = spans
    short, mismatches = find_fitting(bases, planes, spans, False, (0, 0), rules, scratch)
    if short == max(length, mate_length) or not (short or rules.all_fragments):
        return short
    limit = mismatches, rule.overlap_of(short, length, mate_length) if short else 0
    longer, _ = find_fitting(bases, planes, spans, True, limit, rules, scratch)
    return longer if longer else short


@scalar
def find_adapter(bases, span, planes, adapters, at_least, hits):
    """Find the first place where an adapter fits, and the bases it covers there; (length, 0): none.

    at_least: this many bases, or the whole adapter. A periodic one is moved on by whole periods if fewer bases differ
    there.
    """
    (start, length), (masks, offsets) = span, adapters
    best = length
    covered, stop = 0, start + length
    for number in range(offsets.size - 1):
        first, last = offsets[number], offsets[number + 1]
        least = min(at_least, last - first)
        places = min(best, length - least + 1)
        if places <= 0 or not rule.find_prefix(planes, places, masks, first, min(last, first + rule.PREFIX), hits):
            continue
        place = rule.next_hit(hits, 0, places)
        while place < places:
            n, different = rule.fits(bases, start + place, stop, masks, first, last)
            if n >= least:
                best, covered = place, n
                for later in range(place + 1, min(place + n, places) if different else 0):
                    if rule.is_period(masks, first, last, later - place):
                        n, fewer = rule.fits(bases, start + later, stop, masks, first, last)
                        if n >= least and fewer < different:
                            best, covered, different = later, n, fewer
                break
            place = rule.next_hit(hits, place + 1, places)
    return best, covered


@scalar
def cut_pair(bases, spans, planes, rules, scratch):
    """Return (bases left of the first read and of the last, reason for the cut, fragment length)."""
    (start, length, mate_start, mate_length), (hits, _) = spans, scratch
    fragment = find_fragment(bases, planes, spans, rules, scratch)
    if 0 < fragment < max(length, mate_length):
        return min(length, fragment), min(mate_length, fragment), MATES, fragment
    kept, covered = find_adapter(bases, (start, length), planes[0], rules.firsts, rule.PREFIX, hits)
    mate_kept, mate_covered = find_adapter(bases, (mate_start, mate_length), planes[1], rules.lasts, rule.PREFIX, hits)
    if covered and not mate_covered:
        mate_kept = min(mate_length, kept)
    elif mate_covered and not covered:
        kept = min(length, mate_kept)
    return kept, mate_kept, ADAPTER, fragment


@kernel
def find_cuts(reads, rules, cuts):
    """Write what is cut off each read to `cuts`."""
    bases, offsets = reads.bases, reads.read_offsets
    segment = reads.segment
    names, name_offsets = reads.names, reads.name_offsets
    prefixes, prefix_offsets = rules.instruments
    cut, fragments = cuts.bases, cuts.fragment
    longest = 0
    for r in range(segment.size):
        longest = max(longest, offsets[r + 1] - offsets[r])
    words = (longest >> 6) + 2
    planes, hits = np.empty((2, MASKS, words), np.uint64), np.empty(words, np.uint64)
    pattern, kept = np.empty(rule.PREFIX, np.uint8), np.empty(2, np.int64)
    for r in range(segment.size):
        start, stop = offsets[r], offsets[r + 1]
        slot = 0 if segment[r] <= FIRST else 1
        rule.lay_planes(bases, start, stop, planes[slot])
        if segment[r] == FIRST:
            continue
        first = r - slot
        fragment, reason = 0, ADAPTER
        if segment[r] == UNPAIRED:
            kept[0], _ = find_adapter(bases, (start, stop - start), planes[0], rules.firsts, rule.MIN_ADAPTER, hits)
        else:
            spans = offsets[first], start - offsets[first], start, stop - start
            kept[0], kept[1], reason, fragment = cut_pair(bases, spans, planes, rules, (hits, pattern))
        for i in range(first, r + 1):
            start, stop = offsets[i], offsets[i + 1]
            fragments[i] = fragment
            end = start + kept[i - first]
            cut[i] = 0
            cut[i, reason] = stop - end
            if end == stop and (
                rules.always_poly_g or rule.is_of(names, name_offsets[i], name_offsets[i + 1], prefixes, prefix_offsets)
            ):
                end = rule.poly_g_start(bases, start, stop)
                cut[i, POLY_G] = stop - end
            if rules.min_quality:
                good = rule.quality_stop(reads.qualities, start, end, rules.min_quality)
                cut[i, QUALITY] = end - good


@kernel
def correct_mates(segment, offsets, fragments, bases, qualities):
    """Correct a bad base by the mate's good one where overlapping mates differ; return the number corrected."""
    corrected = 0
    for r in range(1, segment.size):
        fragment = fragments[r]
        if segment[r] <= FIRST or fragment == 0:
            continue
        start, mate_start = offsets[r - 1], offsets[r]
        length, mate_length = mate_start - start, offsets[r + 1] - mate_start
        for i in range(max(0, fragment - mate_length), min(fragment, length)):
            here, there = start + i, mate_start + fragment - 1 - i
            if bases[here] + bases[there] == 3:
                continue
            if qualities[here] <= rule.BAD and rule.GOOD <= qualities[there] < NO_QUALITY and bases[there] < 4:
                bases[here], qualities[here] = 3 - bases[there], qualities[there]
                corrected += 1
            elif qualities[there] <= rule.BAD and rule.GOOD <= qualities[here] < NO_QUALITY and bases[here] < 4:
                bases[there], qualities[there] = 3 - bases[here], qualities[here]
                corrected += 1
    return corrected
