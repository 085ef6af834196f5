"""Read alignments onto the axis of a circular contig."""

from collections.abc import Iterator

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads
from readwarp.call.places.bases import Bases
from readwarp.call.places.circle import Circle
from readwarp.call.reads.circular.extend import continue_clips
from readwarp.formats.alignments.decoded import place_reads
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.ragged import concatenate, offsets_of, take
from readwarp.rules.flags import FIRST, LAST, REVERSE, SUPPLEMENTARY

SAME = FIRST | LAST | REVERSE  # flags that the records of one read share where they continue each other


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
