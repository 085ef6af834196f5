"""Which reads lie across which sites, and where in the read (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Likelihoods, Sites
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import DELETION, INSERTION, SKIP, SOFT_CLIP, is_match


class Spans(NamedTuple):
    """What a read must overlap to lie across a site, anchors included; sites in order of `first`."""

    first: Annotated[ndarray, "int64 [sites]"]
    last: Annotated[ndarray, "int64 [sites]"]
    reach: Annotated[ndarray, "int64 [sites]"]  # the running maximum of `last`


def find_pairs(reads: AlignedReads, sites: Sites, max_depth: int) -> Likelihoods:
    """Pairs of each site and the first `max_depth` reads across it, with room for what they say."""
    last = sites.stop - ~sites.is_indel
    spans = Spans(sites.position, last, np.maximum.accumulate(last))
    number = np.zeros(len(sites), np.int64)
    link(reads, spans, max_depth, number, np.empty(0, np.int32))
    offsets = offsets_of(number)
    read = np.empty(offsets[-1], np.int32)
    link(reads, spans, max_depth, offsets[:-1].copy(), read)
    alleles = np.diff(sites.allele_offsets)
    value_offsets = offsets_of(np.diff(offsets) * alleles)
    return Likelihoods(
        pair_offsets=offsets,
        read=read,
        allele=np.empty(read.size, np.int8),
        quality=np.zeros(read.size, np.uint8),
        mapping_quality=reads.mapping_quality[read],
        strand=reads.strand[read],
        sample=reads.sample[read],
        end_distance=np.zeros(read.size, np.int32),
        value_offsets=value_offsets,
        values=np.empty(value_offsets[-1], np.float64),
    )


@kernel
def link(reads, spans, max_depth, cursor, pair_read):
    """Write the reads across each site from `cursor` on, which moves; where `pair_read` is empty, count them."""
    position, reference_stop, first, last = reads.position, reads.reference_stop, spans.first, spans.last
    seen = np.zeros(first.size, np.int64)
    for read in range(position.size):
        site = np.searchsorted(spans.reach, position[read])
        while site < first.size and first[site] < reference_stop[read]:
            if last[site] >= position[read] and seen[site] < max_depth:
                if pair_read.size:
                    pair_read[cursor[site]] = read
                seen[site] += 1
                cursor[site] += 1
            site += 1


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
