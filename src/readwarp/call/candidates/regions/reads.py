"""Choose the reads of each region, by sample, and the bases they contribute."""

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions
from readwarp.call.candidates.pileup import MAX_INDEL
from readwarp.call.candidates.regions import MIN_BASES
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of, replace, take
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, is_match, run_of
from readwarp.rules.hashes import spread
from readwarp.rules.statuses import Status


def drop_short(regions: Regions) -> Regions:
    """Drop reads that are too short once cut."""
    return _take_rows(regions, regions.base_stop - regions.base_start >= MIN_BASES)


def thin_reads(regions: Regions, reads: AlignedReads, max_reads: ndarray) -> Regions:
    """Thin the regions, each of one sample, to at most `max_reads` reads (int64 [regions])."""
    offsets, status = regions.read_offsets, regions.status.copy()
    crowded = np.flatnonzero(np.diff(offsets) > max_reads)
    if crowded.size == 0:
        return regions
    stays = np.ones(offsets[-1], bool)
    for region in crowded.tolist():
        own = slice(offsets[region], offsets[region + 1])
        stays[own] = _thin(spread(reads.name_hash[regions.read[own]]), int(max_reads[region]))
    status[crowded] = Status.CAPACITY
    return replace(_take_rows(regions, stays), status=status)


def _take_rows(regions: Regions, stays: ndarray) -> Regions:
    return replace(take(regions, "rows", stays), read_offsets=offsets_of(stays)[regions.read_offsets])


def _thin(rank: ndarray, max_reads: int) -> ndarray:
    """Return which reads stay where there are more than `max_reads`: those of the names with the smallest ranks (bool).

    Where one name alone has too many reads, its first ones in file order stay.
    """
    order = np.argsort(rank, kind="stable")
    within: ndarray = rank < rank[order[max_reads]]
    return within if within.any() else np.isin(np.arange(rank.size), order[:max_reads])


@kernel
def cut_reads(reads, regions):
    """Set the `base_start` and `base_stop` of each row of the regions."""
    for g in range(regions.start.size):
        bounds = regions.start[g], regions.stop[g], regions.low[g], regions.high[g]
        for row in range(regions.read_offsets[g], regions.read_offsets[g + 1]):
            read = regions.read[row]
            own = reads.cigar[reads.cigar_offsets[read] : reads.cigar_offsets[read + 1]]
            span = cut(own, reads.position[read], reads.read_offsets[read], *bounds)
            regions.base_start[row], regions.base_stop[row] = span


@kernel
def cut(cigar, position, first_base, start, stop, low, high):
    """Return the bases [from, to) of the piece of a read that shares most with [start, stop), cut to [low, high).

    A piece's bases begin at q0. It spans [p0, p1) of the reference, from its first match to its last, whose bases are
    [aligned, after). `inside` is the first base aligned at or after `low`, `outside` the base after the last one
    aligned before `high`.
    """
    shared, p = np.int64(0), position
    found = found_stop = q = q0 = first_base
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


def split_samples(regions: Regions, reads: AlignedReads) -> Regions:
    """Return one region per place and sample, side by side in sample order, with reads in file order.

    A place without reads has one, of sample 0. `place` numbers the given regions.
    """
    samples = int(reads.sample.max(initial=0)) + 1
    place = np.repeat(np.arange(len(regions)), np.diff(regions.read_offsets))
    own = place * samples + reads.sample[regions.read]
    bare = np.flatnonzero(np.diff(regions.read_offsets) == 0) * samples
    found = np.unique(np.concatenate((own, bare)))
    order = np.argsort(own, kind="stable")
    rows = found // samples
    return replace(
        regions,
        **{name: getattr(regions, name)[rows] for name in ("start", "stop", "low", "high", "status")},
        **{name: getattr(regions, name)[order] for name in ("read", "base_start", "base_stop")},
        read_offsets=np.append(np.searchsorted(own[order], found), own.size),
        place=rows,
        sample=(found % samples).astype(np.uint16),
    )
