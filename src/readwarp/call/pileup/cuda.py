"""Pileup on CUDA: one thread per reference position, so that no two write to one place.

The threads of a warp go through the reads across their positions together, in file order, from the first that reaches
beyond the warp's first position: it is found by bisection in the running maximum of the reads' stops. So they read
neighbouring bases of one read at a time, and what is the read's own once for all. A thread counts in shared memory, and
writes the events that have its position as their anchor. A second kernel moves events left, one thread each.
"""

import numpy as np

from readwarp.batches import AlignedReads, Pileup
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.pileup.events import Events, assemble, new_events
from readwarp.call.pileup.scalar import DELETED, is_usable, moved_left
from readwarp.config import CallParameters
from readwarp.device.backend import Backend
from readwarp.device.cuda_launch import THREADS, WARP, threads_for
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import current
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match

COLUMNS = ("position", "reference_stop", "flag", "cigar", "cigar_offsets", "bases", "qualities", "read_offsets")
ROWS, SIDES = 5, 2  # of Pileup.counts
CELLS = ROWS * SIDES
FIELDS = 4  # of `read_at`
GONE, NOTHING = 5, 6  # what a read may have at a position, beside bases: a deletion, or neither
MOST = (1 << 31) - 1


def count_window(
    reads: AlignedReads, reference: np.ndarray, start: int, stop: int, parameters: CallParameters
) -> Pileup:
    """See the step's contract. Takes and gives host arrays; the alleles are put together on the host."""
    host_events, shape = new_events(reads), (stop - start, ROWS, SIDES)
    if len(reads) == 0:
        return assemble(reads, host_events, np.zeros(shape, np.int32), np.zeros(shape, np.int32), start, stop)
    backend = Backend("cuda")
    with current().frame() as workspace:
        there, events = backend.to_device(reads, *COLUMNS), backend.to_device(host_events)
        counts, quality_sums = workspace.empty(shape, np.int32), workspace.empty(shape, np.int32)
        reach = workspace.upload(np.maximum.accumulate(reads.reference_stop))
        count_bases[threads_for(stop - start, workspace)](
            tuple(getattr(there, column) for column in COLUMNS), reach,
            (start, stop, np.int32(parameters.min_base_quality), np.int32(min(parameters.max_depth, MOST))),
            counts, quality_sums, (events.offsets, events.position, events.length, events.query),
        )  # fmt: skip
        moving = (events.position, events.length, events.query, events.shift)
        if host_events.length.size:
            shift_events[threads_for(host_events.length.size, workspace)](
                workspace.upload(reference), start, there.bases, *moving
            )
        counts, quality_sums, *moved = workspace.download(counts, quality_sums, *moving)
    return assemble(reads, Events(host_events.offsets, *moved), counts, quality_sums, start, stop)


@cuda.jit(device=True)
def first_beyond(reach, position):
    """The first read from which on `reach` lies behind the position."""
    first, behind = np.uint32(0), np.uint32(reach.size)
    while first < behind:
        middle = np.uint32((first + behind) >> np.uint32(1))
        if reach[middle] > position:
            behind = middle
        else:
            first = np.uint32(middle + np.uint32(1))
    return first


@cuda.jit(device=True)
def read_at(reads, number, start):
    """((start, stop, twice its CIGAR operations and 1 if it is reverse, the first of them), first base) of a read."""
    position, reference_stop, flag, cigar, cigar_offsets, _, _, read_offsets = reads
    number = min(number, np.uint32(position.size - 1))
    i, stop = np.uint64(cigar_offsets[number]), np.uint64(cigar_offsets[np.uint32(number + np.uint32(1))])
    operations = np.int32(stop - i) << np.int32(1) | np.int32((flag[number] >> 4) & 1)
    word = np.int32(cigar[i]) if i < stop else np.int32(0)
    fields = np.int32(position[number] - start), np.int32(reference_stop[number] - start), np.int32(operations), word
    return fields, np.int64(read_offsets[number])


@cuda.jit(device=True)
def add(counted, cell, thread, quality):
    """One more of that row and side, to the thread's counts and to its sums."""
    counted[0][cell, thread] += np.int32(1)
    counted[1][cell, thread] += quality


