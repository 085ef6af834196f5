"""Cut long reads to the surroundings of a window, so that its cost follows its size (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import empty, replace
from readwarp.rules.cigar import SOFT_CLIP, is_match, run_of


class KeptParts(NamedTuple):
    """Kept part of each read, from the last aligned base at or before a place to the first at or after another."""

    first_operation: Annotated[ndarray, "int64 [reads]"]  # in AlignedReads.cigar; its first `skipped` bases are cut off
    last_operation: Annotated[ndarray, "int64 [reads]"]  # its first `taken` bases stay
    skipped: Annotated[ndarray, "int64 [reads]"]
    taken: Annotated[ndarray, "int64 [reads]"]
    first_base: Annotated[ndarray, "int64 [reads]"]  # in AlignedReads.bases
    stop_base: Annotated[ndarray, "int64 [reads]"]
    start: Annotated[ndarray, "int64 [reads]"]  # in the contig
    stop: Annotated[ndarray, "int64 [reads]"]


def cut_long(reads: AlignedReads, low: int, high: int) -> AlignedReads:
    """Cut long reads; see the step's contract. reads: of `join_mates`, overlapping [low, high)."""
    if len(reads) == 0 or (reads.position.min() >= low and reads.reference_stop.max() <= high):
        return reads
    parts = empty(KeptParts, {"reads": len(reads)})
    find_parts(reads, low, high, parts)
    rows = {
        "reads": len(reads),
        "bases": int((parts.stop_base - parts.first_base).sum()),
        "operations": int((parts.last_operation - parts.first_operation + 1).sum()),
    }
    out = empty(
        AlignedReads, rows, contig=reads.contig, start=reads.start, stop=reads.stop, unassigned=reads.unassigned
    )
    copy_parts(reads, parts, out)
    same = {name: getattr(reads, name) for name in ("flag", "mapping_quality", "name_hash", "fragment_end", "sample")}
    return replace(out, position=parts.start, reference_stop=parts.stop, **same)


@kernel
def find_parts(reads, low, high, parts):
    """Fill the parts."""
    first_operation, last_operation, skipped, taken, first_base, stop_base, start, stop = parts
    for read in range(reads.position.size):
        first, last = reads.cigar_offsets[read], reads.cigar_offsets[read + 1] - 1
        first_operation[read], last_operation[read], skipped[read], taken[read] = first, last, 0, reads.cigar[last] >> 4
        first_base[read], stop_base[read] = reads.read_offsets[read], reads.read_offsets[read + 1]
        start[read], stop[read] = reads.position[read], reads.reference_stop[read]
        cuts_start, cuts_stop = reads.position[read] < low, reads.reference_stop[read] > high
        p, q = reads.position[read], first_base[read]
        for i in range(first, last + 1):
            operation, length, on_reference, on_read = run_of(reads.cigar[i])
            if is_match(operation) and length:
                if cuts_start and p <= low:
                    skip = min(low - p, length - 1)
                    first_operation[read], skipped[read] = i, skip
                    first_base[read], start[read] = q + skip, p + skip
                if cuts_stop and p + length >= high:
                    take = min(length, max(np.int64(1), high - p))
                    last_operation[read], taken[read] = i, take
                    stop_base[read], stop[read] = q + take, p + take
                    break
            p, q = p + on_reference, q + on_read


@kernel
def copy_parts(reads, parts, out):
    """Fill the columns of bases and operations, and those that count bases."""
    offsets = reads.cigar_offsets
    used = done = 0
    out.read_offsets[0] = out.cigar_offsets[0] = 0
    for read in range(out.shared.shape[0]):
        first, last = parts.first_operation[read], parts.last_operation[read]
        first_base, stop_base = parts.first_base[read], parts.stop_base[read]
        size = stop_base - first_base
        out.bases[used : used + size] = reads.bases[first_base:stop_base]
        out.qualities[used : used + size] = reads.qualities[first_base:stop_base]
        for i in range(first, last + 1):
            length = parts.taken[read] if i == last else np.int64(reads.cigar[i] >> 4)
            length -= parts.skipped[read] if i == first else 0
            out.cigar[done + i - first] = length << 4 | reads.cigar[i] & 15
        used, done = used + size, done + last + 1 - first
        out.read_offsets[read + 1], out.cigar_offsets[read + 1] = used, done
        before = first_base - reads.read_offsets[read]
        for side in range(2):
            out.shared[read, side] = min(size, max(0, reads.shared[read, side] - before))
        leading = clip_of(reads.cigar[offsets[read]]) if first > offsets[read] else 0
        trailing = clip_of(reads.cigar[offsets[read + 1] - 1]) if last < offsets[read + 1] - 1 else 0
        out.hidden[read, 0] = reads.hidden[read, 0] + leading + parts.start[read] - reads.position[read]
        out.hidden[read, 1] = reads.hidden[read, 1] + trailing + reads.reference_stop[read] - parts.stop[read]


@scalar
def clip_of(code):
    """Return the soft-clipped bases of an operation."""
    return np.int64(code >> 4) if code & 15 == SOFT_CLIP else np.int64(0)
