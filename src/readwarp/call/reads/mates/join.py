"""Trim reads to the bases that are evidence, and join overlapping mates (host only). See the step's contract."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Window, contigs_around
from readwarp.call.reads.circular import Continued, align_clips
from readwarp.call.reads.mates import DEFAULT_QUALITY, MAX_UNIT, MIN_ANCHOR, MIN_DIFFERENCES, MIN_REPEAT, MISMATCH
from readwarp.call.reads.mates.pairs import NONE, OverlappingMates, find_pairs, merge_mates
from readwarp.call.reads.mates.primers import Primers
from readwarp.call.reads.mates.trim import Bounds, find_bounds
from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.common.qualities import MISSING
from readwarp.formats.common.text import put_copy
from readwarp.ragged import empty, replace, take
from readwarp.rules.bases import UNKNOWN
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match, push_run, run_of, soft_clips
from readwarp.rules.flags import REVERSE

MIN_QUALITY, MAX_LOSS = 15, 16  # least quality of a base that can contradict; most score to lose, where a match is 1
STEPS = 1, 2, 4, 2  # shifts, MIN_REPEAT - 1 in all, that reduce a run of MIN_REPEAT bits to one
ONE = np.uint64(1)
MAX_END, MAX_DIFFERENCES = 20, 1  # bases to the end of the contig, and mismatches among them
DROPPED = -2  # in `switch`: the read is part of its mate's fragment


@kernel
def is_anchor(bases, fragment, begin, end):
    """Return whether the shared bases [begin, end) are enough, and in no tandem repeat.

    fragment: its first base, stop of the forward read, stop, and the shift of the reverse one, whose bases follow.
    """
    size = end - begin
    if size < MIN_ANCHOR or is_repeat(bases, begin, end):
        return False
    for unit in range(size // 2 + 1, size):
        if bases[begin] == bases[begin + unit] and is_in_repeat(bases, fragment, begin, end, unit):
            return False
    return size > MAX_UNIT or not is_in_longer_repeat(bases, fragment, begin, end)


@kernel
def agree(reads, overlap, begin, end, shift):
    """Return whether mates agree where they overlap, [low, high), outwards from the stretch [begin, end)."""
    low, high = overlap
    return extends(reads, end, high, 1, shift) and extends(reads, begin - 1, low - 1, -1, shift)


@kernel
def extends(reads, place, stop, step, shift):
    """Return whether the score from `place` to `stop` never drops by MAX_LOSS, as it does where an alignment ends."""
    loss = 0
    while place != stop and loss < MAX_LOSS:
        if reads.bases[place] == reads.bases[place - shift]:
            loss = max(0, loss - 1)
        elif min(reads.qualities[place], reads.qualities[place - shift]) >= MIN_QUALITY:
            loss += MISMATCH
        place += step
    return loss < MAX_LOSS


@kernel
def is_repeat(bases, begin, end):
    """Return whether the bases are a tandem repeat of a unit up to half of them."""
    for unit in range(1, (end - begin) // 2 + 1):
        differences = 0
        for base in range(begin + unit, end):
            differences += bases[base] != bases[base - unit]
            if differences == MIN_DIFFERENCES:
                break
        if differences < MIN_DIFFERENCES:
            return True
    return False


@kernel
def is_in_repeat(bases, fragment, begin, end, unit):
    """Return whether the bases lie in a repeat of a unit that is shorter than they are."""
    first, own_stop, stop, shift = fragment
    low = high = begin
    while high + unit < stop and base_of(bases, high, own_stop, shift) == base_of(bases, high + unit, own_stop, shift):
        high += 1
    while low > first and bases[low - 1] == base_of(bases, low - 1 + unit, own_stop, shift):
        low -= 1
    return high >= end - unit and high - low >= MIN_REPEAT


@kernel
def is_in_longer_repeat(bases, fragment, begin, end):
    """Return whether the bases lie in a repeat of a unit of their size up to MAX_UNIT.

    Bit k of the words stands for base `left` + k and for base `right` + k: one unit further on, bit k + MAX_UNIT - unit
    of the first is bit k of the second. Any run of MIN_REPEAT bits there touches [end - unit, begin].
    """
    first, own_stop, stop, shift = fragment
    left, right = end - MIN_REPEAT - MAX_UNIT, end - MIN_REPEAT
    number = begin + MIN_REPEAT - left  # at most MAX_UNIT + 2 MIN_REPEAT - MIN_ANCHOR, which is 64
    own_high = own_low = own_known = other_high = other_low = other_known = np.uint64(0)
    for k in range(number):
        if first <= left + k < stop:
            base = np.uint64(base_of(bases, left + k, own_stop, shift))
            own_known |= ONE << np.uint64(k)
            own_high |= (base >> ONE) << np.uint64(k)
            own_low |= (base & ONE) << np.uint64(k)
        if first <= right + k < stop:
            base = np.uint64(base_of(bases, right + k, own_stop, shift))
            other_known |= ONE << np.uint64(k)
            other_high |= (base >> ONE) << np.uint64(k)
            other_low |= (base & ONE) << np.uint64(k)
    for unit in range(end - begin, MAX_UNIT + 1):
        move = np.uint64(MAX_UNIT - unit)
        same = ~((own_high >> move) ^ other_high | (own_low >> move) ^ other_low) & (own_known >> move) & other_known
        for step in STEPS:
            same &= same >> np.uint64(step)
        if same:
            return True
    return False


@kernel
def base_of(bases, place, own_stop, shift):
    return bases[place if place < own_stop else place - shift]


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
    for read in range(first.size):
        before, after = reads.position[read] - first[read], stop[read] - reads.reference_stop[read]
        if before > MAX_END and after > MAX_END:
            continue
        leading, trailing = soft_clips(reads.cigar, reads.cigar_offsets[read], reads.cigar_offsets[read + 1])
        place, end = first[read] - begin, reads.reference_stop[read] - begin
        own, last = reads.read_offsets[read] + leading - before, reads.read_offsets[read + 1] - trailing
        if 0 < before <= MAX_END and leading > before and are_alike(reads.bases, own, reference, place, before):
            found.before[read] = before
        if 0 < after <= MAX_END and trailing > after and are_alike(reads.bases, last, reference, end, after):
            found.after[read] = after


class Removed(NamedTuple):
    """Counts of the bases of reads that are not evidence."""

    position: Annotated[ndarray, "int64 [reads]"]
    beyond: Annotated[ndarray, "int32 [reads]"]  # beyond their mate
    hidden: Annotated[ndarray, "int32 [reads]"]  # in primers and deliberate clips
    is_joined: Annotated[ndarray, "bool [reads]"]  # to its mate
    is_primed: Annotated[ndarray, "bool [reads]"]  # its fragment begins at a primer


def join_mates(
    reads: AlignedReads, window: Window, primers: Primers, ignore_soft_clips: bool
) -> tuple[AlignedReads, Removed]:
    """Trim reads to evidence and join mates; see the step's contract."""
    if (reads.qualities[reads.read_offsets[:-1]] == MISSING).any():
        qualities = np.where(reads.qualities == MISSING, np.uint8(DEFAULT_QUALITY), reads.qualities)
        reads = replace(reads, qualities=qualities)
    pairs = find_pairs(reads)
    bounds, is_primed = find_bounds(reads, pairs, window, primers, ignore_soft_clips)
    switch = np.full(len(reads), NONE, np.int64)
    choose_switches(reads, pairs, bounds, switch)
    removed = Removed(
        reads.position, bounds.beyond, bounds.hidden[:, 0] + bounds.hidden[:, 1], switch != NONE, is_primed
    )
    fragments, chosen = build(reads, pairs, bounds, switch)
    merge_mates(fragments, np.flatnonzero(pairs.meets[chosen]))
    return align_overhangs(fragments, window), removed


