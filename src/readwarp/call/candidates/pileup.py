"""Pileup: counts and base-quality sums per position, allele and strand over a window of the reference.

    count_window(reads: AlignedReads, window: Window, parameters: CallParameters) -> Pileup

`reads` are all usable reads that overlap the window, in file order. A read's base at a position is usable where it is
A, C, G or T with base quality >= min_base_quality. A deletion across the position is always usable, with the quality of
the base before it. So every position depends only on the reads across it, never on the window or threads.

Insertions and deletions of up to MAX_INDEL bases after an aligned base (the anchor) are events. An event counts unless
its anchor has quality 0: its mate counts instead (`readwarp.call.reads.mates`), or the read is beyond the depth limit
(`readwarp.call.reads.depth`). An event is moved left while the reference allows, by at most MAX_SHIFT bases and not
beyond the window's start; equal events are one allele. Windows are therefore read with MAX_SHIFT + MAX_INDEL bases to
spare on either side.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup
from readwarp.call.places.bases import Window
from readwarp.call.reads.usable import HIDDEN
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import CallParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of
from readwarp.rules.bases import OUTSIDE
from readwarp.rules.cigar import DELETION, INSERTION, is_match, run_of
from readwarp.rules.hashes import BASIS, add_byte

MAX_INDEL = 200
MAX_INSERTION = 300  # longest insertion assembled from reads that do not span it
MAX_SHIFT = 200
DELETED = 4  # row of Pileup.counts


class PileupLimits(NamedTuple):
    """Limits of where bases are counted, and of their quality."""

    start: int
    stop: int
    min_base_quality: int


class BaseCounts(NamedTuple):
    """Counts and quality sums, see Pileup."""

    counts: Annotated[ndarray, "int32 [positions, 5, 2]"]
    quality_sums: Annotated[ndarray, "int32 [positions, 5, 2]"]


class IndelEvents(NamedTuple):
    """Space for one event per I or D operation of each read; length 0 where it does not count."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of events"]
    position: Annotated[ndarray, "int64 [events]"]  # position of the anchor
    length: Annotated[ndarray, "int32 [events]"]  # negative for deletions
    query: Annotated[ndarray, "int64 [events]"]  # index of the first inserted base in the reads' bases
    shift: Annotated[ndarray, "int32 [events]"]  # bases shifted left


@scalar
def is_usable(base, quality, min_base_quality):
    return base < 4 and quality >= min_base_quality and quality > HIDDEN


@scalar
def is_event(length, quality):
    """Return whether an indel counts after an aligned base of that quality."""
    return length <= MAX_INDEL and quality > HIDDEN


@scalar
def rotate(index, shift, length):
    """Return the index, in the insertion as read, of base `index` after a shift of `shift` bases to the left."""
    return (index - shift) % length


@scalar
def move_left(reference, start, bases, position, length, query):
    """Return (position, shift) of an event shifted left while the base before it equals its last base.

    `reference` begins at `start`; `length` is negative for a deletion, whose last base may lie beyond the reference.
    The first base of a contig is the last anchor.
    """
    anchor, shift = position - start, 0
    while shift < MAX_SHIFT and anchor > 0 and reference[anchor - 1] != OUTSIDE:
        last = 4
        if length > 0:
            last = bases[query + rotate(length - 1, shift, length)]
        elif anchor - length < reference.size:
            last = reference[anchor - length]
        if reference[anchor] > 3 or reference[anchor] != last:
            break
        anchor, shift = anchor - 1, shift + 1
    return anchor + start, shift


