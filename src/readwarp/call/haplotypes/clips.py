"""Deletions and tandem duplications that clips show: a clip that continues elsewhere on the region's span.

Assembly misses a duplication where no k-mer reaches across it. An event of size d at `begin` takes the d bases from
there on away, or has them twice; it moves left like any other.
"""

import numpy as np

from readwarp.call.haplotypes import MAX_INDEL, MIN_CLIP, MIN_FRAGMENTS
from readwarp.call.haplotypes.rows import close_row, copy
from readwarp.call.pileup.scalar import SOFT_CLIP
from readwarp.device.jit import kernel

MOST_EVENTS = 64  # of a region; later ones are not looked at
BEGIN, SIZE, SHOWN, LAST = range(4)  # columns of events; a duplication has its size negative


@kernel
def follow_clips(
    spans, start, read_offsets, read, fragment, cut, position, reference_stop, cigar, cigar_offsets, bases,
    sequence_offsets, reference, rows,
):  # fmt: skip
    """Add a haplotype to `rows` for each event that clips of MIN_FRAGMENTS show.

    Returns bool [g], whether there was no more room for events.
    """
    is_full = np.zeros(len(spans), np.bool_)
    events = np.empty((MOST_EVENTS, 4), np.int64)
    for g in range(len(spans)):
        low, high, number = spans[g, 0], spans[g, 1], 0
        for r in range(read_offsets[g], read_offsets[g + 1]):
            own = read[r]
            for side in range(2):
                run = cigar[cigar_offsets[own + 1] - 1] if side else cigar[cigar_offsets[own]]
                length = np.int64(run >> 4)
                if run & 15 != SOFT_CLIP or length < MIN_CLIP:
                    continue
                # the clipped base next to the aligned ones, the one farthest from them, and where the former would lie
                near = sequence_offsets[own + 1] - length if side else sequence_offsets[own] + length - 1
                far = min(near + length, cut[r, 1]) - 1 if side else max(near + 1 - length, cut[r, 0])
                p = (reference_stop[own] if side else position[own] - 1) - start
                shift = best_shift(bases, near, far, reference, p, low, high, 1 if side else -1)
                if shift == 0:
                    continue
                size = shift if side else -shift
                begin = p - (1 - side) * (size - 1) if size > 0 else p + (size if side else 1)
                while begin > low and reference[begin - 1] == reference[begin - 1 + abs(size)]:
                    begin -= 1
                number = note(events, number, begin, size, fragment[r])
        is_full[g] = number == MOST_EVENTS
        for i in range(number):
            begin, size = events[i, BEGIN], events[i, SIZE]
            if events[i, SHOWN] >= MIN_FRAGMENTS:
                place = copy(reference, low, max(begin, begin - size), rows[0], rows[-1][1])
                place = copy(reference, max(begin, begin + size), high, rows[0], place)
                close_row(rows, np.int64(g), place, events[i, SHOWN], np.int64(0))
    return is_full


@kernel
def best_shift(bases, near, far, reference, p, low, high, step):
    """Bases, to the right or left, by which a clip lies elsewhere on the span; 0 for nowhere, or where it is.

    Of those with at most one base in ten that differs the one with the smallest share, then the smallest size.
    """
    best, best_wrong, best_size = np.int64(0), np.int64(1), np.int64(9)  # a share of wrong bases just too large
    for size in range(0, min(MAX_INDEL, high - low) + 1):
        for sign in (1, -1):
            shift = size * sign
            i, q, wrong, compared = p + shift, near, 0, 0
            while low <= i < high and (q - far) * step <= 0 and wrong <= 1 + compared // 10:
                wrong += bases[q] != reference[i]
                i, q, compared = i + step, q + step, compared + 1
            if compared >= MIN_CLIP and wrong * best_size < best_wrong * compared and wrong * 10 <= compared:
                if size == 0:
                    return np.int64(0)
                best, best_wrong, best_size = np.int64(shift), np.int64(wrong), np.int64(compared)
    return best


@kernel
def note(events, number, begin, size, fragment):
    """Count a fragment for an event; returns the number of events."""
    for i in range(number):
        if events[i, BEGIN] == begin and events[i, SIZE] == size:
            events[i, SHOWN] += events[i, LAST] != fragment
            events[i, LAST] = fragment
            return number
    if number == MOST_EVENTS:
        return number
    events[number, BEGIN], events[number, SIZE], events[number, SHOWN], events[number, LAST] = begin, size, 1, fragment
    return number + 1
