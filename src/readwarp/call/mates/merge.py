"""Overlaps of mates (host only)."""

import numpy as np

from readwarp.batches import AlignedReads
from readwarp.call.mates import DEFAULT_QUALITY
from readwarp.device.jit import kernel
from readwarp.rules.cigar import INSERTION, SOFT_CLIP, is_match


def merge_mates(reads: AlignedReads) -> np.ndarray:
    """Base qualities with those of doubly read bases merged; see the step's contract."""
    qualities = np.where(reads.qualities == 255, np.uint8(DEFAULT_QUALITY), reads.qualities)
    order = np.argsort(reads.name_hash, kind="stable")
    merge_groups(
        *(order, reads.name_hash, reads.sample, reads.position, reads.reference_stop, reads.cigar, reads.cigar_offsets),
        *(reads.bases, reads.read_offsets, qualities, np.empty(1 << 12, np.int64)),
    )
    return qualities


@kernel
def merge_groups(
    order, name_hash, sample, position, reference_stop, cigar, cigar_offsets, bases, read_offsets, qualities, places
):  # fmt: skip
    """`order`: records by name, then file order. `places`: room for one block of reference positions."""
    for i in range(order.size - 1):
        first, following = order[i], order[i + 1]
        if name_hash[following] != name_hash[first] or position[following] >= reference_stop[first]:
            continue
        for block in range(position[first], reference_stop[first], places.size):
            stop = min(reference_stop[first], block + places.size)
            if not locate(position, cigar, cigar_offsets, read_offsets, qualities, first, block, stop, places):
                continue
            for j in range(i + 1, order.size):
                second = order[j]
                if name_hash[second] != name_hash[first] or position[second] >= stop:
                    break
                if sample[second] == sample[first] and reference_stop[second] > block:
                    merge_block(
                        position, cigar, cigar_offsets, read_offsets, second, block, stop, places, bases, qualities
                    )


@kernel
def locate(position, cigar, cigar_offsets, read_offsets, qualities, read, start, stop, places):
    """Index of the base that the read aligns to each position of [start, stop), -1 for none; -> has one any quality."""
    places[: stop - start] = -1
    p, q, found = position[read], read_offsets[read], False
    for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
        operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
        if is_match(operation):
            for k in range(max(0, start - p), min(length, stop - p)):
                places[p + k - start] = q + k
                found |= qualities[q + k] > 0
            p, q = p + length, q + length
        elif operation in (INSERTION, SOFT_CLIP):
            q += length
        elif operation < SOFT_CLIP:
            p += length
    return found


@kernel
def merge_block(position, cigar, cigar_offsets, read_offsets, read, start, stop, places, bases, qualities):
    """Merge the aligned bases of `read` with those at `places`, which come earlier in file order."""
    p, q = position[read], read_offsets[read]
    for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
        operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
        if is_match(operation):
            for k in range(max(0, start - p), min(length, stop - p)):
                other, own = places[p + k - start], q + k
                if other >= 0:
                    better, worse = (own, other) if qualities[own] > qualities[other] else (other, own)
                    if bases[own] != bases[other]:
                        qualities[better] -= qualities[worse]
                    qualities[worse] = 0
            p, q = p + length, q + length
        elif operation in (INSERTION, SOFT_CLIP):
            q += length
        elif operation < SOFT_CLIP:
            p += length
