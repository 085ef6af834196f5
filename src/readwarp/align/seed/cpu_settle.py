"""Settle reads on the CPU: three passes side by side, so that the cache misses of many reads overlap."""

import numpy as np

from readwarp.align.anchors import anchor_of, query_of, reference_of, strand_of
from readwarp.align.places import contig_of
from readwarp.align.seed.scalar import is_settled
from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import prefetch
from readwarp.config import MAX_READ_LENGTH
from readwarp.rules.bases import prefetch_bases, unpack_codes

AHEAD = 16  # reads between passes
RING = 64  # slots for recent reads; a power of two, more than 2 * AHEAD


@kernel
def settle(reads, genome, seeds, entries, rules, settled):
    """Set `settled` to 1 for reads that the seeds looked up so far settle, else 0. rules: k, limits, proof.

    The place tried is the first one of the rarest seed.
    """
    offsets, (k, limits, proof) = reads.read_offsets, rules
    tried, known = np.empty(RING, np.int64), np.empty(RING, np.int64)
    places, space = np.empty(RING, np.uint64), np.empty(MAX_READ_LENGTH, np.uint8)
    for step in range(settled.size + 2 * AHEAD):
        if step < settled.size:
            slot = step & (RING - 1)
            tried[slot], known[slot] = find_rarest(step, seeds, limits, proof)
            if tried[slot] >= 0:
                prefetch(entries.positions, np.int64(seeds.first[tried[slot]]))
        read, slot = step - AHEAD, (step - AHEAD) & (RING - 1)
        if 0 <= read < settled.size and tried[slot] >= 0:
            places[slot] = first_place(tried[slot], seeds, entries, offsets[read + 1] - offsets[read], k)
            start = reference_of(places[slot]) - query_of(places[slot])
            prefetch_bases(genome.packed, start, start + offsets[read + 1] - offsets[read])
        read, slot = step - 2 * AHEAD, (step - 2 * AHEAD) & (RING - 1)
        if read >= 0:
            settled[read] = 0
            if tried[slot] >= 0:
                oriented = reads.bases[offsets[read] : offsets[read + 1]]
                differences = count_differences(oriented, places[slot], genome, space)
                settled[read] = differences >= 0 and is_settled(known[slot], differences, proof)


@kernel
def find_rarest(read, seeds, limits, proof):
    """Return a read's seed with the fewest places, the first of equals, and the number of seeds with all places known.

    The seed is -1 if these could not settle the read.
    """
    rarest, known = -1, 0
    anchors, counts = np.int64(0), seeds.entries
    for i in range(seeds.offsets[read], seeds.stops[read]):
        if counts[i] <= limits.max_hits:
            known += 1
            anchors += counts[i]
            if counts[i] > 0 and (rarest < 0 or counts[i] < counts[rarest]):
                rarest = i
    if anchors > limits.max_anchors or not is_settled(known, 0, proof):
        rarest = -1
    return rarest, known


@kernel
def first_place(seed, seeds, entries, length, k):
    """Return the anchor of a seed's first place."""
    entry = np.int64(seeds.first[seed])
    return anchor_of(
        entries.positions[entry], entries.tags[entry] & 1, seeds.query[seed], seeds.strand[seed], length, k
    )


@kernel
def count_differences(read, anchor, genome, space):
    """Count mismatches of a read on the diagonal of an anchor; -1 if it does not lie within one contig."""
    length, size = read.size, np.uint64(read.size)
    start, offsets = reference_of(anchor) - query_of(anchor), genome.contig_offsets
    contig = contig_of(offsets, reference_of(anchor))
    if start < offsets[contig] or start + length > offsets[contig + 1]:
        return -1
    unpack_codes(genome.packed, start, start + length, space)
    differences = 0
    if strand_of(anchor) == 0:
        for i in range(size):
            differences += read[i] != space[i]
    else:
        for i in range(size):
            differences += np.uint8(3 - read[size - np.uint64(1) - i]) != space[i]
    return differences
