"""Reads with the bases that are evidence, and mates that overlap as one (host only). See the step's contract."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Window
from readwarp.call.mates import DEFAULT_QUALITY, MIN_ANCHOR, MIN_DIFFERENCES
from readwarp.call.mates.merge import merge_mates
from readwarp.call.mates.pairs import NONE, REVERSE, Pairs, find_pairs
from readwarp.call.mates.primers import Primers
from readwarp.call.mates.trim import Bounds, find_bounds
from readwarp.device.jit import kernel
from readwarp.ragged import empty, replace, take
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match, run_of

DROPPED = -2  # in `switch`: the read is part of its mate's fragment
UNKNOWN = 4  # a base


class Removed(NamedTuple):
    """Bases of reads that are no evidence."""

    position: Annotated[ndarray, "int64 [reads]"]
    beyond: Annotated[ndarray, "int32 [reads]"]  # their mate
    hidden: Annotated[ndarray, "int32 [reads]"]  # primers and clips that were made on purpose
    is_joined: Annotated[ndarray, "bool [reads]"]  # to its mate


def join_mates(
    reads: AlignedReads, window: Window, primers: Primers, ignore_soft_clips: bool
) -> tuple[AlignedReads, Removed]:
    """See the step's contract."""
    qualities = np.where(reads.qualities == 255, np.uint8(DEFAULT_QUALITY), reads.qualities)
    reads, pairs = replace(reads, qualities=qualities), find_pairs(reads)
    bounds = find_bounds(reads, pairs, window, primers, ignore_soft_clips)
    switch = np.full(len(reads), NONE, np.int64)
    choose_switches(reads, pairs, bounds, switch)
    removed = Removed(reads.position, bounds.beyond, bounds.hidden.sum(axis=1, dtype=np.int32), switch != NONE)
    return merge_mates(build(reads, pairs, bounds, switch)), removed


def build(reads: AlignedReads, pairs: Pairs, bounds: Bounds, switch: ndarray) -> AlignedReads:
    """The reads within their bounds, and fragments in place of their forward mates, in order of position."""
    rows = {"reads": len(reads), "bases": reads.bases.size, "operations": reads.cigar.size + 2 * len(reads)}
    out = empty(
        AlignedReads, rows, contig=reads.contig, start=reads.start, stop=reads.stop, unassigned=reads.unassigned
    )
    write_reads(reads, pairs, bounds, switch, out)
    out = replace(out, bases=out.bases[: out.read_offsets[-1]], qualities=out.qualities[: out.read_offsets[-1]])
    out = replace(out, cigar=out.cigar[: out.cigar_offsets[-1]])
    is_kept = np.diff(out.cigar_offsets) > 0
    if (np.diff(out.position[is_kept]) < 0).any():
        order = np.argsort(out.position, kind="stable")
        return take(out, "reads", order[is_kept[order]])
    return out if is_kept.all() else take(out, "reads", is_kept)


@kernel
def choose_switches(reads, pairs, bounds, switch):
    """Set the base of each forward read from which its fragment is aligned like its mate, and DROPPED for that mate."""
    for read in range(switch.size):
        mate, shift = pairs.mate[read], pairs.shift[read]
        if mate == NONE or reads.flag[read] & REVERSE:
            continue
        begin = max(pairs.begin[read], bounds.first[read], bounds.first[mate] + shift)
        end = min(pairs.end[read], bounds.stop[read], bounds.stop[mate] + shift)
        if is_anchor(reads.bases, begin, end):
            switch[read], switch[mate] = (begin + end + 1) // 2, DROPPED  # after a base of the stretch


