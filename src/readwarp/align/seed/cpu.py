"""Seeds on the CPU, in four passes over the batch, so that the cache misses of many look-ups overlap."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import anchor_of
from readwarp.align.seed.scalar import (
    UNFILTERED,
    WINDOWS,
    entries_of,
    is_supported,
    limits_of,
    next_cap,
    window_of,
)
from readwarp.batches import ReadBatch, SeedHits, Status
from readwarp.config import MAX_READ_LENGTH, SeedParameters
from readwarp.device.jit import kernel
from readwarp.device.simd import prefetch
from readwarp.index import Index
from readwarp.index.syncmers import Scratch, Shape, Syncmers, bucket_of, max_syncmers, sketch, tag_of
from readwarp.ragged import empty, replace

AHEAD = 16  # look-ups in flight, in each of two stages
READS_AHEAD = 4  # reads whose entries are prefetched together
SMALL = 48  # up to so many anchors, insertion sort is the fastest


class Seeds(NamedTuple):
    """Syncmers of all reads and their entries in the index; with room for some more."""

    offsets: Annotated[ndarray, "int64 [reads + 1]"]
    hashes: Annotated[ndarray, "uint64 [seeds]"]
    query: Annotated[ndarray, "int32 [seeds]"]
    strand: Annotated[ndarray, "uint8 [seeds]"]
    first: Annotated[ndarray, "uint32 [seeds]"]  # entry of the index
    entries: Annotated[ndarray, "uint32 [seeds]"]  # their number


def find_seeds(reads: ReadBatch, index: Index, parameters: SeedParameters) -> SeedHits:
    n, p, entries = len(reads), index.parameters, entries_of(index)
    lengths = np.diff(reads.read_offsets)
    room = int(max_syncmers(np.minimum(lengths, MAX_READ_LENGTH), p.k, p.t).sum()) + 1
    seeds = empty(Seeds, {"reads": n, "seeds": room})
    seeds.offsets[0] = 0
    hits = SeedHits(np.empty(0, np.uint64), np.zeros(n + 1, np.int64), np.zeros(n, np.int32), np.zeros(n, np.uint8))
    sketch_reads(reads, Shape.of(p), empty(Scratch, {"bases": MAX_READ_LENGTH}), seeds, hits.status)
    look_up(seeds, entries)
    caps = np.empty(n, np.int64)
    choose(seeds, limits_of(parameters), caps, hits)
    room = int(np.diff(hits.anchor_offsets).max(initial=0))
    if room == 0:
        return hits
    hits = replace(hits, anchors=np.empty(hits.anchor_offsets[-1] + 1, np.uint64))
    emit(reads.read_offsets, seeds, caps, entries, p.k, room, hits)
    return replace(hits, anchors=hits.anchors[: hits.anchor_offsets[-1]])


@kernel
def sketch_reads(reads, shape, scratch, seeds, status):
    """Syncmers of each read -> seeds."""
    row, bases, read_offsets, offsets = np.int64(0), reads.bases, reads.read_offsets, seeds.offsets
    out = Syncmers(seeds.hashes, seeds.query, seeds.strand)
    for read in range(read_offsets.size - 1):
        start, stop = read_offsets[read], read_offsets[read + 1]
        if stop - start > MAX_READ_LENGTH:
            status[read] = Status.TOO_LONG
        else:
            row = sketch(bases, start, stop, shape, scratch, out, row)
        offsets[read + 1] = row


@kernel
def look_up(seeds, entries):
    """First entry and number of entries of each hash. Its bucket is prefetched, AHEAD later its tags, then searched."""
    offsets, hashes, _, _, firsts, counts = seeds
    bucket_starts, tags, _, bucket_bits = entries
    size = offsets[-1]
    for i in range(size + 2 * AHEAD):
        if i < size:
            prefetch(bucket_starts, bucket_of(hashes[i], bucket_bits))
        if AHEAD <= i < size + AHEAD:
            prefetch(tags, np.int64(bucket_starts[bucket_of(hashes[i - AHEAD], bucket_bits)]))
        seed = i - 2 * AHEAD
        if seed >= 0:
            bucket, tag = bucket_of(hashes[seed], bucket_bits), np.int64(tag_of(hashes[seed], bucket_bits)) << 1
            low, high = np.int64(bucket_starts[bucket]), np.int64(bucket_starts[bucket + 1])
            first = lower_bound(tags, low, high, tag)
            last = first
            if first < high and tags[first] <= tag + 1:
                last = lower_bound(tags, first + 1, high, tag + 2)
            firsts[seed], counts[seed] = first, last - first


@kernel
def lower_bound(tags, low, high, value):
    """The first of the entries [low, high) whose tag is not below value."""
    while high - low > 8:
        middle = (low + high) >> 1
        if tags[middle] < value:
            low = middle + 1
        else:
            high = middle
    while low < high and tags[low] < value:
        low += 1
    return low


@kernel
def choose(seeds, limits, caps, hits):
    """The cap of each read (see `scalar.next_cap`) -> caps; the offsets of its anchors, the seeds left out -> hits."""
    offsets, counts = seeds.offsets, seeds.entries
    anchor_offsets, repetitive = hits.anchor_offsets, hits.repetitive
    for read in range(caps.size):
        cap, wanted = 0, limits.max_hits
        while wanted != cap:
            cap, anchors, left_out = wanted, 0, 0
            for i in range(offsets[read], offsets[read + 1]):
                if counts[i] > cap:
                    left_out += 1
                else:
                    anchors += counts[i]
            if left_out == 0 and anchors == 0:
                break
            wanted = next_cap(cap, anchors, left_out, offsets[read + 1] - offsets[read], limits)
        caps[read], repetitive[read] = cap, left_out
        anchor_offsets[read + 1] = anchor_offsets[read] + anchors


@kernel
def emit(read_offsets, seeds, caps, entries, k, room, hits):
    """Anchors of the seeds with up to `cap` places, without weak places, sorted within each read -> hits.

    room: the maximum number of anchors of a read, weak places included.
    """
    offsets, _, queries, strands, firsts, counts = seeds
    (_, tags, positions, _), anchors = entries, hits.anchors
    row, found = 0, np.empty(room, np.uint64)
    support = np.zeros(2 * WINDOWS, np.uint16)
    for read in range(caps.size):
        if read % READS_AHEAD == 0:
            for i in range(offsets[read], offsets[min(read + READS_AHEAD, caps.size)]):
                prefetch(positions, np.int64(firsts[i]))
                prefetch(tags, np.int64(firsts[i]))
        length, size = read_offsets[read + 1] - read_offsets[read], 0
        for i in range(offsets[read], offsets[read + 1]):
            if counts[i] <= caps[read]:
                for entry in range(firsts[i], np.int64(firsts[i]) + counts[i]):
                    found[size] = anchor_of(positions[entry], tags[entry] & 1, queries[i], strands[i], length, k)
                    size += 1
        mine = anchors[row : row + size]
        if size > UNFILTERED:
            size = leave_out_weak(found[:size], support, mine)
        else:
            for i in range(size):
                mine[i] = found[i]
        sort(mine[:size])
        row += size
        hits.anchor_offsets[read + 1] = row


@kernel
def leave_out_weak(found, support, out):
    """Copy the anchors of places that have enough of them (see `scalar.is_supported`); returns their number."""
    support[:] = 0
    highest = 0
    for anchor in found:
        for half in range(2):
            window = window_of(anchor, half)
            support[window] += 1
            highest = max(highest, support[window])
    size = 0
    for anchor in found:
        out[size] = anchor
        size += is_supported(max(support[window_of(anchor, 0)], support[window_of(anchor, 1)]), highest)
    return size


@kernel
def sort(values):
    """Sort in ascending order (Shell 1959). One pass is enough where values already rise or fall, as of one place."""
    size = values.size
    if size > 1 and values[0] > values[size - 1]:
        for i in range(size >> 1):
            values[i], values[size - 1 - i] = values[size - 1 - i], values[i]
    gap = 1 if size <= SMALL else size // 3
    while gap > 0:
        for i in range(gap, size):
            value, j = values[i], i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap = gap // 3 if gap > 4 else gap >> 1
