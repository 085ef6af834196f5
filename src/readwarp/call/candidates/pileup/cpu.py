"""Count a pileup on the CPU, in one pass over the reads."""

import numpy as np

from readwarp.call.candidates.batches import Pileup
from readwarp.call.candidates.pileup.events import PileupLimits, assemble, new_counts, new_events
from readwarp.call.candidates.pileup.scalar import DELETED, is_event, is_usable, move_left
from readwarp.call.places.window import Window
from readwarp.compiler.jit import kernel
from readwarp.config import CallParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.rules.cigar import DELETION, INSERTION, is_match, run_of


def count_window(reads: AlignedReads, window: Window, parameters: CallParameters) -> Pileup:
    """Count the pileup of a window; see the step's contract."""
    window = window.trim()
    limits = PileupLimits(window.start, window.stop, parameters.min_base_quality)
    counts, events = new_counts(window), new_events(reads)
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