@kernel
def is_anchor(bases, begin, end):
    """Whether the bases are enough to say how two reads that share them lie, being no tandem repeat."""
    if end - begin < MIN_ANCHOR:
        return False
    for shift in range(1, (end - begin) // 2 + 1):
        differences = 0
        for base in range(begin + shift, end):
            differences += bases[base] != bases[base - shift]
            if differences == MIN_DIFFERENCES:
                break
        if differences < MIN_DIFFERENCES:
            return False
    return True


@kernel
def write_reads(reads, pairs, bounds, switch, out):
    """Fill `out`; a read that is DROPPED, or has no aligned base in its bounds, has neither bases nor operations."""
    position, reference_stop, flag, mapping_quality = (
        reads.position,
        reads.reference_stop,
        reads.flag,
        reads.mapping_quality,
    )
    first, stop, hidden, mates = bounds.first, bounds.stop, bounds.hidden, pairs.mate
    used, operations = np.int64(0), np.int64(0)
    out.read_offsets[0] = out.cigar_offsets[0] = 0
    for read in range(switch.size):
        out.position[read], out.reference_stop[read] = position[read], reference_stop[read]
        out.flag[read], out.mapping_quality[read] = flag[read], mapping_quality[read]
        out.name_hash[read], out.sample[read] = reads.name_hash[read], reads.sample[read]
        out.fragment_end[read] = reads.fragment_end[read]
        out.hidden[read, 0], out.hidden[read, 1] = hidden[read, 0], hidden[read, 1]
        begin, mate = operations, mates[read]
        if switch[read] == NONE:
            operations = copy_operations(reads, read, first[read], stop[read], out, begin, operations)
        elif switch[read] != DROPPED:
            shift = pairs.shift[read]
            operations = copy_operations(reads, read, first[read], switch[read], out, begin, operations)
            cut = switch[read] - shift
            operations = copy_operations(reads, mate, cut, stop[mate], out, begin, operations)
        operations = close_operations(out.cigar, begin, operations)
        if operations > begin and switch[read] == NONE:
            for base in range(first[read], stop[read]):
                out.bases[used], out.qualities[used] = reads.bases[base], reads.qualities[base]
                used += 1
            out.shared[read, :] = 0 if flag[read] & REVERSE else stop[read] - first[read]
        elif operations > begin:
            used = join_bases(reads, read, mate, pairs.shift[read], bounds, out, used)
            out.hidden[read, 1] = hidden[mate, 1]
            out.mapping_quality[read] = max(mapping_quality[read], mapping_quality[mate])
        out.read_offsets[read + 1], out.cigar_offsets[read + 1] = used, operations
        if operations > begin:
            place_read(reads, read, mate if switch[read] != NONE else read, bounds, out)


@kernel
def copy_operations(reads, read, first, stop, out, begin, used):
    """Append what a read's bases [first, stop) are aligned to; returns the operations used so far.

    What stands before the first aligned base, from operation `begin` on, is clipped.
    """
    cigar, target, q = reads.cigar, out.cigar, reads.read_offsets[read]
    for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
        operation, length, on_reference, on_read = run_of(cigar[i])
        size = min(q + on_read, stop) - max(q, first)
        q += on_read
        is_begun = used > begin and target[used - 1] & 15 != SOFT_CLIP
        if on_read and size > 0:
            code = np.int64(SOFT_CLIP) if operation == INSERTION and not is_begun else operation
        elif on_reference and not on_read and first <= q < stop and is_begun:
            code, size = operation, length
        else:
            continue
        if used > begin and target[used - 1] & 15 == code:
            target[used - 1] += np.uint32(size << 4)
        else:
            target[used] = np.uint32(size << 4 | code)
            used += 1
    return used


@kernel
def close_operations(cigar, begin, used):
    """Clip what stands after the last aligned base; returns the operations used, `begin` if no base is aligned."""
    clipped = np.uint32(0)
    while used > begin and not is_match(cigar[used - 1] & 15):
        if cigar[used - 1] & 15 != DELETION and cigar[used - 1] & 15 != SKIP:
            clipped += cigar[used - 1] >> np.uint32(4)
        used -= 1
    if used > begin and clipped:
        cigar[used] = clipped << np.uint32(4) | np.uint32(SOFT_CLIP)
        used += 1
    return used


@kernel
def join_bases(reads, read, mate, shift, bounds, out, used):
    """Append the bases of a fragment; returns how many are used so far."""
    bases, qualities, first, stop = reads.bases, reads.qualities, bounds.first[read], bounds.stop[mate] + shift
    own_stop, mate_first = bounds.stop[read], bounds.first[mate] + shift
    for place in range(first, stop):
        base, quality = bases[place if place < own_stop else place - shift], np.uint8(0)
        if place < own_stop:
            quality = qualities[place]
        else:
            quality = qualities[place - shift]
        if mate_first <= place < own_stop:
            other, other_quality = bases[place - shift], qualities[place - shift]
            if base == other:
                quality = max(quality, other_quality)
            elif base >= UNKNOWN or (other < UNKNOWN and other_quality > quality):
                quality = other_quality if base >= UNKNOWN else other_quality - quality
                base = other
            elif other < UNKNOWN:
                quality -= other_quality
        out.bases[used], out.qualities[used] = base, quality
        used += 1
    out.shared[read, 0] = max(mate_first, first) - first
    out.shared[read, 1] = min(own_stop, stop) - first
    return used


@kernel
def place_read(reads, read, mate, bounds, out):
    """Set where the first and the last aligned base of what was made of a read and its mate (or the read) lie."""
    first, last = first_aligned(reads, read, bounds.first[read]), np.int64(0)
    for i in range(out.cigar_offsets[read], out.cigar_offsets[read + 1]):
        _, _, on_reference, _ = run_of(out.cigar[i])
        last += on_reference
    out.position[read], out.reference_stop[read] = first, first + last


@kernel
def first_aligned(reads, read, first):
    """The reference position of the first aligned base at or after base `first`."""
    p, q = reads.position[read], reads.read_offsets[read]
    for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
        operation, _, on_reference, on_read = run_of(reads.cigar[i])
        if is_match(operation) and q + on_read > first:
            return p + max(0, first - q)
        p, q = p + on_reference, q + on_read
    return p
