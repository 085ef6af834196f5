"""Cut long reads to the surroundings of a window, so that its cost follows its size (host only)."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import replace
from readwarp.rules.cigar import SOFT_CLIP, is_match, run_of


def cut_long(reads: AlignedReads, low: int, high: int) -> AlignedReads:
    """Cut long reads; see the step's contract. reads: of `join_mates`, overlapping [low, high)."""
    if len(reads) == 0 or (reads.position.min() >= low and reads.reference_stop.max() <= high):
        return reads
    columns = "position", "reference_stop", "shared", "hidden", "cigar", "cigar_offsets", "read_offsets"
    made = {name: np.zeros_like(getattr(reads, name)) for name in (*columns, "bases", "qualities")}
    out = replace(reads, **made)
    copy_parts(reads, low, high, out)
    sizes = {"bases": out.read_offsets[-1], "qualities": out.read_offsets[-1], "cigar": out.cigar_offsets[-1]}
    return replace(out, **{name: getattr(out, name)[:size].copy() for name, size in sizes.items()})  # room is freed


@kernel
def find_part(reads, read, low, high):
    """Find the part of a read from the last aligned base at or before `low` to the first at or after `high` - 1.

    Returns its first operation, the bases of it that are cut off, its last operation, the bases of it that stay, its
    bases [first, stop), and its span [start, end) in the contig.
    """
    cigar, position, reference_stop = reads.cigar, reads.position[read], reads.reference_stop[read]
    begin, last = reads.cigar_offsets[read], reads.cigar_offsets[read + 1] - 1
    first, stop = reads.read_offsets[read], reads.read_offsets[read + 1]
    start, end = position, reference_stop
    skipped, taken = np.int64(0), np.int64(cigar[last] >> 4)
    p, q = position, first
    for i in range(begin, last + 1):
        operation, length, on_reference, on_read = run_of(cigar[i])
        if is_match(operation) and length:
            if position < low and p <= low:
                begin, skipped = i, min(low - p, length - 1)
                first, start = q + skipped, p + skipped
            if reference_stop > high and p + length >= high:
                last, taken = i, min(length, max(np.int64(1), high - p))
                stop, end = q + taken, p + taken
                break
        p, q = p + on_reference, q + on_read
    return (begin, skipped), (last, taken), (first, stop), (start, end)


@kernel
def copy_parts(reads, low, high, out):
    """Fill the columns of `out` that depend on where reads are cut; its offsets begin with 0."""
    offsets = reads.cigar_offsets
    used = done = 0
    for read in range(out.shared.shape[0]):
        (begin, skipped), (last, taken), (first, stop), (start, end) = find_part(reads, read, low, high)
        size = stop - first
        out.position[read], out.reference_stop[read] = start, end
        out.bases[used : used + size] = reads.bases[first:stop]
        out.qualities[used : used + size] = reads.qualities[first:stop]
        for i in range(begin, last + 1):
            length = taken if i == last else np.int64(reads.cigar[i] >> 4)
            length -= skipped if i == begin else 0
            out.cigar[done + i - begin] = length << 4 | reads.cigar[i] & 15
        used, done = used + size, done + last + 1 - begin
        out.read_offsets[read + 1], out.cigar_offsets[read + 1] = used, done
        for side in range(2):
            out.shared[read, side] = min(size, max(0, reads.shared[read, side] - (first - reads.read_offsets[read])))
        leading = clip_of(reads.cigar[offsets[read]]) if begin > offsets[read] else 0
        trailing = clip_of(reads.cigar[offsets[read + 1] - 1]) if last < offsets[read + 1] - 1 else 0
        out.hidden[read, 0] = reads.hidden[read, 0] + leading + start - reads.position[read]
        out.hidden[read, 1] = reads.hidden[read, 1] + trailing + reads.reference_stop[read] - end


@scalar
def clip_of(code):
    """Return the soft-clipped bases of an operation."""
    return np.int64(code >> 4) if code & 15 == SOFT_CLIP else np.int64(0)
