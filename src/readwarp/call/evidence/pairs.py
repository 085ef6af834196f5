"""Which reads lie across which sites, and where in the read (host only)."""

import numpy as np

from readwarp.batches import AlignedReads, Likelihoods, Sites
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match


def find_pairs(reads: AlignedReads, sites: Sites, max_depth: int) -> Likelihoods:
    """Pairs of each site and the first `max_depth` reads across it, with room for what they say."""
    number = np.zeros(len(sites) + 1, np.int64)
    empty = np.empty(0, np.int32)
    link(reads.position, reads.reference_stop, sites.begin, max_depth, number, empty)
    offsets = offsets_of(number[:-1])
    read = np.empty(offsets[-1], np.int32)
    link(reads.position, reads.reference_stop, sites.begin, max_depth, offsets.copy(), read)
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
def link(position, reference_stop, begin, max_depth, cursor, pair_read):
    """Count the pairs of each site in `cursor` (pair_read empty), or write them from `cursor` on, which moves.

    `begin`: the base of each site, ascending. A read and a site meet where the read's alignment holds the base.
    """
    seen = np.zeros(begin.size, np.int64)
    for read in range(position.size):
        site = np.searchsorted(begin, position[read])
        while site < begin.size and begin[site] < reference_stop[read]:
            if seen[site] < max_depth:
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
