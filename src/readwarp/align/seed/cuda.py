"""Seeds on CUDA: a thread per read in each pass of cpu.py; anchors are counted, then placed, then closed up."""

from typing import Any

import numpy as np

from readwarp.align.seed.scalar import UNFILTERED, WINDOWS, anchor_of, is_supported, next_cap, window_of
from readwarp.batches import ReadBatch, SeedHits, Status
from readwarp.config import MAX_READ_LENGTH, SeedParameters
from readwarp.device.jit import cuda
from readwarp.index import Index
from readwarp.index.syncmers import bucket_of, mask_of, mix, most_syncmers, order, push, push_complement, tag_of
from readwarp.ragged import offsets_of

THREADS = 128
RING = 32  # s-mers remembered, at least k - s + 1
TOO_LONG = int(Status.TOO_LONG)
COUNTERS = 2 * WINDOWS


def find_seeds(reads: ReadBatch, index: Index, parameters: SeedParameters) -> SeedHits:
    """As cpu.find_seeds; arrays in and out are on the device."""
    p, lengths = index.parameters, np.diff(to_host(reads.read_offsets))
    n, grid = lengths.size, (max(1, -(-lengths.size // THREADS)), THREADS)
    rooms = most_syncmers(np.minimum(lengths, MAX_READ_LENGTH), p.k, p.t)
    seed_starts, room = cuda.to_device(offsets_of(rooms)[:-1]), max(1, int(rooms.sum()))
    hashes, (firsts, counts) = cuda.device_array(room, np.uint64), (cuda.device_array(room, np.uint32) for _ in "fc")
    queries, strands = cuda.device_array(room, np.int32), cuda.device_array(room, np.uint8)
    seed_counts, sizes, caps = (cuda.device_array(n, np.int64) for _ in range(3))
    repetitive, status = cuda.device_array(n, np.int32), cuda.device_array(n, np.uint8)
    sketch_reads[grid](
        reads.bases, reads.read_offsets, p.k, p.s, p.t, seed_starts, hashes, queries, strands, seed_counts, status
    )
    bucket_bits = (index.bucket_starts.size - 1).bit_length() - 1
    look_up[grid](seed_starts, seed_counts, hashes, index.bucket_starts, index.tags, bucket_bits, firsts, counts)
    choose[grid](
        seed_starts, seed_counts, counts, parameters.max_hits, parameters.rescue_hits, parameters.max_anchors,
        caps, sizes, repetitive,
    )  # fmt: skip
    starts = offsets_of(to_host(sizes))
    found = cuda.device_array(max(1, starts[-1]), np.uint64)
    emit[grid](
        reads.read_offsets, seed_starts, seed_counts, queries, strands, firsts, counts, caps, index.tags,
        index.positions, p.k, cuda.to_device(starts), found, sizes,
    )  # fmt: skip
    ends = offsets_of(to_host(sizes))
    anchors, anchor_offsets = cuda.device_array(ends[-1], np.uint64), cuda.to_device(ends)
    if ends[-1]:
        close_up[grid](found, cuda.to_device(starts), anchors, anchor_offsets)
    return SeedHits(anchors, anchor_offsets, repetitive, status)


def to_host(array: Any) -> np.ndarray:
    host: np.ndarray = array.copy_to_host()
    return host


@cuda.jit
def sketch_reads(bases, read_offsets, k, s, t, seed_starts, hashes, queries, strands, seed_counts, status):
    """Syncmers of each read, from its own start on; the same as `index.syncmers.sketch` finds."""
    read = cuda.grid(1)
    if read >= seed_counts.size:
        return
    start, stop = read_offsets[read], read_offsets[read + 1]
    seed_counts[read], status[read] = 0, 0
    if stop - start > MAX_READ_LENGTH:
        status[read] = TOO_LONG
        return
    ring = cuda.local.array(RING, np.uint32)
    mask, short, shift = np.uint64(mask_of(k)), np.uint64(mask_of(s)), np.uint64(2 * (k - s))
    word = complement = np.uint64(0)
    run, row = 0, seed_starts[read]
    for i in range(stop - start):
        base = bases[start + i]
        run = run + 1 if base < 4 else 0
        base = np.uint8(base & 3)
        word, complement = np.uint64(push(word, base, mask)), np.uint64(push_complement(complement, base, k))
        ring[i % RING] = order(min(word & short, complement >> shift))
        if run >= k and word != complement:
            larger, middle = 0, ring[(i - t) % RING]
            for d in range(k - s + 1):
                larger += ring[(i - d) % RING] > middle
            if larger == k - s:
                hashes[row] = mix(min(word, complement))
                queries[row], strands[row] = i - k + 1, word > complement
                row += 1
    seed_counts[read] = row - seed_starts[read]


@cuda.jit
def look_up(seed_starts, seed_counts, hashes, bucket_starts, tags, bucket_bits, firsts, counts):
    """First entry and number of entries of each hash."""
    read = cuda.grid(1)
    if read >= seed_counts.size:
        return
    for i in range(seed_starts[read], seed_starts[read] + seed_counts[read]):
        hashed = np.uint64(hashes[i])
        bucket, tag = bucket_of(hashed, bucket_bits), np.int64(tag_of(hashed, bucket_bits)) << 1
        low, high = np.int64(bucket_starts[bucket]), np.int64(bucket_starts[bucket + 1])
        first = lower_bound(tags, low, high, tag)
        firsts[i], counts[i] = first, lower_bound(tags, first, high, tag + 2) - first


@cuda.jit(device=True)
def lower_bound(tags, low, high, value):
    """The first of the entries [low, high) that is not below value."""
    while low < high:
        middle = (low + high) >> 1
        if tags[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@cuda.jit
def choose(seed_starts, seed_counts, counts, max_hits, rescue_hits, max_anchors, caps, sizes, repetitive):
    """The cap of each read (see `scalar.next_cap`), its anchors, and the seeds left out."""
    read = cuda.grid(1)
    if read >= seed_counts.size:
        return
    first, last = seed_starts[read], seed_starts[read] + seed_counts[read]
    cap, wanted, anchors, left_out = np.int64(0), np.int64(max_hits), np.int64(0), 0
    while wanted != cap:
        cap, anchors, left_out = wanted, np.int64(0), 0
        for i in range(first, last):
            if counts[i] > cap:
                left_out += 1
            else:
                anchors += np.int64(counts[i])
        if left_out == 0 and anchors == 0:
            break
        wanted = np.int64(next_cap(cap, anchors, left_out, last - first, max_hits, rescue_hits, max_anchors))
    caps[read], sizes[read], repetitive[read] = cap, anchors, left_out


@cuda.jit
def emit(
    read_offsets, seed_starts, seed_counts, queries, strands, firsts, counts, caps, tags, positions, k, starts,
    found, sizes,
):  # fmt: skip
    """Anchors of the seeds at or below the cap, weak places left out, sorted within each read's part of `found`."""
    read = cuda.grid(1)
    if read >= seed_counts.size:
        return
    length, row = read_offsets[read + 1] - read_offsets[read], starts[read]
    for i in range(seed_starts[read], seed_starts[read] + seed_counts[read]):
        if counts[i] <= caps[read]:
            for entry in range(np.int64(firsts[i]), np.int64(firsts[i]) + np.int64(counts[i])):
                found[row] = anchor_of(positions[entry], tags[entry] & 1, queries[i], strands[i], length, k)
                row += 1
    size = row - starts[read]
    if size > UNFILTERED:
        size = leave_out_weak(found, starts[read], row)
    sort(found, starts[read], starts[read] + size)
    sizes[read] = size


@cuda.jit(device=True)
def leave_out_weak(found, start, stop):
    """Keep the anchors of places that have enough of them (see `scalar.is_supported`); returns how many."""
    support = cuda.local.array(COUNTERS, np.uint16)
    for window in range(COUNTERS):
        support[window] = 0
    most = np.int64(0)
    for i in range(start, stop):
        for half in range(2):
            window = window_of(found[i], half)
            support[window] += 1
            most = max(most, np.int64(support[window]))
    row = start
    for i in range(start, stop):
        anchor = found[i]
        if is_supported(max(support[window_of(anchor, 0)], support[window_of(anchor, 1)]), most):
            found[row] = anchor
            row += 1
    return row - start


@cuda.jit(device=True)
def sort(values, start, stop):
    """Ascending order (Shell 1959)."""
    gap = (stop - start) >> 1
    while gap > 0:
        for i in range(start + gap, stop):
            value, j = values[i], i
            while j - gap >= start and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap >>= 1


@cuda.jit
def close_up(found, starts, anchors, anchor_offsets):
    """Each read's anchors to their final place, without the room of those left out."""
    read = cuda.grid(1)
    if read >= anchor_offsets.size - 1:
        return
    shift = starts[read] - anchor_offsets[read]
    for i in range(anchor_offsets[read], anchor_offsets[read + 1]):
        anchors[i] = found[i + shift]
