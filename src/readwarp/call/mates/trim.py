"""Which bases of each read are evidence (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Window
from readwarp.call.mates import MISMATCH, TOLERANCE
from readwarp.call.mates.pairs import NONE, REVERSE, Pairs, hard_clips
from readwarp.call.mates.primers import Primers
from readwarp.call.regions import MIN_CLIP
from readwarp.device.jit import kernel
from readwarp.ragged import empty
from readwarp.rules.bases import OUTSIDE
from readwarp.rules.cigar import is_match, run_of, soft_clips

NOWHERE = 1 << 60


class Bounds(NamedTuple):
    """The bases of each read that are evidence, [first, stop) as numbered in AlignedReads."""

    first: Annotated[ndarray, "int64 [reads]"]
    stop: Annotated[ndarray, "int64 [reads]"]
    beyond: Annotated[ndarray, "int32 [reads]"]  # bases left out beyond the mate ...
    hidden: Annotated[ndarray, "int32 [reads, 2]"]  # ... and of the fragment, before the first and after the last


def find_bounds(reads: AlignedReads, pairs: Pairs, window: Window, primers: Primers, ignore_soft_clips: bool) -> Bounds:
    """primers: those of the window's contig."""
    out = empty(Bounds, {"reads": len(reads)})
    keep_fragments(reads, pairs, out)
    leave_out_ends(reads, pairs, window, primers, ignore_soft_clips, out)
    return out


@kernel
def keep_fragments(reads, pairs, out):
    """Bounds without what lies beyond the mate."""
    cigar, cigar_offsets, read_offsets, mates = reads.cigar, reads.cigar_offsets, reads.read_offsets, pairs.mate
    for read in range(mates.size):
        first, stop, mate = read_offsets[read], read_offsets[read + 1], mates[read]
        is_reverse, fragment_end = reads.flag[read] & REVERSE, reads.fragment_end[read]
        low, high = first, stop
        if mate != NONE:
            leading, trailing = hard_clips(cigar, cigar_offsets[mate], cigar_offsets[mate + 1])
            if is_reverse:
                low = read_offsets[mate] - leading + pairs.shift[read]
            else:
                high = read_offsets[mate + 1] + trailing + pairs.shift[read]
        elif is_reverse and 0 <= fragment_end < reads.reference_stop[read]:
            low = base_at(reads, read, fragment_end)
        elif not is_reverse and fragment_end > reads.position[read]:
            high = base_at(reads, read, fragment_end)
        out.first[read], out.stop[read] = max(first, low), min(stop, high)
        out.beyond[read] = max(0, low - first) + max(0, stop - high)


@kernel
def leave_out_ends(reads, pairs, window, primers, ignore_soft_clips, out):
    """Narrow the bounds by primers and clips."""
    cigar, cigar_offsets, read_offsets = reads.cigar, reads.cigar_offsets, reads.read_offsets
    for read in range(out.first.size):
        begin, end = out.first[read], out.stop[read]
        first, stop = begin, end
        if primers.start.size:
            low, high = amplicon_of(reads, pairs, read, primers)
            first = max(first, base_at(reads, read, low)) if low > -NOWHERE else first
            stop = min(stop, base_at(reads, read, high)) if high < NOWHERE else stop
        leading, trailing = soft_clips(cigar, cigar_offsets[read], cigar_offsets[read + 1])
        inner, outer = read_offsets[read] + leading, read_offsets[read + 1] - trailing
        if leading and is_masked(reads, window, inner - 1, begin, -1, reads.position[read] - 1):
            first = max(first, inner)
        if trailing and is_masked(reads, window, outer, end, 1, reads.reference_stop[read]):
            stop = min(stop, outer)
        out.hidden[read, 0], out.hidden[read, 1] = max(0, min(first, end) - begin), max(0, end - max(stop, begin))
        if ignore_soft_clips:
            first, stop = max(first, inner), min(stop, outer)
        out.first[read], out.stop[read] = first, max(first, stop)


