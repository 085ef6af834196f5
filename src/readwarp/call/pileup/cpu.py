"""Pileup on the CPU: one pass over the reads."""

import numpy as np

from readwarp.batches import AlignedReads, Pileup
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.pileup.events import assemble, new_events
from readwarp.call.pileup.scalar import DELETED, is_usable, moved_left
from readwarp.config import CallParameters
from readwarp.device.jit import kernel
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match


def count_window(
    reads: AlignedReads, reference: np.ndarray, start: int, stop: int, parameters: CallParameters
) -> Pileup:
    """See the step's contract."""
    counts = np.zeros((stop - start, 5, 2), np.int32)
    quality_sums = np.zeros((stop - start, 5, 2), np.int32)
    events = new_events(reads)
    count_bases(
        *(reads.position, reads.flag, reads.cigar, reads.cigar_offsets),
        *(reads.bases, reads.qualities, reads.read_offsets),
        *(start, stop, parameters.min_base_quality, parameters.max_depth, np.zeros(stop - start, np.int32)),
        *(counts, quality_sums, events.offsets, events.position, events.length, events.query),
    )
    shift_events(reference, start, reads.bases, events.position, events.length, events.query, events.shift)
    return assemble(reads, events, counts, quality_sums, start, stop)


@kernel
def count_bases(
    position, flag, cigar, cigar_offsets, bases, qualities, read_offsets, start, stop, min_base_quality, max_depth,
    depth, counts, quality_sums, event_offsets, event_position, event_length, event_query,
):  # fmt: skip
    """Add every read to `depth`, `counts`, `quality_sums`; write its events, unmoved (`event_length` < 0: deletion)."""
    for read in range(position.size):
        strand = np.uint64((flag[read] >> 4) & 1)
        p, q, event = position[read], read_offsets[read], event_offsets[read]
        quality, is_open = 0, False  # of the last aligned base: its quality, whether it came before max_depth
        for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            if is_match(operation):
                for k in range(max(0, start - p), min(length, stop - p)):
                    w, place = np.uint64(p + k - start), np.uint64(q + k)  # unsigned: no test for negative indices
                    base = np.uint64(bases[place])
                    is_open = depth[w] < max_depth
                    if is_open and is_usable(base, qualities[place], min_base_quality):
                        depth[w] += 1
                        counts[w, base, strand] += 1
                        quality_sums[w, base, strand] += qualities[place]
                p, q = p + length, q + length
                quality = qualities[q - 1] if length else 0
            elif operation in (INSERTION, DELETION):
                if start < p <= stop and is_open and quality > 0 and length <= MAX_INDEL:
                    event_position[event] = p - 1
                    event_length[event] = length if operation == INSERTION else -length
                    event_query[event] = q
                event += 1
                if operation == INSERTION:
                    q += length
                else:
                    for across in range(max(p, start), min(p + length, stop)):
                        w = np.uint64(across - start)
                        if quality > 0 and depth[w] < max_depth:
                            depth[w] += 1
                            counts[w, DELETED, strand] += 1
                            quality_sums[w, DELETED, strand] += quality
                    p += length
                quality = 0
            elif operation == SOFT_CLIP:
                q, quality = q + length, 0
            else:
                p, quality = p + (length if operation == SKIP else 0), 0


@kernel
def shift_events(reference, start, bases, event_position, event_length, event_query, event_shift):
    """Move each event left while the base before it equals its last base."""
    for event in range(event_position.size):
        length = np.int64(event_length[event])
        if length != 0:
            event_position[event], event_shift[event] = moved_left(
                reference, start, bases, event_position[event], length, event_query[event]
            )
