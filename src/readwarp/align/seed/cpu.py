"""Seeds on the CPU: four passes over the batch, so that cache misses of many look-ups overlap."""

import numpy as np

from readwarp.align.seed.scalar import UNFILTERED, WINDOWS, anchor_of, is_supported, next_cap, window_of
from readwarp.batches import ReadBatch, SeedHits, Status
from readwarp.config import MAX_READ_LENGTH, SeedParameters
from readwarp.device.jit import kernel
from readwarp.device.prefetch import prefetch
from readwarp.index import Index
from readwarp.index.syncmers import Scratch, Shape, Syncmers, bucket_of, max_syncmers, sketch, tag_of

AHEAD = 16  # look-ups in flight, in each of their two stages
READS_AHEAD = 4  # reads whose entries are asked for together
SMALL = 48  # anchors up to which insertion sort is the fastest


def find_seeds(reads: ReadBatch, index: Index, parameters: SeedParameters) -> SeedHits:
    n, p = len(reads), index.parameters
    lengths = np.diff(reads.read_offsets)
    room = int(max_syncmers(np.minimum(lengths, MAX_READ_LENGTH), p.k, p.t).sum()) + 1
    found = Syncmers(np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.uint8))
    hashes, queries, strands = found
    firsts, counts = np.empty(room, np.uint32), np.empty(room, np.uint32)
    seed_offsets, anchor_offsets = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    repetitive, status = np.zeros(n, np.int32), np.zeros(n, np.uint8)
    caps = np.empty(n, np.int64)
    sketch_reads(
        reads.bases, reads.read_offsets, Shape.of(p), Scratch.empty(MAX_READ_LENGTH), found, seed_offsets, status
    )
    bucket_bits = (index.bucket_starts.size - 1).bit_length() - 1
    look_up(hashes[: seed_offsets[-1]], index.bucket_starts, index.tags, bucket_bits, firsts, counts)
    choose(
        seed_offsets, counts, parameters.max_hits, parameters.rescue_hits, parameters.max_anchors,
        caps, anchor_offsets, repetitive,
    )  # fmt: skip
    anchors, room = np.empty(anchor_offsets[-1] + 1, np.uint64), int(np.diff(anchor_offsets).max(initial=0))
    if room == 0:
        return SeedHits(anchors[:0], anchor_offsets, repetitive, status)
    emit(
        reads.read_offsets, seed_offsets, queries, strands, firsts, counts, caps, index.tags, index.positions, p.k,
        room, anchor_offsets, anchors,
    )  # fmt: skip
    return SeedHits(anchors[: anchor_offsets[-1]], anchor_offsets, repetitive, status)


@kernel
def sketch_reads(bases, read_offsets, shape, scratch, out, seed_offsets, status):
    """Syncmers of each read, one read after another."""
    row = np.int64(0)
    for read in range(read_offsets.size - 1):
        start, stop = read_offsets[read], read_offsets[read + 1]
        if stop - start > MAX_READ_LENGTH:
            status[read] = Status.TOO_LONG
        else:
            row = sketch(bases, start, stop, shape, scratch, out, row)
        seed_offsets[read + 1] = row


@kernel
def look_up(hashes, bucket_starts, tags, bucket_bits, firsts, counts):
    """First entry and number of entries of each hash: its bucket is asked for, AHEAD later its tags, then searched."""
    for i in range(hashes.size + 2 * AHEAD):
        if i < hashes.size:
            prefetch(bucket_starts, bucket_of(hashes[i], bucket_bits))
        if AHEAD <= i < hashes.size + AHEAD:
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
    """The first of the entries [low, high) that is not below value."""
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
def choose(seed_offsets, counts, max_hits, rescue_hits, max_anchors, caps, anchor_offsets, repetitive):
    """The cap of each read (see `scalar.next_cap`), its anchors as offsets, and the seeds left out."""
    for read in range(caps.size):
        cap, wanted = 0, max_hits
        while wanted != cap:
            cap, anchors, left_out = wanted, 0, 0
            for i in range(seed_offsets[read], seed_offsets[read + 1]):
                if counts[i] > cap:
                    left_out += 1
                else:
                    anchors += counts[i]
            if left_out == 0 and anchors == 0:
                break
            seeds = seed_offsets[read + 1] - seed_offsets[read]
            wanted = next_cap(cap, anchors, left_out, seeds, max_hits, rescue_hits, max_anchors)
        caps[read], repetitive[read] = cap, left_out
        anchor_offsets[read + 1] = anchor_offsets[read] + anchors


@kernel
def emit(
    read_offsets, seed_offsets, queries, strands, firsts, counts, caps, tags, positions, k, room,
    anchor_offsets, anchors
):  # fmt: skip
    """Anchors of the seeds at or below the cap, weak places left out, sorted within each read."""
    row, found = 0, np.empty(room, np.uint64)
    support = np.zeros(2 * WINDOWS, np.uint16)
    for read in range(caps.size):
        if read % READS_AHEAD == 0:
            for i in range(seed_offsets[read], seed_offsets[min(read + READS_AHEAD, caps.size)]):
                prefetch(positions, np.int64(firsts[i]))
                prefetch(tags, np.int64(firsts[i]))
        length, size = read_offsets[read + 1] - read_offsets[read], 0
        for i in range(seed_offsets[read], seed_offsets[read + 1]):
            if counts[i] <= caps[read]:
                for entry in range(firsts[i], np.int64(firsts[i]) + counts[i]):
                    found[size] = anchor_of(positions[entry], tags[entry] & 1, queries[i], strands[i], length, k)
                    size += 1
        kept = anchors[row : row + size]
        if size > UNFILTERED:
            size = leave_out_weak(found[:size], support, kept)
        else:
            for i in range(size):
                kept[i] = found[i]
        sort(kept[:size])
        row += size
        anchor_offsets[read + 1] = row


@kernel
def leave_out_weak(found, support, kept):
    """Copies the anchors of places that have enough of them (see `scalar.is_supported`); returns how many."""
    support[:] = 0
    most = 0
    for anchor in found:
        for half in range(2):
            window = window_of(anchor, half)
            support[window] += 1
            most = max(most, support[window])
    size = 0
    for anchor in found:
        kept[size] = anchor
        size += is_supported(max(support[window_of(anchor, 0)], support[window_of(anchor, 1)]), most)
    return size


@kernel
def sort(values):
    """Ascending order (Shell 1959); values that ascend or descend already, as those of one place do, cost one pass."""
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
