"""Which reads take part in which region, and with which of their bases."""

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Regions, Status
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.regions import MIN_BASES
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of, replace, take
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, is_match, run_of


def assign_reads(reads: AlignedReads, regions: Regions, max_reads: int) -> Regions:
    """The regions with their reads. `regions`, in order and apart, have none; [low, high) is what reads are cut to."""
    number = np.zeros(len(regions), np.int64)
    link(reads, regions, number)
    offsets = offsets_of(number)
    n = int(offsets[-1])
    regions = replace(
        regions,
        read_offsets=offsets,
        read=np.empty(n, np.int32),
        base_start=np.empty(n, np.int64),
        base_stop=np.empty(n, np.int64),
    )
    link(reads, regions, offsets[:-1].copy())
    stays, status = np.ones(n, bool), regions.status.copy()
    for region in np.flatnonzero(number > max_reads).tolist():
        own = slice(offsets[region], offsets[region + 1])
        stays[own] = thin(reads.name_hash[regions.read[own]], reads.sample[regions.read[own]], max_reads)
        if not stays[own].all():
            status[region] = Status.CAPACITY
    return replace(take(regions, "rows", stays), read_offsets=offsets_of(stays)[offsets], status=status)


def thin(name_hash: ndarray, sample: ndarray, max_reads: int) -> ndarray:
    """bool, which reads of a region stay: at most `max_reads` of each sample, those with the smallest hashes.

    All reads of a name stay or none, if others do.
    """
    stays = np.ones(sample.size, bool)
    for own in (np.flatnonzero(sample == number) for number in np.unique(sample)):
        if own.size > max_reads:
            order = own[np.argsort(name_hash[own], kind="stable")]
            within = name_hash[own] < name_hash[order[max_reads]]
            stays[own] = within if within.any() else np.isin(own, order[:max_reads])
    return stays


@kernel
def link(reads, regions, cursor):
    """Write the reads of each region from `cursor` on, which moves; count them where `regions` has no room for them."""
    position, reference_stop, read_offsets = reads.position, reads.reference_stop, reads.read_offsets
    cigar, cigar_offsets = reads.cigar, reads.cigar_offsets
    start, stop, low, high = regions.start, regions.stop, regions.low, regions.high
    region, has_room = 0, regions.read.size > 0
    for read in range(position.size):
        while region < start.size and stop[region] <= position[read]:
            region += 1
        g = region
        while g < start.size and start[g] < reference_stop[read]:
            own = cigar[cigar_offsets[read] : cigar_offsets[read + 1]]
            first, last = cut(own, position[read], read_offsets[read], start[g], stop[g], low[g], high[g])
            if last - first >= MIN_BASES:
                if has_room:
                    regions.read[cursor[g]] = read
                    regions.base_start[cursor[g]], regions.base_stop[cursor[g]] = first, last
                cursor[g] += 1
            g += 1


@kernel
def cut(cigar, position, first_base, start, stop, low, high):
    """-> the bases [from, to) of the piece of a read that shares most with [start, stop), cut to [low, high).

    A piece spans [p0, p1) of the reference between its first and last match, whose bases are those from `aligned` to
    `after`; its bases begin with q0. `inside` is the first base aligned at `low` or after it, and `outside` the one
    after the last that is aligned before `high`.
    """
    shared, found, found_stop = np.int64(0), first_base, first_base
    p, q, q0 = position, first_base, first_base
    p0 = p1 = aligned = after = inside = outside = np.int64(-1)
    for i in range(cigar.size + 1):
        operation, length, on_reference, on_read = run_of(cigar[i] if i < cigar.size else np.uint32(SKIP))
        if is_match(operation) and length:
            if aligned < 0:
                p0, aligned = p, q
            if inside < 0 and p + length > low:
                inside = q + max(0, low - p)
            if p < high:
                outside = q + min(length, high - p)
            p1, after = p + length, q + length
        elif operation == SKIP or (operation in (INSERTION, DELETION) and length > MAX_INDEL):
            if aligned >= 0 and min(p1, stop) - max(p0, start) > shared:
                shared = min(p1, stop) - max(p0, start)
                found = max(q0, aligned - (p0 - low)) if low < p0 else inside
                found_stop = min(q, after + (high - p1)) if high > p1 else outside
            q0 = q + on_read
            p0 = p1 = aligned = after = inside = outside = np.int64(-1)
        p, q = p + on_reference, q + on_read
    return found, found_stop
