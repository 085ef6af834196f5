"""Which reads lie across which sites, and where in the read (host only)."""

import numpy as np

from readwarp.batches import AlignedReads, Likelihoods, Sites
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match


def find_pairs(reads: AlignedReads, sites: Sites, max_depth: int) -> Likelihoods:
    """Pairs of each site and the first `max_depth` reads across it, with room for what they say."""
    low, last = sites.begin - sites.is_indel, sites.stop - ~sites.is_indel
    reach = np.maximum.accumulate(last)
    number = np.zeros(len(sites) + 1, np.int64)
    empty = np.empty(0, np.int32)
    link(reads.position, reads.reference_stop, low, last, reach, max_depth, number, empty)
    offsets = offsets_of(number[:-1])
    read = np.empty(offsets[-1], np.int32)
    link(reads.position, reads.reference_stop, low, last, reach, max_depth, offsets.copy(), read)
    alleles = np.diff(sites.allele_offsets)
    value_offsets = offsets_of(np.diff(offsets) * alleles)
    return Likelihoods(
        pair_offsets=offsets,
        read=read,
        allele=np.empty(read.size, np.int8),
        quality=np.zeros(read.size, np.uint8),
        mapping_quality=reads.mapping_quality[read],
        strand=((reads.flag[read] >> 4) & 1).astype(np.uint8),
        sample=reads.sample[read],
        end_distance=np.zeros(read.size, np.int32),
        value_offsets=value_offsets,
        values=np.empty(value_offsets[-1], np.float64),
    )


@kernel
def link(position, reference_stop, low, last, reach, max_depth, cursor, pair_read):
    """Count the pairs of each site in `cursor` (pair_read empty), or write them from `cursor` on, which moves.

    `low` and `last`: first and last reference base of the site, anchors included, `low` ascending; `reach`: the running
    maximum of `last`. A read and a site meet where they overlap.
    """
    seen = np.zeros(low.size, np.int64)
    for read in range(position.size):
        site = np.searchsorted(reach, position[read])
        while site < low.size and low[site] < reference_stop[read]:
            if last[site] >= position[read] and seen[site] < max_depth:
                if pair_read.size:
                    pair_read[cursor[site]] = read
                seen[site] += 1
                cursor[site] += 1
            site += 1


@kernel
def base_at(position, cigar, cigar_offsets, read_offsets, read, target):
    """(index of the base aligned to `target`, False), (that before the deletion across it, True) or (-1, False)."""
    p, q = position[read], read_offsets[read]
    for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
        operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
        if is_match(operation):
            if target < p + length:
                return (q + target - p if target >= p else -1), False
            p, q = p + length, q + length
        elif operation in (DELETION, SKIP):
            if target < p + length:
                is_deleted = operation == DELETION and q > read_offsets[read]
                return (q - 1 if is_deleted else -1), is_deleted
            p += length
        elif operation in (INSERTION, SOFT_CLIP):
            q += length
    return -1, False


@kernel
def anchors(position, cigar, cigar_offsets, read_offsets, read, low, high):
    """Where the bases aligned to `low` and to `high` lie, and how far the read can be compared without a gap.

    -> (index at low, at high, -1 for none; first index behind the last gap before low; index of the first gap behind
    high, else the read's end; first and one behind the last aligned base)
    """
    left = right = np.int64(-1)
    p, q = position[read], read_offsets[read]
    lowest, highest = q, read_offsets[read + 1]
    aligned_low, aligned_high = np.int64(-1), q
    for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
        operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
        if is_match(operation):
            if p <= low < p + length:
                left = q + low - p
            if p <= high < p + length:
                right = q + high - p
            if aligned_low < 0:
                aligned_low = q
            p, q = p + length, q + length
            aligned_high = q
        elif operation in (INSERTION, DELETION, SKIP):
            after = q + (length if operation == INSERTION else 0)
            if p <= low:
                lowest = after
            if p > high:
                highest = min(highest, q)
            q = after
            p += 0 if operation == INSERTION else length
        elif operation == SOFT_CLIP:
            q += length
    return left, right, lowest, highest, aligned_low, aligned_high