@cuda.jit(device=True)
def walk_to(w, reads, number, fields, own):
    """(the read's base at w, GONE or NOTHING; its place among all bases, its quality, the events before, the CIGAR
    operation behind w if w is the last of an aligned stretch). fields, own: of `read_at`.
    """
    cigar, cigar_offsets, bases, qualities = reads[3], reads[4], reads[5], reads[6]
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


@cuda_kernel
def count_bases(reads, reach, window, counts, quality_sums, events):
    """Fill the rows of `counts` and `quality_sums` at one position, and the events anchored there, unmoved.

    reads: the arrays of COLUMNS. window: start, stop, min_base_quality, max_depth. events: offsets, position, length,
    query. Positions are counted from the window's start.
    """
    start, stop, min_base_quality, max_depth = window
    event_offsets, event_position, event_length, event_query = events
    w, thread, lane = np.int32(cuda.grid(1)), np.uint32(cuda.threadIdx.x), np.uint32(cuda.laneid)
    counted = cuda.shared.array((CELLS, THREADS), np.int32), cuda.shared.array((CELLS, THREADS), np.int32)
    ahead, bases_at = cuda.shared.array((FIELDS, THREADS), np.int32), cuda.shared.array(THREADS, np.int64)
    for cell in range(CELLS):
        counted[0][cell, thread] = counted[1][cell, thread] = 0
    depth, first, is_inside = np.int32(0), np.int32(w - np.int32(lane)), w < stop - start
    first_read = number = first_beyond(reach, start + first)
    while True:
        cuda.syncwarp()  # the threads stay together
        each = np.uint32(np.uint32(number - first_read) & np.uint32(WARP - 1))
        if each == 0:  # they look up their next reads, one a thread
            fields, bases_at[thread] = read_at(reads, np.uint32(number + lane), start)
            for field in range(FIELDS):
                ahead[field, thread] = fields[field]
            cuda.syncwarp()
        each = np.uint32(each + np.uint32(thread - lane))
        fields = ahead[0, each], ahead[1, each], ahead[2, each], ahead[3, each]
        if number >= np.uint32(reach.size) or fields[0] >= np.int32(first + np.int32(WARP)):
            break
        if is_inside and fields[0] <= w and w < fields[1]:
            base, k, quality, event, following = walk_to(w, reads, number, fields, bases_at[each])
            side, is_open = np.uint32(fields[2] & np.int32(1)), depth < max_depth
            if base < GONE:
                if is_usable(base, quality, min_base_quality) & is_open:
                    depth = np.int32(depth + 1)
                    add(counted, np.uint32(np.uint32(base) * np.uint32(SIDES) + side), thread, quality)
                gap, size = following & np.int32(15), np.int32(np.uint32(following) >> np.uint32(4))
                is_event = (gap == INSERTION or gap == DELETION) and size <= MAX_INDEL  # noqa: SIM109
                if is_event and is_open and quality > 0:
                    at = np.uint64(event_offsets[number] + event)
                    event_position[at], event_query[at] = start + w, np.int64(k + np.uint64(1))
                    event_length[at] = size if gap == INSERTION else -size
            elif base == GONE and quality > 0 and is_open:
                depth = np.int32(depth + 1)
                add(counted, np.uint32(np.uint32(DELETED * SIDES) + side), thread, quality)
        number = np.uint32(number + np.uint32(1))
    if is_inside:
        for row in range(ROWS):
            for of_side in range(SIDES):
                cell = row * SIDES + of_side
                counts[w, row, of_side], quality_sums[w, row, of_side] = (
                    counted[0][cell, thread],
                    counted[1][cell, thread],
                )


@cuda_kernel
def shift_events(reference, start, bases, event_position, event_length, event_query, event_shift):
    """Move one event left while the base before it equals its last base."""
    event = cuda.grid(1)
    if event >= event_position.size or event_length[event] == 0:
        return
    event_position[event], event_shift[event] = moved_left(
        reference, start, bases, event_position[event], np.int64(event_length[event]), event_query[event]
    )
