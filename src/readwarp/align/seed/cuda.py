"""Seeds on CUDA: the passes of cpu.py, with a thread per look-up and a warp per read's anchors.

The slots of a read's seeds begin at `slot_of`, which follows from where its bases begin, so that seeds need not be
counted before they are written; empty slots have query -1. Seeds that overlap the last one that does not are marked
LATER, and become empty if the read is settled without them. The result of a look-up replaces the seed's hash. The host
allocates memory twice: for all anchors, and for those that remain without weak places.
"""

import numpy as np

from readwarp.align.anchors import anchor_of, query_of, strand_of
from readwarp.align.batches import SeedHits
from readwarp.align.places import Genome
from readwarp.align.seed import cuda_slots
from readwarp.align.seed import scalar as rule
from readwarp.align.seed.cuda_settle import settle
from readwarp.align.seed.scalar import WINDOWS  # an array's size must be a name
from readwarp.config import MAX_READ_LENGTH, Scoring, SeedParameters
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import THREADS, WARP, threads_for, warps_for
from readwarp.device.cuda_scan import total_of
from readwarp.device.gather import add_up
from readwarp.device.memory import current
from readwarp.device.staging import rounded
from readwarp.formats.common.reads import ReadBatch
from readwarp.index import Index
from readwarp.index.syncmers import Shape, bucket_of, mask_of, mix, order, push, push_complement, tag_of
from readwarp.rules.statuses import Status

TOO_LONG = int(Status.TOO_LONG)
RING = 32  # the last s-mers, at least k - s + 1; a power of two
SORTED = 512  # this many anchors are sorted in shared memory, more in global memory
HIGHEST, KEPT = 0, 1


def find_seeds(
    reads: ReadBatch, index: Index, genome: Genome, parameters: SeedParameters, scoring: Scoring
) -> SeedHits:
    """See cpu.find_seeds. Inputs and results are on the device; the caller's frame frees memory."""
    workspace = current()
    p, n = index.parameters, len(reads)
    size = cuda_slots.slots_of(n, reads.bases.size, p.t)
    shape, entries = Shape.of(p), rule.entries_of(index)
    limits = rule.limits_of(parameters)
    anchor_offsets, starts = (workspace.empty(n + 1, np.int64) for _ in range(2))
    repetitive, status, settled = (workspace.empty(n, dtype) for dtype in (np.int32, np.uint8, np.uint8))
    seed_counts, sizes = (workspace.empty(n, np.int32) for _ in range(2))
    slots = cuda_slots.SeedSlots(*(workspace.empty(size, dtype) for dtype in (np.uint64, np.int32, np.int32)))
    per_read, per_seed = threads_for(n, workspace), threads_for(size, workspace)
    warps = warps_for(n, workspace)

    sketch_reads[per_read](reads.bases, reads.read_offsets, shape, slots, seed_counts, status)
    look_up[per_seed](slots, entries, 0)
    rules = shape, limits, rule.proof_of(parameters, scoring)
    settle[warps](reads.bases, reads.read_offsets, genome, seed_counts, slots, entries, rules, settled)
    look_up[per_seed](slots, entries, cuda_slots.LATER)
    choose[per_read](reads.read_offsets, p.t, seed_counts, slots, limits, settled, sizes, repetitive)
    add_up(n, starts, sizes)
    found = workspace.empty(total_of(starts, workspace), np.uint64)
    emit[warps](reads.read_offsets, shape, seed_counts, slots, entries, starts, found, sizes)
    add_up(n, anchor_offsets, sizes)
    anchors = workspace.empty(total_of(anchor_offsets, workspace), np.uint64)
    sort_anchors[warps](found, starts, anchors, anchor_offsets)
    return SeedHits(anchors, anchor_offsets, repetitive, settled, status)


def device_bytes(reads: int, bases: int, t: int, found: int, anchors: int) -> int:
    """Return the peak bytes of the workspace. found, anchors: of all reads, with and without weak places."""
    slots = cuda_slots.slots_of(reads, bases, t)
    per_read = 2 * rounded(8 * (reads + 1)) + 3 * rounded(4 * reads) + 2 * rounded(reads)
    per_seed = rounded(8 * slots) + 2 * rounded(4 * slots)
    return per_read + per_seed + rounded(8 * found) + rounded(8 * anchors)


