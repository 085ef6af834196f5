"""Rules of trimming: where a sequence occurs in a read, how well mates fit a fragment, where a tail begins."""

import numpy as np

from readwarp.compiler.jit import scalar

PREFIX = 16  # bases searched at all places at once, ...
ONE_IN = 10  # ... and the number of bases per allowed mismatch
MIN_ADAPTER = 8  # bases of an adapter at the end of a single read
ALIKE, ONE_IN_TAIL = 12, 4  # bases beyond a fragment that mates share, and the number of them per allowed mismatch
MIN_POLY_G = 10  # minimum score of a poly-G tail: G 1, others -OTHER
OTHER = 2
GOOD, BAD = 30, 14  # Phred: a corrected base has at most BAD, its mate's at least GOOD
ANY = 15  # the mask of N in an adapter


@scalar
def lay_planes(bases, start, stop, planes):
    """Set bit i of row `mask` of planes (uint64 [16, words]) if base i is in the mask (1 A, 2 C, 4 G, 8 T).

    Bits beyond the last base are set in all rows, and all of ANY.
    """
    one = np.uint64(1)
    for w in range(((stop - start) >> 6) + 2):
        block = bases[min(stop, start + (w << 6)) : min(stop, start + (w << 6) + 64)]
        low = high = other = np.uint64(0)
        for i in range(block.size):
            base, bit = np.uint64(block[i]), np.uint64(i)
            low |= (base & one) << bit
            high |= ((base >> one) & one) << bit
            other |= (base >> np.uint64(2)) << bit
        beyond = ~np.uint64(0) if block.size == 0 else ((~np.uint64(0) << np.uint64(block.size - 1)) << one)
        a, c = ~(low | high | other) | beyond, (low & ~high) | beyond
        g, t = (high & ~low & ~other) | beyond, (low & high) | beyond
        planes[0, w], planes[1, w], planes[2, w], planes[3, w] = beyond, a, c, a | c
        for mask in range(4):
            planes[4 + mask, w] = planes[mask, w] | g
        for mask in range(8):
            planes[8 + mask, w] = planes[mask, w] | t
        planes[ANY, w] = ~np.uint64(0)


@scalar
def find_prefix(planes, places, pattern, start, stop, hits):
    """Mark in `hits` the places < `places` where at most 2 of pattern[start:stop] differ; return whether any do.

    pattern: masks, at most PREFIX. Carry-save counting at 64 places at once.
    """
    found = False
    one, wanted = np.uint64(1), pattern[start:stop]
    for w in range((places + 63) >> 6):
        once = twice = thrice = np.uint64(0)
        for j in range(wanted.size):
            mask, shift = wanted[j], np.uint64(j)
            here = planes[mask, w] >> shift | (planes[mask, w + 1] << one) << (np.uint64(63) - shift)
            thrice |= twice & ~here
            twice |= once & ~here
            once |= ~here
            if thrice == ~np.uint64(0):
                break
        rest = places - (w << 6)
        inside = ~np.uint64(0) if rest >= 64 else (one << np.uint64(rest)) - one
        hits[w] = ~thrice & inside
        found = found or hits[w] != 0
    return found


@scalar
def next_hit(hits, place, places):
    """Return the first hit from `place` on, or `places`."""
    while place < places:
        rest = hits[place >> 6] >> np.uint64(place & 63)
        if rest == 0:
            place = (place | 63) + 1
        elif rest & np.uint64(1):
            return place
        else:
            place += 1
    return places


@scalar
def fits(bases, start, stop, pattern, first, last):
    """Count the bases[start:stop] that adapter pattern[first:last] covers from `start` on, and those that differ.

    (0, 0) if it does not fit.
    """
    n, different = min(stop - start, last - first), 0
    for i in range(n):
        mask = pattern[first + i]
        if mask != ANY and (mask >> bases[start + i]) & 1 == 0:
            different += 1
            if different > n // ONE_IN:
                return 0, 0
    return n, different


@scalar
def is_period(pattern, first, last, distance):
    """Return whether the adapter pattern[first:last] equals itself shifted by `distance`."""
    same = True
    for i in range(first + distance, last):
        same &= pattern[i] == pattern[i - distance]
    return same


@scalar
def overlap_of(fragment, length, mate_length):
    """Count the bases that the mates of a fragment share."""
    return min(fragment, length) - max(0, fragment - mate_length)


@scalar
def count_mismatches(bases, spans, fragment, most):
    """Count the bases in which mates of a fragment this long differ; -1: more than `most`.

    spans: start and length of the first read, and of the last.
    """
    mismatches, (start, length, mate_start, mate_length) = 0, spans
    first, last = max(0, fragment - mate_length), min(fragment, length)
    here, there = bases[start + first : start + last], bases[mate_start : mate_start + fragment - first]
    for i in range(last - first):
        if here[i] + there[np.uint64(there.size - 1 - i)] != 3:  # 4 + anything is not 3
            mismatches += 1
            if mismatches > most:
                return -1
    return mismatches


@scalar
def are_alike(bases, start, other, n):
    """Return whether n bases from here and from there are equal, but for one in ONE_IN_TAIL."""
    room = n // ONE_IN_TAIL
    for i in range(n):
        room -= bases[start + i] != bases[other + i] or bases[start + i] > 3
    return room >= 0


@scalar
def begins_adapter(bases, start, stop, masks, offsets):
    """Return whether bases[start:stop] begin like an adapter: PREFIX bases or fewer, but for one in ONE_IN_TAIL."""
    for number in range(offsets.size - 1):
        first = offsets[number]
        n = min(stop - start, offsets[number + 1] - first, PREFIX)
        room = n // ONE_IN_TAIL
        for i in range(n):
            mask = masks[first + i]
            room -= mask != ANY and (mask >> bases[start + i]) & 1 == 0
        if room >= 0:
            return True
    return False


@scalar
def poly_g_start(bases, start, stop):
    """Find where the poly-G tail of bases[start:stop] begins; `stop` if there is none."""
    score = best = 0
    at = stop
    for i in range(stop - 1, start - 1, -1):
        score += 1 if bases[i] == 2 else -OTHER
        if score > best:
            best, at = score, i
        elif score <= best - MIN_POLY_G:
            break
    return at if best >= MIN_POLY_G else stop


@scalar
def quality_stop(qualities, start, stop, limit):
    """Find where qualities[start:stop] end without their low tail. Missing quality (255) counts as good."""
    total = most = 0
    at = stop
    for i in range(stop - 1, start - 1, -1):
        total += limit - np.int64(qualities[i])
        if total < 0:
            break
        if total > most:
            most, at = total, i
    return at


@scalar
def is_of(letters, start, stop, instruments, offsets):
    """Return whether a read's name begins with one of these instruments: a prefix, a digit and more, a colon."""
    for number in range(offsets.size - 1):
        first, size = offsets[number], offsets[number + 1] - offsets[number]
        if start + size >= stop or not 48 <= letters[start + size] <= 57:
            continue
        same = True
        for i in range(size):
            same = same and letters[start + i] == instruments[first + i]
        if same:
            for i in range(start + size, stop):
                if letters[i] == 58:
                    return True
    return False