def assemble(reads: AlignedReads, window: Window, counts: BaseCounts, events: IndelEvents) -> Pileup:
    """Merge equal events into alleles, ordered by position, kind, length and a hash of the inserted bases."""
    used = np.flatnonzero(events.length)
    position, signed, query, shift = (x[used] for x in (events.position, events.length, events.query, events.shift))
    key = np.zeros(used.size, np.uint64)
    hash_insertions(reads.bases, query, signed, shift, key)
    is_deletion, length = signed < 0, np.abs(signed)
    order = np.lexsort((key, length, is_deletion, position))
    order = order[is_deletion[order] | (key[order] > 0)]
    columns = [x[order] for x in (position, is_deletion, length, key)]
    is_first = np.ones(order.size, bool)
    is_first[1:] = np.any([x[1:] != x[:-1] for x in columns], axis=0)
    first = order[is_first]
    read = np.searchsorted(events.offsets, used[order], side="right") - 1
    cells = 2 * (np.cumsum(is_first) - 1) + reads.strand[read]
    offsets = offsets_of(np.where(is_deletion[first], 0, length[first]))
    allele_bases = np.empty(offsets[-1], np.uint8)
    copy_insertions(reads.bases, query[first], shift[first], offsets, allele_bases)
    return Pileup(
        contig=reads.contig,
        start=window.start,
        stop=window.stop,
        counts=counts.counts,
        quality_sums=counts.quality_sums,
        allele_position=position[first],
        allele_length=length[first].astype(np.int32),
        allele_bases=allele_bases,
        allele_offsets=offsets,
        allele_counts=np.bincount(cells, minlength=2 * first.size).reshape(-1, 2).astype(np.int32),
    )


@kernel
def hash_insertions(bases, query, signed, shift, key):
    """Set `key` to FNV-1a of the shifted inserted bases, made odd; 0 where one of them is not A, C, G or T."""
    for e in range(query.size):
        value = np.uint64(BASIS)
        for i in range(signed[e]):
            base = bases[query[e] + rotate(i, np.int64(shift[e]), np.int64(signed[e]))]
            if base > 3:
                value = np.uint64(0)
                break
            value = add_byte(value, base + 1)
        key[e] = value | np.uint64(1) if value else value


@kernel
def copy_insertions(bases, query, shift, offsets, out):
    for e in range(query.size):
        length = offsets[e + 1] - offsets[e]
        for i in range(length):
            out[offsets[e] + i] = bases[query[e] + rotate(i, np.int64(shift[e]), length)]


def count_window(reads: AlignedReads, window: Window, parameters: CallParameters) -> Pileup:
    """Count the pileup of a window; see the step's contract."""
    window = window.trim()
    limits = PileupLimits(window.start, window.stop, parameters.min_base_quality)
    counts = BaseCounts(*np.zeros((2, window.stop - window.start, 5, 2), np.int32))
    offsets = offsets_of(np.isin(reads.cigar & 15, (INSERTION, DELETION)))[reads.cigar_offsets]
    events = IndelEvents(offsets, *(np.zeros(offsets[-1], each) for each in (np.int64, np.int32, np.int64, np.int32)))
    count_bases(reads, limits, counts, events)
    shift_events(window, reads.bases, events)
    return assemble(reads, window, counts, events)


@kernel
def count_bases(reads, limits, counts, events):
    """Add every read to `counts`, and write its events in the order of its CIGAR."""
    start, stop, min_base_quality = limits
    for read in range(reads.position.size):
        strand = np.uint64((reads.flag[read] >> 4) & 1)
        p, q = reads.position[read], reads.read_offsets[read]
        event = events.offsets[read]
        quality = 0  # quality of the last aligned base
        for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
            operation, length, on_reference, on_read = run_of(reads.cigar[i])
            if is_match(operation):
                for k in range(max(0, start - p), min(length, stop - p)):
                    w, place = np.uint64(p + k - start), np.uint64(q + k)  # unsigned: no test for negative indices
                    base = np.uint64(reads.bases[place])
                    if is_usable(base, reads.qualities[place], min_base_quality):
                        counts.counts[w, base, strand] += 1
                        counts.quality_sums[w, base, strand] += reads.qualities[place]
                quality = reads.qualities[q + length - 1] if length else 0
            else:
                if operation in (INSERTION, DELETION):
                    if start < p <= stop and is_event(length, quality):
                        events.position[event] = p - 1
                        events.length[event] = length if operation == INSERTION else -length
                        events.query[event] = q
                    event += 1
                if operation == DELETION and quality > 0:
                    for across in range(max(p, start), min(p + length, stop)):
                        w = np.uint64(across - start)
                        counts.counts[w, DELETED, strand] += 1
                        counts.quality_sums[w, DELETED, strand] += quality
                quality = 0
            p, q = p + on_reference, q + on_read


@kernel
def shift_events(window, bases, events):
    """Move each event left while the base before it equals its last base."""
    position = events.position
    for event in range(position.size):
        if events.length[event] != 0:
            position[event], events.shift[event] = move_left(
                window.bases, window.start, bases, position[event], np.int64(events.length[event]), events.query[event]
            )
