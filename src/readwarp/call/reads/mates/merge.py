"""Merge the overlaps of mates that stay apart (host only)."""

import numpy as np
from numpy import ndarray

from readwarp.call.reads.mates.pairs import order_by_name
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.rules.cigar import is_match, run_of

BLOCK = 1 << 12  # reference positions merged at a time


def merge_mates(reads: AlignedReads, rows: ndarray) -> None:
    """Merge the qualities of bases that the reads in `rows` (int64, ascending) show twice. See the step's contract."""
    order = rows[order_by_name(reads.name_hash[rows])]
    merge_groups(reads, order, np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64))


@kernel
def merge_groups(reads, order, places, others):
    """Merge the qualities in place. order: reads by name, then in file order. places, others: scratch for a block."""
    position = reads.position
    for i in range(order.size - 1):
        first, following = order[i], order[i + 1]
        if reads.name_hash[following] != reads.name_hash[first] or position[following] >= reads.reference_stop[first]:
            continue
        for block in range(position[first], reads.reference_stop[first], places.size):
            stop = min(reads.reference_stop[first], block + places.size)
            own = reads.cigar_offsets[first], reads.cigar_offsets[first + 1]
            locate_bases(reads.cigar, own, position[first], reads.read_offsets[first], block, stop, places)
            if not has_quality(reads.qualities, places[: stop - block]):
                continue
            for j in range(i + 1, order.size):
                second = order[j]
                if reads.name_hash[second] != reads.name_hash[first] or position[second] >= stop:
                    break
                low, high = max(block, position[second]), min(stop, reads.reference_stop[second])
                if reads.sample[second] == reads.sample[first] and low < high:
                    own = reads.cigar_offsets[second], reads.cigar_offsets[second + 1]
                    locate_bases(reads.cigar, own, position[second], reads.read_offsets[second], low, high, others)
                    merge_bases(reads.bases, reads.qualities, places[low - block : high - block], others)


@kernel
def locate_bases(cigar, operations, p, q, start, stop, places):
    """Set `places` to the base that a read aligns to each position of [start, stop), -1 for none.

    operations: the read's first and stop. p: position of its first aligned base. q: its first base.
    """
    for k in range(stop - start):
        places[k] = -1
    for i in range(operations[0], operations[1]):
        operation, length, on_reference, on_read = run_of(cigar[i])
        if is_match(operation):
            for k in range(max(0, start - p), min(length, stop - p)):
                places[p + k - start] = q + k
        p, q = p + on_reference, q + on_read


@kernel
def has_quality(qualities, places):
    for k in range(places.size):  # noqa: SIM110 (in kernels, generators are slow)
        if places[k] >= 0 and qualities[places[k]] > 0:
            return True
    return False


@kernel
def merge_bases(bases, qualities, places, others):
    """Merge the bases of two reads at each position. `places` belong to the read that is first in the file."""
    for i in range(places.size):
        first, second = places[i], others[i]
        if first < 0 or second < 0:
            continue
        one, two = qualities[first], qualities[second]
        doubt = np.uint8(0) if bases[first] == bases[second] else min(one, two)
        qualities[first] = 0 if two > one else one - doubt
        qualities[second] = two - doubt if two > one else 0
