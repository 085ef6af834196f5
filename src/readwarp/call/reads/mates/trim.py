"""Find the bases of each read that are evidence (host only)."""

from typing import Annotated, NamedTuple

from numpy import ndarray

from readwarp.call.places.bases import Window
from readwarp.call.reads.clips import MIN_CLIP
from readwarp.call.reads.mates import MISMATCH
from readwarp.call.reads.mates.pairs import NONE, OverlappingMates
from readwarp.call.reads.mates.primers import NOWHERE, Primers, find_amplicons
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import empty
from readwarp.rules.bases import OUTSIDE
from readwarp.rules.cigar import hard_clips, is_match, run_of, soft_clips
from readwarp.rules.flags import REVERSE


class Bounds(NamedTuple):
    """Bases of each read that are evidence, [first, stop) as numbered in AlignedReads."""

    first: Annotated[ndarray, "int64 [reads]"]
    stop: Annotated[ndarray, "int64 [reads]"]
    beyond: Annotated[ndarray, "int32 [reads]"]  # bases removed beyond the mate ...
    hidden: Annotated[ndarray, "int32 [reads, 2]"]  # ... and in primers and clips, before the first and after the last


def find_bounds(
    reads: AlignedReads, pairs: OverlappingMates, window: Window, primers: Primers, ignore_soft_clips: bool
) -> tuple[Bounds, ndarray]:
    """Return the bounds, and whether a fragment begins at a primer (bool [reads]). primers: of the window's contig."""
    out = empty(Bounds, {"reads": len(reads)})
    low, high = find_amplicons(reads, pairs, primers)
    narrow(reads, pairs, window, low, high, ignore_soft_clips, out)
    return out, (low > -NOWHERE) | (high < NOWHERE)


@kernel
def narrow(reads, pairs, window, low, high, ignore_soft_clips, out):
    """Exclude bases beyond the mate, outside [low, high) (int64 [reads]) and in deliberate clips."""
    for read in range(pairs.mate.size):
        begin, end = reads.read_offsets[read], reads.read_offsets[read + 1]
        mate = pairs.mate[read]
        own_start, own_stop = reads.position[read], reads.reference_stop[read]
        fragment_end = reads.fragment_end[read]
        leading, trailing = soft_clips(reads.cigar, reads.cigar_offsets[read], reads.cigar_offsets[read + 1])
        inner, outer = begin + leading, end - trailing
        first, stop = begin, end
        if mate != NONE:
            before, after = hard_clips(reads.cigar, reads.cigar_offsets[mate], reads.cigar_offsets[mate + 1])
            if reads.flag[read] & REVERSE:
                first = reads.read_offsets[mate] - before + pairs.shift[read]
            else:
                stop = reads.read_offsets[mate + 1] + after + pairs.shift[read]
        elif reads.flag[read] & REVERSE:
            if 0 <= fragment_end < own_stop:
                first = base_at(reads, read, fragment_end)
        elif fragment_end > own_start:
            stop = base_at(reads, read, fragment_end)
        out.beyond[read] = max(0, first - begin) + max(0, end - stop)
        begin, end = max(begin, first), min(end, stop)
        first, stop = begin, end
        if low[read] > -NOWHERE:
            first = max(first, base_at(reads, read, low[read]))
        if high[read] < NOWHERE:
            stop = min(stop, base_at(reads, read, high[read]))
        if leading and is_masked(reads, window, inner - 1, begin, -1, own_start - 1):
            first = max(first, inner)
        if trailing and is_masked(reads, window, outer, end, 1, own_stop):
            stop = min(stop, outer)
        out.hidden[read, 0], out.hidden[read, 1] = max(0, min(first, end) - begin), max(0, end - max(stop, begin))
        if ignore_soft_clips:
            first, stop = max(first, inner), min(stop, outer)
        out.first[read], out.stop[read] = first, max(first, stop)


@kernel
def base_at(reads, read, target):
    """Return the index of the first base at or after a reference position; clips continue along the diagonal."""
    position = reads.position[read]
    first, last = reads.read_offsets[read], reads.read_offsets[read + 1]
    leading, trailing = soft_clips(reads.cigar, reads.cigar_offsets[read], reads.cigar_offsets[read + 1])
    if target < position:
        return max(first, first + leading - (position - target))
    if target >= reads.reference_stop[read]:
        return min(last, last - trailing + target - reads.reference_stop[read])
    p, q = position, first
    for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
        operation, _, on_reference, on_read = run_of(reads.cigar[i])
        if p + on_reference > target:
            return q + target - p if is_match(operation) else q
        p, q = p + on_reference, q + on_read
    return last


@kernel
def is_masked(reads, window, base, limit, step, position):
    """Return whether clipped bases, from the innermost outwards to the limit, match the reference on the diagonal."""
    score, best = 0, 0
    place = position - window.first
    while (base < limit if step > 0 else base >= limit) and 0 <= place < window.bases.size and best < MIN_CLIP:
        if window.bases[place] == OUTSIDE:
            break
        if reads.bases[base] < 4 and window.bases[place] < 4:
            score += 1 if reads.bases[base] == window.bases[place] else -MISMATCH
        best = max(best, score)
        base, place = base + step, place + step
    return best >= MIN_CLIP
