"""Count a pileup on CUDA: one thread per reference position, so that no two write to one place.

The threads of a warp go through the reads across their positions together, in file order, starting with the first read
that reaches beyond the warp's first position, found by bisection in the running maximum of the reads' stops. So they
read neighbouring bases of one read at a time, and look up its place and CIGAR once for all. A thread counts in shared
memory and writes the events whose anchor is its position. A second kernel moves events left, one thread each.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup
from readwarp.call.candidates.pileup.cpu import (
    BaseCounts,
    IndelEvents,
    PileupLimits,
    assemble,
    new_counts,
    new_events,
)
from readwarp.call.candidates.pileup.scalar import DELETED, is_event, is_usable, move_left
from readwarp.call.places.bases import Window
from readwarp.config import CallParameters
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import THREADS, WARP, threads_for
from readwarp.device.memory import current
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match

ROWS, SIDES = 5, 2  # axes of Pileup.counts
CELLS = ROWS * SIDES
FIELDS = 4  # number of fields of `read_at`
GONE, NOTHING = 5, 6  # state of a read without a base at a position: deleted, or not covering it


class PileupReads(NamedTuple):
    """Columns of AlignedReads that a card needs."""

    position: Annotated[ndarray, "int64 [reads]"]
    reference_stop: Annotated[ndarray, "int64 [reads]"]
    reach: Annotated[ndarray, "int64 [reads]"]  # running maximum of `reference_stop`
    flag: Annotated[ndarray, "uint16 [reads]"]
    cigar: Annotated[ndarray, "uint32 [operations]"]
    cigar_offsets: Annotated[ndarray, "int64 [reads + 1] of operations"]
    bases: Annotated[ndarray, "uint8 [bases]"]
    qualities: Annotated[ndarray, "uint8 [bases]"]
    read_offsets: Annotated[ndarray, "int64 [reads + 1] of bases"]


def count_window(reads: AlignedReads, window: Window, parameters: CallParameters) -> Pileup:
    """Count the pileup of a window; see the step's contract. Arrays are on the host, which assembles alleles."""
    window, host_events = window.trim(), new_events(reads)
    if len(reads) == 0:
        return assemble(reads, window, new_counts(window), host_events)
    limits = PileupLimits(window.start, window.stop, parameters.min_base_quality)
    positions, size = window.bases.size, host_events.length.size
    with current().frame() as workspace:
        there, events, around = workspace.on_card((reads_of(reads), host_events, window))
        counts = BaseCounts(*(workspace.empty((positions, ROWS, SIDES), np.int32) for _ in BaseCounts._fields))
        count_bases[threads_for(positions, workspace)](there, limits, counts, events)
        if size:
            shift_events[threads_for(size, workspace)](around, there.bases, events)
        found = workspace.download(*counts, *events[1:])
    return assemble(reads, window, BaseCounts(*found[:2]), IndelEvents(host_events.offsets, *found[2:]))


def reads_of(reads: AlignedReads) -> PileupReads:
    columns = {name: getattr(reads, name) for name in PileupReads._fields if name != "reach"}
    return PileupReads(reach=np.maximum.accumulate(reads.reference_stop), **columns)


@cuda.jit(device=True)
def first_beyond(reach, position):
    """Return the first read whose `reach` lies beyond the position."""
    first, after = np.uint32(0), np.uint32(reach.size)
    while first < after:
        middle = np.uint32((first + after) >> np.uint32(1))
        if reach[middle] > position:
            after = middle
        else:
            first = np.uint32(middle + np.uint32(1))
    return first


@cuda.jit(device=True)
def read_at(reads, number, start):
    """Return a read's (start, stop, twice its number of operations plus its strand, first operation) and first base."""
    number = min(number, np.uint32(reads.position.size - 1))
    i, stop = np.uint64(reads.cigar_offsets[number]), np.uint64(reads.cigar_offsets[np.uint32(number + np.uint32(1))])
    operations = np.int32(stop - i) << np.int32(1) | np.int32((reads.flag[number] >> 4) & 1)
    word = np.int32(reads.cigar[i]) if i < stop else np.int32(0)
    first, last = np.int32(reads.position[number] - start), np.int32(reads.reference_stop[number] - start)
    return (first, last, np.int32(operations), word), np.int64(reads.read_offsets[number])


@cuda.jit(device=True)
def add(counted, cell, thread, quality):
    """Count one more read in that cell for the thread, and add its quality."""
    counted[0][cell, thread] += np.int32(1)
    counted[1][cell, thread] += quality


