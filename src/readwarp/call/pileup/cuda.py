"""Pileup on CUDA: one thread per reference position, so that no two write to one place.

A thread walks the CIGARs of the reads across its position, in file order; it finds the first of them by bisection in
the running maximum of the reads' stops. It writes the events that have the position as their anchor. A second kernel
moves events left, one thread each.
"""

import numpy as np

from readwarp.batches import AlignedReads, Pileup
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.pileup.events import Events, assemble, new_events
from readwarp.call.pileup.scalar import DELETED, DELETION, INSERTION, SKIP, SOFT_CLIP, is_match, is_usable, moved_left
from readwarp.config import CallParameters
from readwarp.device.backend import Backend
from readwarp.device.cuda_launch import threads_for
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import current

COLUMNS = ("position", "reference_stop", "flag", "cigar", "cigar_offsets", "bases", "qualities", "read_offsets")


def count_window(
    reads: AlignedReads, reference: np.ndarray, start: int, stop: int, parameters: CallParameters
) -> Pileup:
    """See the step's contract. Takes and gives host arrays; the alleles are put together on the host."""
    host_events, shape = new_events(reads), (stop - start, 5, 2)
    if len(reads) == 0:
        return assemble(reads, host_events, np.zeros(shape, np.int32), np.zeros(shape, np.int32), start, stop)
    backend = Backend("cuda")
    with current().frame() as workspace:
        there, events = backend.to_device(reads, *COLUMNS), backend.to_device(host_events)
        counts, quality_sums = workspace.empty(shape, np.int32), workspace.empty(shape, np.int32)
        reach = workspace.upload(np.maximum.accumulate(reads.reference_stop))
        count_bases[threads_for(stop - start, workspace)](
            *(there.position, there.reference_stop, reach, there.flag, there.cigar, there.cigar_offsets),
            *(there.bases, there.qualities, there.read_offsets),
            *(start, stop, parameters.min_base_quality, parameters.max_depth),
            *(counts, quality_sums, events.offsets, events.position, events.length, events.query),
        )
        moving = (events.position, events.length, events.query, events.shift)
        if host_events.length.size:
            shift_events[threads_for(host_events.length.size, workspace)](
                workspace.upload(reference), start, there.bases, *moving
            )
        counts, quality_sums, *moved = workspace.download(counts, quality_sums, *moving)
    return assemble(reads, Events(host_events.offsets, *moved), counts, quality_sums, start, stop)


@cuda_kernel
def count_bases(
    position, reference_stop, reach, flag, cigar, cigar_offsets, bases, qualities, read_offsets,
    start, stop, min_base_quality, max_depth,
    counts, quality_sums, event_offsets, event_position, event_length, event_query,
):  # fmt: skip
    """Fill the rows of `counts` and `quality_sums` at one position, and the events anchored there, unmoved."""
    w = cuda.grid(1)
    p = start + w
    if p >= stop:
        return
    for base in range(5):
        for side in range(2):
            counts[w, base, side] = quality_sums[w, base, side] = 0
    depth, first, behind = 0, 0, reach.size
    while first < behind:  # the first read from which on `reach` lies behind p
        middle = (first + behind) // 2
        first, behind = (first, middle) if reach[middle] > p else (middle + 1, behind)
    for read in range(first, position.size):
        if position[read] > p:
            break
        if reference_stop[read] <= p:
            continue
        strand = (flag[read] >> 4) & 1
        r, q, event, quality = position[read], read_offsets[read], event_offsets[read], 0
        for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            is_here = r <= p < r + length
            if is_match(operation):
                if is_here:
                    k = q + p - r
                    is_open = depth < max_depth
                    if is_open and is_usable(bases[k], qualities[k], min_base_quality):
                        depth += 1
                        counts[w, bases[k], strand] += 1
                        quality_sums[w, bases[k], strand] += qualities[k]
                    if p == r + length - 1 and is_open and qualities[k] > 0 and i + 1 < cigar_offsets[read + 1]:
                        following, size = cigar[i + 1] & 15, np.int64(cigar[i + 1] >> 4)
                        if (following == INSERTION or following == DELETION) and size <= MAX_INDEL:  # noqa: SIM109
                            event_position[event] = p
                            event_length[event] = size if following == INSERTION else -size
                            event_query[event] = k + 1
                    break
                r, q = r + length, q + length
                quality = qualities[q - 1] if length else 0
            elif operation == DELETION:
                if is_here:
                    if quality > 0 and depth < max_depth:
                        depth += 1
                        counts[w, DELETED, strand] += 1
                        quality_sums[w, DELETED, strand] += quality
                    break
                event, r, quality = event + 1, r + length, 0
            elif operation == INSERTION:
                event, q, quality = event + 1, q + length, 0
            elif operation == SOFT_CLIP:
                q, quality = q + length, 0
            else:
                r, quality = r + (length if operation == SKIP else 0), 0


@cuda_kernel
def shift_events(reference, start, bases, event_position, event_length, event_query, event_shift):
    """Move one event left while the base before it equals its last base."""
    event = cuda.grid(1)
    if event >= event_position.size or event_length[event] == 0:
        return
    event_position[event], event_shift[event] = moved_left(
        reference, start, bases, event_position[event], np.int64(event_length[event]), event_query[event]
    )
