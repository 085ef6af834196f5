"""Align reads that overhang an end of their contig, which aligners clip at a difference near it."""

import numpy as np

from readwarp.batches import AlignedReads, Window
from readwarp.call.places.strips import contigs_around
from readwarp.call.reads.circular.extend import Continued, align_clips
from readwarp.device.jit import kernel, scalar
from readwarp.ragged import take
from readwarp.rules.cigar import soft_clips

MAX_END, MAX_DIFFERENCES = 20, 1  # bases to the end of the contig, and mismatches among them


def align_overhangs(reads: AlignedReads, window: Window) -> AlignedReads:
    """Align clips as far as the contig's end where they match the reference; return the reads sorted by position."""
    first, stop = contigs_around(window, reads.position)[0], contigs_around(window, reads.reference_stop - 1)[1]
    found = Continued(*np.zeros((2, len(reads)), np.int64))
    find_overhangs(reads, window.bases, window.first, first, stop, found)
    is_changed = (found.before > 0) | (found.after > 0)
    if not is_changed.any():
        return reads
    reads = align_clips(reads, found)
    return take(reads, "reads", np.argsort(reads.position, kind="stable"))


@scalar
def are_alike(bases, base, reference, place, size):
    differences = 0
    for k in range(size):
        differences += bases[base + k] != reference[place + k]
    return differences <= MAX_DIFFERENCES


@kernel
def find_overhangs(reads, reference, begin, first, stop, found):
    """Set the clipped bases of each read, [first, stop), that lie on the contig and match it.

    reference: its bases from `begin` on.
    """
    bases, offsets, cigar_offsets = reads.bases, reads.read_offsets, reads.cigar_offsets
    for read in range(first.size):
        before, after = reads.position[read] - first[read], stop[read] - reads.reference_stop[read]
        if before > MAX_END and after > MAX_END:
            continue
        leading, trailing = soft_clips(reads.cigar, cigar_offsets[read], cigar_offsets[read + 1])
        place, end = first[read] - begin, reads.reference_stop[read] - begin
        own, last = offsets[read] + leading - before, offsets[read + 1] - trailing
        if 0 < before <= MAX_END and leading > before and are_alike(bases, own, reference, place, before):
            found.before[read] = before
        if 0 < after <= MAX_END and trailing > after and are_alike(bases, last, reference, end, after):
            found.after[read] = after