@cuda.jit(device=True)
def walk_to(w, reads, number, fields, own):
    """Return (the read's base at w, GONE or NOTHING; its index among all bases; its quality; the number of events
    before; the CIGAR operation after w where w ends an aligned stretch). fields, own: of `read_at`.
    """
    cigar, cigar_offsets, bases, qualities = reads.cigar, reads.cigar_offsets, reads.bases, reads.qualities
    r, _, operations, word = fields
    operations, i = np.int32(operations >> np.int32(1)), np.int32(0)
    q = event = quality = np.int32(0)
    while i < operations:
        operation, length = word & np.int32(15), np.int32(np.uint32(word) >> np.uint32(4))
        i = np.int32(i + 1)
        is_here = np.uint32(w - r) < np.uint32(length)
        if is_match(operation):
            if is_here:
                k, following = np.uint64(own + (q + w - r)), np.int32(0)
                if w == np.int32(r + length - 1) and i < operations:
                    following = np.int32(cigar[np.uint64(cigar_offsets[number] + i)])
                return np.int32(bases[k]), k, np.int32(qualities[k]), event, following
            r, q = np.int32(r + length), np.int32(q + length)
            quality = np.int32(qualities[np.uint64(own + (q - 1))]) if length else np.int32(0)
        elif operation == DELETION:
            if is_here:
                return np.int32(GONE), np.uint64(0), quality, event, np.int32(0)
            event, r, quality = np.int32(event + 1), np.int32(r + length), np.int32(0)
        elif operation == INSERTION:
            event, q, quality = np.int32(event + 1), np.int32(q + length), np.int32(0)
        elif operation == SOFT_CLIP:
            q, quality = np.int32(q + length), np.int32(0)
        else:
            r, quality = np.int32(r + (length if operation == SKIP else 0)), np.int32(0)
        if i < operations:
            word = np.int32(cigar[np.uint64(cigar_offsets[number] + i)])
    return np.int32(NOTHING), np.uint64(0), np.int32(0), event, np.int32(0)


@cuda.jit(device=True)
def note_event(events, at, following, anchor, k, quality):
    """Write the insertion or deletion that follows base k at the anchor, if one does."""
    gap, size = following & np.int32(15), np.int32(np.uint32(following) >> np.uint32(4))
    is_gap = gap == INSERTION or gap == DELETION  # `in` compares 64 bits
    if is_gap and is_event(size, quality):
        events.position[at], events.query[at] = anchor, np.int64(k + np.uint64(1))
        events.length[at] = size if gap == INSERTION else -size


@cuda_kernel
def count_bases(reads, limits, counts, events):
    """Fill the rows of `counts` at one position, and write the events anchored there in CIGAR order.

    Positions are counted from the window's start.
    """
    start, stop, min_base_quality = limits.start, limits.stop, np.int32(limits.min_base_quality)
    w, thread, lane = np.int32(cuda.grid(1)), np.uint32(cuda.threadIdx.x), np.uint32(cuda.laneid)
    counted = cuda.shared.array((CELLS, THREADS), np.int32), cuda.shared.array((CELLS, THREADS), np.int32)
    ahead, bases_at = cuda.shared.array((FIELDS, THREADS), np.int32), cuda.shared.array(THREADS, np.int64)
    for cell in range(CELLS):
        counted[0][cell, thread] = counted[1][cell, thread] = 0
    first, is_inside = np.int32(w - np.int32(lane)), w < stop - start
    first_read = number = first_beyond(reads.reach, start + first)
    while True:
        cuda.syncwarp()  # keep the threads together
        each = np.uint32(np.uint32(number - first_read) & np.uint32(WARP - 1))
        if each == 0:  # each thread looks up one of their next reads
            fields, bases_at[thread] = read_at(reads, np.uint32(number + lane), start)
            for field in range(FIELDS):
                ahead[field, thread] = fields[field]
            cuda.syncwarp()
        each = np.uint32(each + np.uint32(thread - lane))
        fields = ahead[0, each], ahead[1, each], ahead[2, each], ahead[3, each]
        if number >= np.uint32(reads.position.size) or fields[0] >= np.int32(first + np.int32(WARP)):
            break
        if is_inside and fields[0] <= w and w < fields[1]:
            base, k, quality, event, following = walk_to(w, reads, number, fields, bases_at[each])
            side = np.uint32(fields[2] & np.int32(1))
            if base < GONE:
                if is_usable(base, quality, min_base_quality):
                    add(counted, np.uint32(np.uint32(base) * np.uint32(SIDES) + side), thread, quality)
                note_event(events, np.uint64(events.offsets[number] + event), following, start + w, k, quality)
            elif base == GONE and quality > 0:
                add(counted, np.uint32(np.uint32(DELETED * SIDES) + side), thread, quality)
        number = np.uint32(number + np.uint32(1))
    if is_inside:
        for row in range(ROWS):
            for of_side in range(SIDES):
                cell = row * SIDES + of_side
                counts.counts[w, row, of_side] = counted[0][cell, thread]
                counts.quality_sums[w, row, of_side] = counted[1][cell, thread]


@cuda_kernel
def shift_events(window, bases, events):
    """Move one event left while the base before it equals its last base."""
    event = cuda.grid(1)
    if event < events.length.size and events.length[event] != 0:
        events.position[event], events.shift[event] = move_left(
            window.bases,
            window.start,
            bases,
            events.position[event],
            np.int64(events.length[event]),
            events.query[event],
        )
