"""Repeats of the reference, how often their length is misread, and the reads across them."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import Window
from readwarp.call.confidence import MAX_UNIT, REACH
from readwarp.call.sites import MAX_TRACT
from readwarp.call.strips import contigs_around
from readwarp.device.jit import kernel, scalar
from readwarp.rules.cigar import is_match, run_of

NOWHERE = -(1 << 30)  # before all reads


class Repeats(NamedTuple):
    """What a read must cover to speak for the reference at each position of a window, counted from its start."""

    first: Annotated[ndarray, "int32 [positions]"]  # NOWHERE where the repeat is longer than MAX_TRACT
    last: Annotated[ndarray, "int32 [positions]"]  # inclusive
    phred: Annotated[ndarray, "int32 [positions]"]  # of an indel error


@scalar
def log_indel_error(difference, unit, tract):
    """log10 of the probability of an error of `difference` bases in a repeat of `tract` bases in units of `unit`."""
    size, repeats = abs(difference), tract // unit
    phred = 45.0
    if size == 0:
        phred = 60.0
    elif size % unit == 0:
        slope = 2.2 if unit == 1 else 2.8
        phred = max(10.0, 45.0 - slope * max(0, repeats - 4)) + 5.0 * (size // unit - 1)
    return -0.1 * min(phred, 60.0)


def find_repeats(window: Window) -> Repeats:
    """The repeats around each position of the window, cut to the window's bases of its contig."""
    begin, end = (edge - window.start for edge in contigs_around(window, np.arange(window.start, window.stop)))
    first = np.arange(window.stop - window.start, dtype=np.int32)
    last = first + np.int32(1)
    phred = np.full(first.size, round(-10.0 * log_indel_error(1, 1, 1)), np.int32)
    mark_repeats(window, Repeats(first, last, phred))
    low = np.where(first == NOWHERE, first, np.maximum(first - REACH, begin))
    return Repeats(low.astype(np.int32), np.minimum(last + REACH, end - 1).astype(np.int32), phred)


@kernel
def mark_repeats(window, out):
    """Widen `first` and `last` to the repeats, and lower `phred` to that of their errors."""
    reference, offset, first, last, phred = window.bases, window.start - window.first, out.first, out.last, out.phred
    for unit in range(1, MAX_UNIT + 1):
        begin = 0  # of the stretch whose bases equal those one unit before
        for i in range(unit, reference.size + 1):
            if i < reference.size and reference[i] == reference[i - unit] and reference[i] < 4:
                continue
            tract = i - begin
            if tract >= 2 * unit:
                error = np.int32(round(-10.0 * log_indel_error(unit, unit, tract)))
                low = begin - offset if tract <= MAX_TRACT else NOWHERE
                for p in range(max(begin - 1 - offset, 0), min(i - offset, first.size)):
                    first[p] = min(first[p], low)
                    last[p] = max(last[p], i - 1 - offset)
                    phred[p] = min(phred[p], error)
            begin = i - unit + 1


@kernel
def count_spanning(reads, start, repeats, spanning):
    """Count each read in `spanning` (int32) where it covers the repeat without a gap and its own base is usable.

    Positions count from `start`.
    """
    first, last, cigar, qualities = repeats.first, repeats.last, reads.cigar, reads.qualities
    for read in range(reads.position.size):
        p, q = reads.position[read] - start, reads.read_offsets[read]
        i, end = reads.cigar_offsets[read], reads.cigar_offsets[read + 1]
        while i < end:
            stretch = np.int64(0)  # bases aligned without a gap
            while i < end and (is_match(cigar[i] & 15) or cigar[i] < 16):
                stretch += np.int64(cigar[i] >> 4)
                i += 1
            a, b = max(p, 0), min(p + stretch, first.size)
            if a < b:
                own = qualities[q + a - p : q + b - p]
                add_spanning(first[a:b], last[a:b], own, np.int32(p), np.int32(p + stretch), spanning[a:b])
            p, q = p + stretch, q + stretch
            if i < end:
                _, _, on_reference, on_read = run_of(cigar[i])
                p, q, i = p + on_reference, q + on_read, i + 1


@kernel
def add_spanning(first, last, qualities, start, stop, spanning):
    for i in range(spanning.size):
        spanning[i] += np.int32(first[i] >= start) & np.int32(last[i] < stop) & np.int32(qualities[i] > 0)