@kernel
def base_at(reads, read, target):
    """Index of the first base at or after a reference position; clipped ends continue along the diagonal."""
    position, cigar_offsets, cigar = reads.position[read], reads.cigar_offsets, reads.cigar
    first, last = reads.read_offsets[read], reads.read_offsets[read + 1]
    leading, trailing = soft_clips(cigar, cigar_offsets[read], cigar_offsets[read + 1])
    if target < position:
        return max(first, first + leading - (position - target))
    if target >= reads.reference_stop[read]:
        return min(last, last - trailing + target - reads.reference_stop[read])
    p, q = position, first
    for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
        operation, _, on_reference, on_read = run_of(cigar[i])
        if p + on_reference > target:
            return q + target - p if is_match(operation) else q
        p, q = p + on_reference, q + on_read
    return last


@kernel
def is_masked(reads, window, base, limit, step, position):
    """Whether clipped bases, from the innermost on outwards to the limit, match the reference along the diagonal."""
    reference, bases, score, best = window.bases, reads.bases, 0, 0
    place = position - window.first
    while (base < limit if step > 0 else base >= limit) and 0 <= place < reference.size and best < MIN_CLIP:
        if reference[place] == OUTSIDE:
            break
        if bases[base] < 4 and reference[place] < 4:
            score += 1 if bases[base] == reference[place] else -MISMATCH
        best = max(best, score)
        base, place = base + step, place + step
    return best >= MIN_CLIP


@kernel
def amplicon_of(reads, pairs, read, primers):
    """[low, high): where the read's fragment was copied from the sample, not from a primer; see the step's contract."""
    is_reverse, mate = reads.flag[read] & REVERSE, pairs.mate[read]
    outer, aligned = outer_end(reads, read)
    own = find_primer(primers, outer, aligned, is_reverse)
    low, high, other = -NOWHERE, NOWHERE, np.int64(NONE)
    if mate != NONE:
        outer, aligned = outer_end(reads, mate)
        other = find_primer(primers, outer, aligned, not is_reverse)
    elif reads.fragment_end[read] >= 0:
        end = reads.fragment_end[read] - (not is_reverse)
        other = find_primer(primers, end, end, not is_reverse)
    elif own != NONE:
        other = primers.partner[own]
    left, right = (other, own) if is_reverse else (own, other)
    if left != NONE:
        low = primers.stop[left]
    if right != NONE:
        high = primers.start[right]
    return low, high


@kernel
def outer_end(reads, read):
    """Where the read's 5' end lies, if clipped bases continue along the diagonal; its first aligned base from there."""
    first, stop = reads.cigar_offsets[read], reads.cigar_offsets[read + 1]
    soft, hard = soft_clips(reads.cigar, first, stop), hard_clips(reads.cigar, first, stop)
    if reads.flag[read] & REVERSE:
        last = reads.reference_stop[read] - 1
        return last + soft[1] + hard[1], last
    return reads.position[read] - soft[0] - hard[0], reads.position[read]


@kernel
def find_primer(primers, outer, aligned, is_reverse):
    """The primer of a strand in which the outermost base of a read lies, or its first aligned one; NONE if none.

    Of several, the one that begins nearest to the outermost base.
    """
    found, nearest = np.int64(NONE), np.int64(NOWHERE)
    before = TOLERANCE if not is_reverse else 0
    after = TOLERANCE - before
    stop = np.searchsorted(primers.start, max(outer, aligned) + before, side="right")
    first = np.searchsorted(primers.reach, min(outer, aligned) - after, side="right")
    for k in range(first, stop):
        low, high = primers.start[k] - before, primers.stop[k] + after
        if primers.is_reverse[k] == (is_reverse != 0) and (low <= outer < high or low <= aligned < high):
            distance = abs(outer - (primers.stop[k] - 1 if is_reverse else primers.start[k]))
            if distance < nearest:
                found, nearest = np.int64(k), distance
    return found
