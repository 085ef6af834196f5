"""Settle reads on CUDA: see cpu_settle.py. A warp per read, whose threads share its seeds and its bases."""

import numpy as np

from readwarp.align.anchors import anchor_of, query_of, reference_of, strand_of
from readwarp.align.places import contig_of
from readwarp.align.seed.cuda_slots import EMPTY, LATER, count_of, entry_of, place_on_read, slot_of
from readwarp.align.seed.scalar import is_settled
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP
from readwarp.rules.bases import reference_code

NOTHING = np.int64(1) << 62


@cuda_kernel
def settle(bases, read_offsets, genome, seed_counts, slots, entries, rules, settled):
    """See cpu_settle.settle. LATER seeds of settled reads become EMPTY. rules: shape, limits, proof."""
    (shape, limits, proof), (seeds, queries, _) = rules, slots
    read, lane = cuda.blockIdx.x, cuda.threadIdx.x
    if read >= settled.size:
        return
    first = slot_of(read_offsets, read, shape.t)
    last = first + seed_counts[read]
    start, length = read_offsets[read], read_offsets[read + 1] - read_offsets[read]
    rarest, known = find_rarest(first, last, slots, limits, lane)
    is_done = rarest >= 0 and is_settled(known, 0, proof)
    if is_done:
        entry, (query, strand) = entry_of(seeds[rarest]), place_on_read(queries[rarest])
        anchor = anchor_of(entries.positions[entry], entries.tags[entry] & 1, query, strand, length, shape.k)
        differences = count_differences(bases[start : start + length], anchor, genome, lane)
        is_done = differences >= 0 and is_settled(known, differences, proof)
    if lane == 0:
        settled[read] = is_done
    if is_done:
        for i in range(first + lane, last, WARP):
            if queries[i] & LATER:
                queries[i] = EMPTY


@cuda.jit(device=True)
def find_rarest(first, last, slots, limits, lane):
    """Return the first slot with the fewest places (-1: too many anchors), and how many seeds have all places known."""
    known = anchors = np.int64(0)
    rank = NOTHING
    for i in range(first + lane, last, WARP):
        count = count_of(slots.seeds[i])
        if slots.queries[i] & LATER == 0 and count <= limits.max_hits:
            known += 1
            anchors += count
            if count > 0:
                rank = min(rank, count << np.int64(32) | np.int64(i - first))
    known, anchors, rank = sum_of(known), sum_of(anchors), least_of(rank)
    if rank == NOTHING or anchors > limits.max_anchors:
        return np.int64(-1), known
    return first + (rank & 0xFFFFFFFF), known


@cuda.jit(device=True)
def count_differences(read, anchor, genome, lane):
    """See cpu_settle.count_differences."""
    length, strand = read.size, strand_of(anchor)
    start, offsets = reference_of(anchor) - query_of(anchor), genome.contig_offsets
    contig = contig_of(offsets, reference_of(anchor))
    if start < offsets[contig] or start + length > offsets[contig + 1]:
        return np.int64(-1)
    differences = np.int64(0)
    for i in range(lane, length, WARP):
        base = read[i] if strand == 0 else np.uint8(3 - read[length - 1 - i])
        differences += base != reference_code(genome.packed, start + i)
    return sum_of(differences)


@cuda.jit(device=True)
def sum_of(value):
    """Return the sum of a value over the warp."""
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, distance)
    return value


@cuda.jit(device=True)
def least_of(value):
    """Return the least value in the warp."""
    for distance in (16, 8, 4, 2, 1):
        value = min(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, distance))
    return value