@cuda_kernel
def sketch_reads(bases, read_offsets, shape, slots, seed_counts, status):
    """Write the syncmers of each read, as in `index.syncmers.sketch`; those that overlap earlier ones are LATER."""
    k, s, t = shape
    ring = cuda.shared.array((RING, THREADS), np.uint32)
    read, thread = cuda.grid(1), np.uint32(cuda.threadIdx.x)  # unsigned: no index counts from the end
    if read >= seed_counts.size:
        return
    start, length = read_offsets[read], np.int32(read_offsets[read + 1] - read_offsets[read])
    first, end = cuda_slots.slot_of(read_offsets, read, t), cuda_slots.slot_of(read_offsets, read + 1, t)
    status[read] = TOO_LONG if length > MAX_READ_LENGTH else 0
    mask = np.uint64(mask_of(k))
    short, shift = np.uint64(mask_of(s)), np.uint64(2 * (k - s))
    row = first
    run = free = np.int32(0)
    word = complement = np.uint64(0)
    for i in range(length if length <= MAX_READ_LENGTH else 0):
        base = bases[start + i]
        run = np.int32(run + 1) if base < 4 else np.int32(0)
        base = np.uint8(base & 3)
        word, complement = np.uint64(push(word, base, mask)), np.uint64(push_complement(complement, base, k))
        place = np.uint32(i & (RING - 1))
        ring[place, thread] = order(min(word & short, complement >> shift))
        if run >= k and word != complement:
            larger, middle = np.int32(0), ring[np.uint32((i - t) & (RING - 1)), thread]
            for _ in range(k - s + 1):
                larger += np.int32(ring[place, thread] > middle)
                place = np.uint32((place + (RING - 1)) & (RING - 1))
            if larger == k - s:
                slots.seeds[row] = mix(min(word, complement))
                query = np.int32(i - k + 1)
                slots.queries[row] = np.int32(
                    query << 1 | (word > complement) | (cuda_slots.LATER if query < free else 0)
                )
                free = np.int32(query + k) if query >= free else free
                row += 1
    seed_counts[read] = row - first
    for slot in range(row, end):
        slots.queries[slot] = cuda_slots.EMPTY


@cuda_kernel
def look_up(slots, entries, later):
    """Replace each hash by its first entry and number of entries. A thread per slot.

    later: 0 or LATER, the flag of the seeds to look up.
    """
    slot = cuda.grid(1)
    (seeds, queries, _), (bucket_starts, tags, _, bucket_bits) = slots, entries
    if slot >= queries.size or queries[slot] == cuda_slots.EMPTY or queries[slot] & cuda_slots.LATER != later:
        return
    hashed = np.uint64(seeds[slot])
    bucket, tag = bucket_of(hashed, bucket_bits), np.int64(tag_of(hashed, bucket_bits)) << 1
    low, high = np.int64(bucket_starts[bucket]), np.int64(bucket_starts[bucket + 1])
    first = lower_bound(tags, low, high, tag)
    count = lower_bound(tags, first, high, tag + 2) - first
    seeds[slot] = cuda_slots.found_at(first, count)


