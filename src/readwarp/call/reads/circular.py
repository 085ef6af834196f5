"""Call circular contigs: windows near the ends include the other side of the origin (host only).

    lay_round(windows, lengths, circular) -> windows in order, a Circle for each near an end of a circular contig
    read_around(reader, number, circle, bases, place, keep) -> parts of AlignedReads on the circle's axis
    drop_doubles(reads, circle) -> AlignedReads without records that repeat a read's bases
    sort_reads(reads) -> AlignedReads by position
    cut_at_origin(calls, bases) -> Calls, none of which crosses the origin

The origin lies between the last base of a contig and its first. A Circle is a strip (`call.places.strips`) on which the
contig follows itself, so a window of the contig has neighbours on both sides, with the contig's positions. Every window
calls the variants that begin in it, so each call is made once, and windows MARGIN and more from both ends are left as
they are. Grids of positions begin at the origin, for the windows before it too (the last MARGIN bases have windows of
their own): so those on both sides of it see the same reads there, and their calls agree.

Aligners treat contigs as linear. They clip a read where the contig ends, or write a supplementary record at the other
end. On the axis a soft clip that hangs over an end of the contig continues along the diagonal as far as its score is
highest (scores of `Scoring`, with its end bonus for a clip that is aligned to its end). Bases that do not pay stay
clipped and count as a clip, so indels near the origin come from local haplotypes, as elsewhere. If a read then lies
across the origin, a supplementary record within it is a duplicate and is dropped.

VCF has no record across the end of a contig. A call that deletes or replaces bases on both sides of the origin becomes
two records, one before the origin and one after, in one phase set, both with the numbers of the call. A deletion at the
contig's first base has the base after it as its anchor (VCF specification, section 1.6.1, REF). In each record, alleles
that are equal there are merged: AD is their sum, PL the least of their genotypes.
"""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Bases
from readwarp.call.places.circle import Circle
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import Scoring
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.alignments.decoded import place_reads
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.pairwise.scalar import UNKNOWN_COST
from readwarp.ragged import concatenate, offsets_of, replace, take
from readwarp.rules.cigar import MATCH, SOFT_CLIP, is_match, push_run, run_of, soft_clips
from readwarp.rules.flags import FIRST, LAST, REVERSE, SUPPLEMENTARY

MATCHES, MISMATCH = Scoring().match, Scoring().mismatch
END_BONUS = Scoring().end_bonus
SAME = FIRST | LAST | REVERSE  # flags that the records of one read share where they continue each other


class Continued(NamedTuple):
    """Clipped bases of each read that are aligned."""

    before: Annotated[ndarray, "int64 [reads]"]
    after: Annotated[ndarray, "int64 [reads]"]


def continue_clips(reads: AlignedReads, bases: Bases, ends: tuple[int, int]) -> AlignedReads:
    """Return the reads, with those whose clips continue last. ends: [start, stop) of the contig that they lie on."""
    found = find_continued(reads, bases, ends)
    is_changed = (found.before > 0) | (found.after > 0)
    if not is_changed.any():
        return reads
    changed = align_clips(take(reads, "reads", is_changed), take(found, "reads", is_changed))
    return concatenate((take(reads, "reads", ~is_changed), changed), "reads")


def find_continued(reads: AlignedReads, bases: Bases, ends: tuple[int, int]) -> Continued:
    out = Continued(*np.zeros((2, len(reads)), np.int64))
    reach = int(np.diff(reads.read_offsets).max(initial=0))
    first = max(0, ends[1] - reach)
    around = bases.array(first, ends[1] + reach)  # the bases around both ends are the same
    score_clips(reads, around, first - (ends[1] - ends[0]), ends, -1, out.before)
    score_clips(reads, around, first, ends, 1, out.after)
    return out


@kernel
def score_clips(reads, reference, first, ends, step, out):
    """Set the number of clipped bases that are aligned, before the reads (step -1) or after them (1).

    reference: its bases 0-4 from `first` on, as far as overhanging clips reach on that side.
    """
    for read in range(out.size):
        leading, trailing = soft_clips(reads.cigar, reads.cigar_offsets[read], reads.cigar_offsets[read + 1])
        if step < 0:
            size, place = leading, reads.position[read] - 1
            base = reads.read_offsets[read] + leading - 1
            is_over = size > 0 and reads.position[read] - size < ends[0]
        else:
            size, place = trailing, reads.reference_stop[read]
            base = reads.read_offsets[read + 1] - trailing
            is_over = size > 0 and place + size > ends[1]
        if is_over:
            out[read] = best_size(reads.bases, base, reference, place - first, size, step)


@scalar
def best_size(bases, base, reference, place, size, step):
    """Return the number of clipped bases, outwards from `base`, that align best from `place` on; 0 if none pays."""
    score = best = found = 0
    for k in range(size):
        at = place + step * k
        if not 0 <= at < reference.size:
            break
        own, other = bases[base + step * k], reference[at]
        if own > 3 or other > 3:
            score -= UNKNOWN_COST
        else:
            score += MATCHES if own == other else -MISMATCH
        gain = score + (END_BONUS if k + 1 == size else 0)
        if gain > best:
            best, found = gain, k + 1
    return found


