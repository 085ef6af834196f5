"""Which reads take part in which region, and with which of their bases."""

import numpy as np

from readwarp.batches import AlignedReads, Status
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.regions import MIN_BASES
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match


def assign(
    reads: AlignedReads,
    start: np.ndarray,
    stop: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    status: np.ndarray,
    max_reads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Reads of the regions [start, stop), cut to [low, high); all int64 [g], in order and apart.

    -> read_offsets, read, base_start, base_stop, status of Regions
    """
    shape = (reads.position, reads.reference_stop, reads.cigar, reads.cigar_offsets, reads.read_offsets)
    limits = (start, stop, low, high, MIN_BASES, MAX_INDEL)
    number, empty = np.zeros(start.size, np.int64), np.empty(0, np.int64)
    link(*shape, *limits, number, empty, empty, empty)
    offsets = offsets_of(number)
    read, base_start, base_stop = np.empty((3, offsets[-1]), np.int64)
    link(*shape, *limits, offsets[:-1].copy(), read, base_start, base_stop)
    kept, status = np.ones(read.size, bool), status.copy()
    for region in np.flatnonzero(number > max_reads).tolist():
        own = slice(offsets[region], offsets[region + 1])
        kept[own] = thinned(reads.name_hash[read[own]], reads.sample[read[own]], max_reads)
        if not kept[own].all():
            status[region] = Status.CAPACITY
    offsets = offsets_of(kept)[offsets]
    return offsets, read[kept].astype(np.int32), base_start[kept], base_stop[kept], status


def thinned(name_hash: np.ndarray, sample: np.ndarray, most: int) -> np.ndarray:
    """bool, at most `most` reads of each sample, with the smallest hashes: all of a name or none if others are left."""
    kept = np.ones(sample.size, bool)
    for own in (np.flatnonzero(sample == number) for number in np.unique(sample)):
        if own.size > most:
            order = own[np.argsort(name_hash[own], kind="stable")]
            within = name_hash[own] < name_hash[order[most]]
            kept[own] = within if within.any() else np.isin(own, order[:most])
    return kept


@kernel
def link(
    position, reference_stop, cigar, cigar_offsets, read_offsets, start, stop, low, high, least, max_indel,
    cursor, out_read, out_start, out_stop,
):  # fmt: skip
    """Count the reads of each region in `cursor` (out_read empty), or write them from `cursor` on, which moves."""
    region = 0
    for read in range(position.size):
        while region < start.size and stop[region] <= position[read]:
            region += 1
        g = region
        while g < start.size and start[g] < reference_stop[read]:
            base_start, base_stop = cut(
                position[read], cigar[cigar_offsets[read] : cigar_offsets[read + 1]],
                read_offsets[read], read_offsets[read + 1], start[g], stop[g], low[g], high[g], max_indel,
            )  # fmt: skip
            if base_stop - base_start >= least:
                if out_read.size:
                    out_read[cursor[g]], out_start[cursor[g]], out_stop[cursor[g]] = read, base_start, base_stop
                cursor[g] += 1
            g += 1


@kernel
def cut(position, cigar, first_base, last_base, start, stop, low, high, max_indel):
    """-> the bases [from, to) of the piece of a read that shares most with [start, stop), cut to [low, high).

    A piece spans [p0, p) of the reference by its bases [q0, q1), of which those from `aligned` to `behind` are between
    its first and last match; `inside` and `outside` are the first base aligned at or behind `low` and one behind the
    last aligned before `high`.
    """
    best, found, found_stop = np.int64(0), first_base, first_base
    p, q, q0 = position, first_base, first_base
    p0 = p1 = aligned = behind = inside = outside = np.int64(-1)
    for i in range(cigar.size + 1):
        operation = cigar[i] & 15 if i < cigar.size else SKIP
        length = np.int64(cigar[i] >> 4) if i < cigar.size else np.int64(0)
        if is_match(operation) and length:
            if aligned < 0:
                p0, aligned = p, q
            if inside < 0 and p + length > low:
                inside = q + max(0, low - p)
            if p < high:
                outside = q + min(length, high - p)
            p, q = p + length, q + length
            p1, behind = p, q
            continue
        is_indel = operation in (INSERTION, DELETION)
        if operation == SKIP or (is_indel and length > max_indel):
            if aligned >= 0 and min(p1, stop) - max(p0, start) > best:
                best = min(p1, stop) - max(p0, start)
                found = max(q0, aligned - (p0 - low)) if low < p0 else inside
                found_stop = min(q, behind + (high - p1)) if high > p1 else outside
            q0 = q + length if operation == INSERTION else q
            p0 = p1 = aligned = behind = inside = outside = np.int64(-1)
        if operation in (INSERTION, SOFT_CLIP):
            q += length
        elif operation in (DELETION, SKIP):
            p += length
    return found, found_stop