@cuda.jit(device=True)
def lower_bound(tags, low, high, value):
    """Return the first of the entries [low, high) whose tag is not below value."""
    while low < high:
        middle = (low + high) >> 1
        if tags[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@cuda_kernel
def choose(read_offsets, t, seed_counts, slots, limits, settled, sizes, repetitive):
    """Find the cap of each read (see `scalar.next_cap`); count its anchors and the seeds left out; number the rows."""
    read, (seeds, queries, rows) = cuda.grid(1), slots
    if read >= seed_counts.size:
        return
    first = cuda_slots.slot_of(read_offsets, read, t)
    last = first + seed_counts[read]
    cap, wanted = np.int64(0), np.int64(limits.max_hits)
    anchors = left_out = np.int64(0)
    while wanted != cap:
        cap = wanted
        anchors = left_out = np.int64(0)
        for i in range(first, last):
            count = cuda_slots.count_of(seeds[i]) if queries[i] != cuda_slots.EMPTY else 0
            left_out += count > cap
            anchors += count if count <= cap else 0
        if settled[read] or (left_out == 0 and anchors == 0):
            break
        wanted = np.int64(rule.next_cap(cap, anchors, left_out, last - first, limits))
    sizes[read], repetitive[read] = anchors, 0 if settled[read] else left_out
    row = np.int64(0)
    for i in range(first, last):
        count = cuda_slots.count_of(seeds[i]) if queries[i] != cuda_slots.EMPTY else 0
        rows[i] = row if 0 < count <= cap else cuda_slots.EMPTY
        row += count if count <= cap else 0


@cuda_kernel
def emit(read_offsets, shape, seed_counts, slots, entries, starts, found, sizes):
    """Write anchors of the seeds not left out, without weak places, to the read's part of `found`. A warp per read."""
    k, _, t = shape
    (seeds, queries, rows), (_, tags, positions, _) = slots, entries
    support = cuda.shared.array(WINDOWS, np.uint32)
    cells = cuda.shared.array(2, np.int32)
    read, lane = cuda.blockIdx.x, cuda.threadIdx.x
    if read >= sizes.size:
        return
    length = read_offsets[read + 1] - read_offsets[read]
    first, size = cuda_slots.slot_of(read_offsets, read, t), sizes[read]
    mine = found[starts[read] : starts[read] + size]
    for i in range(first + lane, first + seed_counts[read], WARP):
        if rows[i] != cuda_slots.EMPTY:
            entry, (query, strand) = cuda_slots.entry_of(seeds[i]), cuda_slots.place_on_read(queries[i])
            for j in range(cuda_slots.count_of(seeds[i])):
                mine[rows[i] + j] = anchor_of(positions[entry + j], tags[entry + j] & 1, query, strand, length, k)
    if size > rule.UNFILTERED:
        cuda.syncthreads()
        kept = leave_out_weak(mine, (length, k), size, lane, support, cells)
        if lane == 0:
            sizes[read] = kept


@cuda.jit(device=True)
def leave_out_weak(found, lengths, size, lane, support, cells):
    """See cpu.leave_out_weak; in any order. lengths: of the read and of a seed.

    support: counters of one half in the lower 16 bits, of the other in the upper 16. The warp reads WARP anchors before
    it writes those it keeps, so that it never overwrites unread ones.
    """
    for window in range(lane, WINDOWS, WARP):
        support[window] = 0
    if lane < 2:
        cells[lane] = 0
    cuda.syncthreads()
    for i in range(lane, size, WARP):
        cuda.atomic.add(support, rule.window_of(found[i], 0), np.uint32(1))
        cuda.atomic.add(support, rule.window_of(found[i], 1) - WINDOWS, np.uint32(1 << 16))
    cuda.syncthreads()
    highest = np.int32(0)
    for window in range(lane, WINDOWS, WARP):
        highest = max(highest, np.int32(support[window] & 0xFFFF), np.int32(support[window] >> 16))
    cuda.atomic.max(cells, HIGHEST, highest)
    cuda.syncthreads()
    (length, k), covered = lengths, np.int64(0)
    bits = rule.part_bits(length)
    for i in range(lane, size, WARP):
        if rule.is_supported(support_of(found[i], support), cells[HIGHEST]):
            covered |= rule.parts_of(start_of(found[i], length, k), k, bits)
    for distance in (16, 8, 4, 2, 1):
        covered |= cuda.shfl_xor_sync(0xFFFFFFFF, covered, distance)
    for begin in range(0, size, WARP):
        stays, anchor = False, np.uint64(0)
        if begin + lane < size:
            anchor = found[begin + lane]
            own = support_of(anchor, support)
            is_other = own >= rule.LEAST and covered & rule.parts_of(start_of(anchor, length, k), k, bits) == 0
            stays = rule.is_supported(own, cells[HIGHEST]) or is_other
        cuda.syncthreads()
        if stays:
            found[cuda.atomic.add(cells, KEPT, 1)] = anchor
    cuda.syncthreads()
    return cells[KEPT]


@cuda.jit(device=True)
def support_of(anchor, support):
    """Return the number of anchors of its place."""
    lower = np.int32(support[rule.window_of(anchor, 0)] & 0xFFFF)
    return max(lower, np.int32(support[rule.window_of(anchor, 1) - WINDOWS] >> 16))


@cuda.jit(device=True)
def start_of(anchor, length, k):
    """Return where its seed starts in the read."""
    query = np.int64(query_of(anchor))
    return length - k - query if strand_of(anchor) else query


@cuda_kernel
def sort_anchors(found, starts, anchors, anchor_offsets):
    """Write each read's anchors in ascending order to `anchors`. A warp per read."""
    near = cuda.shared.array(SORTED, np.uint64)
    read, lane = cuda.blockIdx.x, cuda.threadIdx.x
    if read >= anchor_offsets.size - 1:
        return
    first, start = anchor_offsets[read], starts[read]
    size = np.int32(anchor_offsets[read + 1] - first)
    if size > SORTED:
        for i in range(lane, size, WARP):
            anchors[first + i] = found[start + i]
        sort(anchors[first : first + size], size, lane)
        return
    for i in range(lane, size, WARP):
        near[i] = found[start + i]
    sort(near, size, lane)
    for i in range(lane, size, WARP):
        anchors[first + i] = near[i]


@cuda.jit(device=True)
def sort(values, size, lane):
    """Sort values[:size] in ascending order by a warp, with the bitonic network (Batcher 1968).

    Its merges begin with a mirrored step, so that all comparisons have one direction; values past the end would be the
    largest and never move.
    """
    cuda.syncthreads()
    pairs, half = np.int32(1), np.int32(1)
    while pairs << 1 < size:
        pairs = np.int32(pairs << 1)
    while half < size:
        step = half
        while step > 0:
            for pair in range(lane, pairs, WARP):
                within = pair & (step - 1)
                low = np.uint32((pair << 1) - within)
                high = np.uint32(low + (step if step < half else (step << 1) - (within << 1) - 1))
                if high < size:
                    one, other = values[low], values[high]
                    if one > other:
                        values[low], values[high] = other, one
            cuda.syncthreads()
            step = np.int32(step >> 1)
        half = np.int32(half << 1)