def build(
    reads: AlignedReads, pairs: OverlappingMates, bounds: Bounds, switch: ndarray
) -> tuple[AlignedReads, ndarray]:
    """Cut reads to their bounds and replace forward mates by fragments; also return the read of each row (int64)."""
    chosen = np.flatnonzero(switch != DROPPED)
    rows = {"reads": chosen.size, "bases": reads.bases.size, "operations": reads.cigar.size + 2 * chosen.size}
    out = empty(
        AlignedReads, rows, contig=reads.contig, start=reads.start, stop=reads.stop, unassigned=reads.unassigned
    )
    write_reads(reads, pairs, bounds, switch, chosen, out)
    out = replace(out, bases=out.bases[: out.read_offsets[-1]], qualities=out.qualities[: out.read_offsets[-1]])
    out = replace(out, cigar=out.cigar[: out.cigar_offsets[-1]])
    is_kept = np.diff(out.cigar_offsets) > 0
    if is_kept.all() and (np.diff(out.position) >= 0).all():
        return out, chosen
    order = np.argsort(out.position, kind="stable")
    order = order[is_kept[order]]
    return take(out, "reads", order), chosen[order]


@kernel
def choose_switches(reads, pairs, bounds, switch):
    """Set the base of each forward read where its fragment switches to its mate's alignment; DROPPED for the mate."""
    for read in range(switch.size):
        mate, shift = pairs.mate[read], pairs.shift[read]
        if mate == NONE or reads.flag[read] & REVERSE:
            continue
        low = max(bounds.first[read], bounds.first[mate] + shift)
        high = min(bounds.stop[read], bounds.stop[mate] + shift)
        begin, end = max(pairs.begin[read], low), min(pairs.end[read], high)
        fragment = bounds.first[read], bounds.stop[read], bounds.stop[mate] + shift, shift
        if is_anchor(reads.bases, fragment, begin, end) and agree(reads, (low, high), begin, end, shift):
            switch[read], switch[mate] = (begin + end + 1) // 2, DROPPED  # past a base of the stretch