def align_clips(reads: AlignedReads, continued: Continued) -> AlignedReads:
    """Align the continued bases of the reads' clips."""
    cigar, offsets = np.empty(reads.cigar.size + 2 * len(reads), np.uint32), np.zeros(len(reads) + 1, np.int64)
    write_cigars(reads.cigar, reads.cigar_offsets, continued, cigar, offsets)
    return replace(
        reads,
        position=reads.position - continued.before,
        reference_stop=reads.reference_stop + continued.after,
        cigar=cigar[: offsets[-1]],
        cigar_offsets=offsets,
    )


@kernel
def write_cigars(cigar, offsets, continued, out, out_offsets):
    """Fill `out`, which has room for two more operations per read, and its offsets after the first."""
    used = np.int64(0)
    for read in range(offsets.size - 1):
        begin, is_leading = used, True
        for i in range(offsets[read], offsets[read + 1]):
            operation, length, _, _ = run_of(cigar[i])
            if operation != SOFT_CLIP:
                used = push(out, begin, used, operation, length)
                is_leading = is_leading and not is_match(operation)
            elif is_leading:
                used = push(out, begin, used, SOFT_CLIP, length - continued.before[read])
                used = push(out, begin, used, MATCH, continued.before[read])
            else:
                used = push(out, begin, used, MATCH, continued.after[read])
                used = push(out, begin, used, SOFT_CLIP, length - continued.after[read])
        out_offsets[read + 1] = used


@scalar
def push(cigar, begin, used, operation, length):
    """Append a run, unless it is empty, to a read's operations, which begin at `begin`; return the number used."""
    return push_run(cigar, begin, used, operation, length) if length > 0 else used


def read_around(
    reader: AlignedReader, number: int, circle: Circle, bases: Bases, place: tuple[int, int], keep: ReadFilter
) -> Iterator[AlignedReads]:
    """Yield, in parts and unsorted, usable reads that overlap a place of the axis once their clips continue.

    number: of the contig in the file. bases: of the axis. place: start, stop.
    """
    for origin, low, high in circle.places_within(*place):
        for part in reader.parts(number, low, high, keep):
            by = np.array(origin)
            reads = continue_clips(place_reads(part, by, by), bases, (origin, origin + circle.lengths[0]))
            yield take(reads, "reads", (reads.position < place[1]) & (reads.reference_stop > place[0]))


def drop_doubles(reads: AlignedReads, circle: Circle) -> AlignedReads:
    """Drop supplementary records that lie within a primary one of the same read that crosses the origin."""
    is_other = reads.flag & SUPPLEMENTARY != 0
    crossing = np.flatnonzero(~is_other & circle.crosses(reads.position, reads.reference_stop))
    others = np.flatnonzero(is_other)
    other, primary = pair_by_name(reads.name_hash, others, crossing)
    is_same = (reads.flag[other] ^ reads.flag[primary]) & SAME == 0
    is_same &= reads.sample[other] == reads.sample[primary]
    is_within = reads.position[other] >= reads.position[primary]
    is_within &= reads.reference_stop[other] <= reads.reference_stop[primary]
    doubles = other[is_same & is_within]
    return take(reads, "reads", np.isin(np.arange(len(reads)), doubles, invert=True)) if doubles.size else reads


def sort_reads(reads: AlignedReads) -> AlignedReads:
    """Sort reads by position, stably. They are nearly sorted, so only stretches of them are moved."""
    order = np.argsort(reads.position, kind="stable")
    stops = np.flatnonzero(np.maximum.accumulate(order) == np.arange(order.size)) + 1  # no read moves across these
    starts = np.append(0, stops)[:-1]
    is_moved = stops - starts > 1
    if not is_moved.any():
        return reads
    parts, done = list[AlignedReads](), 0
    for start, stop in zip(starts[is_moved].tolist(), stops[is_moved].tolist(), strict=True):
        parts += [take(reads, "reads", slice(done, start)), take(reads, "reads", order[start:stop])]
        done = stop
    return concatenate([*parts, take(reads, "reads", slice(done, None))], "reads")


def pair_by_name(name_hash: ndarray, one: ndarray, other: ndarray) -> tuple[ndarray, ndarray]:
    """Return all pairs of a row of `one` and a row of `other` (int64) with the same name."""
    other = other[np.argsort(name_hash[other], kind="stable")]
    first, stop = (np.searchsorted(name_hash[other], name_hash[one], side) for side in ("left", "right"))
    bounds = offsets_of(stop - first)
    within = np.arange(bounds[-1]) - np.repeat(bounds[:-1] - first, stop - first)
    return np.repeat(one, stop - first), other[within]
