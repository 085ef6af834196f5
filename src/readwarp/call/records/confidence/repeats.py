"""Find repeats of the reference, the rate at which their length is misread, and the reads that span them."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.sites import MAX_TRACT
from readwarp.call.candidates.sites.find import Site, sites_of
from readwarp.call.places.bases import encode
from readwarp.call.places.window import Window, contigs_around
from readwarp.call.records.confidence import MAX_UNIT, REACH
from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.variants.calls import Calls
from readwarp.rules.cigar import DELETION, INSERTION, is_match, run_of

NOWHERE = -(1 << 30)  # before all reads


class Repeats(NamedTuple):
    """Span, from the window's start, that a read must cover to support the reference at each position."""

    first: Annotated[ndarray, "int32 [positions]"]  # NOWHERE where the repeat is longer than MAX_TRACT
    last: Annotated[ndarray, "int32 [positions]"]  # inclusive
    phred: Annotated[ndarray, "int32 [positions]"]  # Phred of an indel error


class CalledGaps(NamedTuple):
    """Spans [first, stop), sorted by `first`, in which reads may show the indels that have records."""

    first: Annotated[ndarray, "int64 [gaps]"]  # anchor
    stop: Annotated[ndarray, "int64 [gaps]"]  # past the last base that aligners may delete for it or for an earlier gap


def find_called(calls: Calls, window: Window) -> CalledGaps:
    """Return the indels of one contig's calls, sorted by position."""
    gaps = list[Site]()
    for position, (old, *others) in zip(calls.position.tolist(), calls.alleles, strict=True):
        for other in others:
            size = len(old) - len(other)
            if size and old[0] == other[0] and other.isalpha():
                gaps.append((position + 1, True, [(0, b""), (max(0, size), encode(other[1 : 1 - min(0, size)]))]))
    sites = sites_of(gaps, window)
    return CalledGaps(sites.position, np.maximum.accumulate(sites.stop))


def find_repeats(window: Window, slips: ndarray) -> Repeats:
    """Find the repeats around each position of the window, cut to the window's bases of its contig."""
    begin, end = (edge - window.start for edge in contigs_around(window, np.arange(window.start, window.stop)))
    first = np.arange(window.stop - window.start, dtype=np.int32)
    last = first + np.int32(1)
    phred = np.full(first.size, round(slips[0, 1]), np.int32)
    mark_repeats(window, slips, Repeats(first, last, phred))
    low = np.where(first == NOWHERE, first, np.maximum(first - REACH, begin))
    return Repeats(low.astype(np.int32), np.minimum(last + REACH, end - 1).astype(np.int32), phred)


@kernel
def mark_repeats(window, slips, out):
    """Widen `first` and `last` to the repeats, and lower `phred` to that of their errors."""
    offset = window.start - window.first
    for unit in range(1, MAX_UNIT + 1):
        begin = 0  # start of the stretch whose bases equal those one unit before
        for i in range(unit, window.bases.size + 1):
            if i < window.bases.size and window.bases[i] == window.bases[i - unit] and window.bases[i] < 4:
                continue
            tract = i - begin
            if tract >= 2 * unit:
                error = np.int32(round(slips[unit - 1, min(tract // unit, slips.shape[1] - 1)]))
                low = begin - offset if tract <= MAX_TRACT else NOWHERE
                for p in range(max(begin - 1 - offset, 0), min(i - offset, out.first.size)):
                    out.first[p] = min(out.first[p], low)
                    out.last[p] = max(out.last[p], i - 1 - offset)
                    out.phred[p] = min(out.phred[p], error)
            begin = i - unit + 1


@kernel
def count_spanning(reads, start, repeats, called, spanning):
    """Count each read in `spanning` (int32) where it spans the repeat without a gap and its own base is usable.

    Positions count from `start`. called: the CalledGaps.
    """
    cigar = reads.cigar
    for read in range(reads.position.size):
        p, q = reads.position[read] - start, reads.read_offsets[read]
        i, end = reads.cigar_offsets[read], reads.cigar_offsets[read + 1]
        begin = stop = np.int64(p)  # stretch without gaps, called ones aside
        after = i
        while i < end:
            if i == after:
                begin, stop = p, p
                while after < end and (is_aligned(cigar[after]) or is_called(cigar[after], stop + start, called)):
                    stop += run_of(cigar[after])[2]
                    after += 1
            _, _, on_reference, on_read = run_of(cigar[i])
            a, b = max(p, 0), min(p + on_reference, repeats.first.size)
            if is_aligned(cigar[i]) and a < b:
                own = reads.qualities[q + a - p : q + b - p]
                add_spanning(repeats.first[a:b], repeats.last[a:b], own, np.int32(begin), np.int32(stop), spanning[a:b])
            p, q = p + on_reference, q + on_read
            i += 1
            after = max(after, i)


@scalar
def is_aligned(run):
    return is_match(run & 15) or run < 16


@scalar
def is_called(run, position, called):
    """Return whether a record has the indel that begins at this position."""
    before = np.searchsorted(called.first, position - 1, side="right") - 1
    on_reference = run_of(run)[2]
    is_gap = run & 15 == INSERTION or run & 15 == DELETION
    return is_gap and before >= 0 and position + on_reference <= called.stop[before]


@kernel
def add_spanning(first, last, qualities, start, stop, spanning):
    for i in range(spanning.size):
        spanning[i] += np.int32(first[i] >= start) & np.int32(last[i] < stop) & np.int32(qualities[i] > 0)