@kernel
def write_reads(reads, pairs, bounds, switch, chosen, out):
    """Fill `out` with the chosen reads; a read without aligned bases in its bounds has neither bases nor operations."""
    read_offsets, first = reads.read_offsets, bounds.first
    target = out.cigar
    used, operations = np.int64(0), np.int64(0)
    out.read_offsets[0] = out.cigar_offsets[0] = 0
    for row in range(chosen.size):
        read = chosen[row]
        mate, begin = pairs.mate[read], operations
        low, high = reads.cigar_offsets[read], reads.cigar_offsets[read + 1]
        is_joined = switch[read] >= 0
        is_whole = not is_joined and bounds.stop[read] - first[read] == read_offsets[read + 1] - read_offsets[read]
        out.position[row], out.reference_stop[row] = reads.position[read], reads.reference_stop[read]
        if is_whole and high - low == 1 and is_match(reads.cigar[low] & 15):  # most reads
            target[operations] = reads.cigar[low]
            operations += 1
        else:
            end, base = switch[read] if is_joined else bounds.stop[read], read_offsets[read]
            operations = copy_operations(reads.cigar, (low, high), base, first[read], end, target, begin, begin)
            if is_joined:
                own, base = (reads.cigar_offsets[mate], reads.cigar_offsets[mate + 1]), read_offsets[mate]
                cut = switch[read] - pairs.shift[read]
                operations = copy_operations(reads.cigar, own, base, cut, bounds.stop[mate], target, begin, operations)
            operations = close_operations(target, begin, operations)
            if operations > begin:
                place = first_aligned(reads.cigar, low, high, reads.position[read], read_offsets[read], first[read])
                out.position[row], out.reference_stop[row] = place, place + span_of(target, begin, operations)
        out.flag[row], out.name_hash[row], out.sample[row] = reads.flag[read], reads.name_hash[read], reads.sample[read]
        out.mapping_quality[row], out.fragment_end[row] = reads.mapping_quality[read], reads.fragment_end[read]
        out.hidden[row, 0], out.hidden[row, 1] = bounds.hidden[read, 0], bounds.hidden[read, 1]
        if operations > begin and is_joined:
            out.hidden[row, 1] = bounds.hidden[mate, 1]
            out.mapping_quality[row] = max(reads.mapping_quality[read], reads.mapping_quality[mate])
            out.shared[row, 0], out.shared[row, 1] = find_shared_bases(read, mate, pairs, bounds)
            used = join_bases(reads, read, mate, pairs.shift[read], bounds, out, used)
        elif operations > begin:
            size = bounds.stop[read] - first[read]
            put_copy(reads.bases, first[read], bounds.stop[read], out.bases, used)
            put_copy(reads.qualities, first[read], bounds.stop[read], out.qualities, used)
            used += size
            out.shared[row, 0] = out.shared[row, 1] = 0 if reads.flag[read] & REVERSE else size
        out.read_offsets[row + 1], out.cigar_offsets[row + 1] = used, operations


@kernel
def copy_operations(cigar, own, q, first, stop, target, begin, used):
    """Append the operations of a read's bases [first, stop); return the number of operations used so far.

    own: first and stop of its operations; its bases begin at q. Bases before the first aligned one, from operation
    `begin` of the target on, are clipped.
    """
    for i in range(own[0], own[1]):
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
        used = push_run(target, begin, used, code, size)
    return used


@kernel
def close_operations(cigar, begin, used):
    """Clip bases after the last aligned one; return the number of operations, `begin` if no base is aligned."""
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
    """Append the bases of a fragment; return the number used so far."""
    first, stop = bounds.first[read], bounds.stop[mate] + shift
    own_stop, mate_first = bounds.stop[read], bounds.first[mate] + shift
    for place in range(first, stop):
        shown = place if place < own_stop else place - shift
        base, quality = reads.bases[shown], reads.qualities[shown]
        if mate_first <= place < own_stop:
            other, other_quality = reads.bases[place - shift], reads.qualities[place - shift]
            if base == other:
                quality = max(quality, other_quality)
            elif base >= UNKNOWN or (other < UNKNOWN and other_quality > quality):
                quality = other_quality if base >= UNKNOWN else other_quality - quality
                base = other
            elif other < UNKNOWN:
                quality -= other_quality
        out.bases[used], out.qualities[used] = base, quality
        used += 1
    return used


@kernel
def find_shared_bases(read, mate, pairs, bounds):
    """Return the bases [from, to) of a fragment that both mates show."""
    first, shift = bounds.first[read], pairs.shift[read]
    stop, mate_first = bounds.stop[mate] + shift, bounds.first[mate] + shift
    return max(mate_first, first) - first, min(bounds.stop[read], stop) - first


@kernel
def span_of(cigar, low, high):
    """Return the reference bases that operations cigar[low:high] consume."""
    total = np.int64(0)
    for i in range(low, high):
        total += run_of(cigar[i])[2]
    return total


@kernel
def first_aligned(cigar, low, high, p, q, first):
    """Return the reference position of the first aligned base at or after base `first`.

    The read's operations are cigar[low:high]; it begins with base q, and is aligned from position p on.
    """
    for i in range(low, high):
        operation, _, on_reference, on_read = run_of(cigar[i])
        if is_match(operation) and q + on_read > first:
            return p + max(0, first - q)
        p, q = p + on_reference, q + on_read
    return p
