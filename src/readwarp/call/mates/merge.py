"""Overlaps of mates (host only)."""

import numpy as np

from readwarp.batches import AlignedReads
from readwarp.call.mates import DEFAULT_QUALITY
from readwarp.device.jit import kernel
from readwarp.ragged import replace
from readwarp.rules.cigar import is_match, run_of

BLOCK = 1 << 12  # reference positions that are merged at a time


def merge_mates(reads: AlignedReads) -> AlignedReads:
    """The reads with the qualities of doubly read bases merged; see the step's contract."""
    out = replace(reads, qualities=np.where(reads.qualities == 255, np.uint8(DEFAULT_QUALITY), reads.qualities))
    merge_groups(out, np.argsort(reads.name_hash, kind="stable"), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64))
    return out


@kernel
def merge_groups(reads, order, places, others):
    """Merge the qualities in place. `order`: reads by name, then file order; `places`, `others`: room for a block."""
    name_hash, sample, position, reference_stop = reads.name_hash, reads.sample, reads.position, reads.reference_stop
    bases, qualities = reads.bases, reads.qualities
    for i in range(order.size - 1):
        first, following = order[i], order[i + 1]
        if name_hash[following] != name_hash[first] or position[following] >= reference_stop[first]:
            continue
        for block in range(position[first], reference_stop[first], places.size):
            stop = min(reference_stop[first], block + places.size)
            if not locate_bases(reads, first, block, stop, places):
                continue
            for j in range(i + 1, order.size):
                second = order[j]
                if name_hash[second] != name_hash[first] or position[second] >= stop:
                    break
                low, high = max(block, position[second]), min(stop, reference_stop[second])
                if sample[second] == sample[first] and low < high:
                    locate_bases(reads, second, low, high, others)
                    merge_bases(bases, qualities, places[low - block : high - block], others)


@kernel
def locate_bases(reads, read, start, stop, places):
    """Index of the base that the read aligns to each position of [start, stop), -1 for none; -> has one any quality."""
    cigar, qualities, p, q = reads.cigar, reads.qualities, reads.position[read], reads.read_offsets[read]
    places[: stop - start] = -1
    has_quality = False
    for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
        operation, length, on_reference, on_read = run_of(cigar[i])
        if is_match(operation):
            for k in range(max(0, start - p), min(length, stop - p)):
                places[p + k - start] = q + k
                has_quality |= qualities[q + k] > 0
        p, q = p + on_reference, q + on_read
    return has_quality


@kernel
def merge_bases(bases, qualities, places, others):
    """Merge the bases of two reads at each position; those of the read that comes first in file order are `places`."""
    for i in range(places.size):
        first, second = places[i], others[i]
        if first < 0 or second < 0:
            continue
        better, worse = (second, first) if qualities[second] > qualities[first] else (first, second)
        if bases[first] != bases[second]:
            qualities[better] -= qualities[worse]
        qualities[worse] = 0
