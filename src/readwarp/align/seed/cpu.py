"""Seeds on the CPU, in passes over the batch, so that the cache misses of many look-ups overlap."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import anchor_of
from readwarp.align.batches import SeedHits
from readwarp.align.places import Genome
from readwarp.align.seed import scalar as rule
from readwarp.align.seed.cpu_settle import settle
from readwarp.compiler.jit import kernel, scalar
from readwarp.compiler.simd import prefetch
from readwarp.config import MAX_READ_LENGTH, Scoring, SeedParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.index import Index
from readwarp.index.syncmers import Shape, Syncmers, bucket_of, max_syncmers, scratch_of, sketch, tag_of
from readwarp.ragged import empty, replace
from readwarp.rules.statuses import Status

AHEAD = 16  # look-ups in flight, in each of two stages
FEW, MANY = 6, 100  # numbers of a read's anchors that are sorted by rank: more than FEW, up to MANY
READS_AHEAD = 6  # reads between the prefetch of entries and their use


class Seeds(NamedTuple):
    """Syncmers of all reads and their entries in the index, with room for more.

    Those of a read that do not overlap come first.
    """

    offsets: Annotated[ndarray, "int64 [reads + 1]"]
    stops: Annotated[ndarray, "int64 [reads]"]  # end of a read's seeds to look up
    hashes: Annotated[ndarray, "uint64 [seeds]"]
    query: Annotated[ndarray, "int32 [seeds]"]
    strand: Annotated[ndarray, "uint8 [seeds]"]
    first: Annotated[ndarray, "uint32 [seeds]"]  # first entry in the index, in the dtype of bucket_starts
    entries: Annotated[ndarray, "uint32 [seeds]"]  # number of entries

    @classmethod
    def room(cls, reads: int, seeds: int, entries: rule.Entries) -> "Seeds":
        """Allocate for up to this many seeds."""
        first = np.empty(seeds, entries.bucket_starts.dtype)
        made = empty(cls, {"reads": reads, "seeds": seeds}, first=first)
        made.offsets[0] = 0
        return made


def find_seeds(
    reads: ReadBatch, index: Index, genome: Genome, parameters: SeedParameters, scoring: Scoring
) -> SeedHits:
    n = len(reads)
    p, entries = index.parameters, rule.entries_of(index)
    lengths = np.diff(reads.read_offsets)
    room = int(max_syncmers(np.minimum(lengths, MAX_READ_LENGTH), p.k, p.t).sum()) + 1
    seeds = Seeds.room(n, room, entries)
    hits = empty(SeedHits, {"reads": n, "anchors": 0}, np.zeros)
    sketch_reads(reads, Shape.of(p), scratch_of(MAX_READ_LENGTH), seeds, hits.status)
    rows = np.empty(room, np.int64)
    settled, caps = hits.settled, np.empty(n, np.int64)
    look_up(rows[: list_apart(seeds, rows)], seeds, entries)
    limits = rule.limits_of(parameters)
    settle(reads, genome, seeds, entries, (p.k, limits, rule.proof_of(parameters, scoring)), settled)
    look_up(rows[: list_others(seeds, settled, rows)], seeds, entries)
    choose(seeds, settled, limits, caps, hits)
    room = int(np.diff(hits.anchor_offsets).max(initial=0))
    if room == 0:
        return hits
    hits = replace(hits, anchors=np.empty(hits.anchor_offsets[-1] + 1, np.uint64))
    emit(reads.read_offsets, seeds, caps, entries, p.k, room, hits)
    return replace(hits, anchors=hits.anchors[: hits.anchor_offsets[-1]])


@kernel
def sketch_reads(reads, shape, scratch, seeds, status):
    """Write the syncmers of each read to `seeds`, those that do not overlap first, up to `stops`."""
    row = np.int64(0)
    out = Syncmers(seeds.hashes, seeds.query, seeds.strand)
    for read in range(reads.read_offsets.size - 1):
        start, stop = reads.read_offsets[read], reads.read_offsets[read + 1]
        if stop - start > MAX_READ_LENGTH:
            status[read] = Status.TOO_LONG
        else:
            row = sketch(reads.bases, start, stop, shape, scratch, out, row)
        seeds.stops[read] = put_apart_first(seeds, seeds.offsets[read], row, shape.k)
        seeds.offsets[read + 1] = row


@kernel
def put_apart_first(seeds, first, last, k):
    """Move as many of a read's ordered seeds as do not overlap to the front; return the row after them."""
    hashes = seeds.hashes
    query, strand = seeds.query, seeds.strand
    stop, free = first, np.int64(0)
    for i in range(first, last):
        if query[i] >= free:
            free = np.int64(query[i]) + k
            hashes[i], hashes[stop] = hashes[stop], hashes[i]
            query[i], query[stop] = query[stop], query[i]
            strand[i], strand[stop] = strand[stop], strand[i]
            stop += 1
    return stop


@kernel
def list_apart(seeds, rows):
    """Write the rows of seeds that do not overlap to `rows`; return their number."""
    number = 0
    for read in range(seeds.stops.size):
        for i in range(seeds.offsets[read], seeds.stops[read]):
            rows[number] = i
            number += 1
    return number


@kernel
def list_others(seeds, settled, rows):
    """Write the rows of the other seeds, of unsettled reads, to `rows`; return their number."""
    number = 0
    for read in range(seeds.stops.size):
        if not settled[read]:
            for i in range(seeds.stops[read], seeds.offsets[read + 1]):
                rows[number] = i
                number += 1
            seeds.stops[read] = seeds.offsets[read + 1]
    return number


@kernel
def look_up(rows, seeds, entries):
    """Find first entry and number of entries of these seeds, with prefetches of buckets and, AHEAD later, of tags."""
    hashes = seeds.hashes
    bucket_starts, tags, _, bucket_bits = entries
    size = rows.size
    for i in range(size + 2 * AHEAD):
        if i < size:
            prefetch(bucket_starts, bucket_of(hashes[rows[i]], bucket_bits))
        if AHEAD <= i < size + AHEAD:
            prefetch(tags, np.int64(bucket_starts[bucket_of(hashes[rows[i - AHEAD]], bucket_bits)]))
        if i >= 2 * AHEAD:
            seed = rows[i - 2 * AHEAD]
            bucket, tag = bucket_of(hashes[seed], bucket_bits), np.int64(tag_of(hashes[seed], bucket_bits)) << 1
            low, high = np.int64(bucket_starts[bucket]), np.int64(bucket_starts[bucket + 1])
            first = lower_bound(tags, low, high, tag)
            last = first
            if first < high and tags[first] <= tag + 1:
                last = lower_bound(tags, first + 1, high, tag + 2)
            seeds.first[seed], seeds.entries[seed] = first, last - first


@kernel
def lower_bound(tags, low, high, value):
    """Return the first of the entries [low, high) whose tag is not below value."""
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
def choose(seeds, settled, limits, caps, hits):
    """Write the cap of each read (see `scalar.next_cap`) to caps; anchor offsets and the seeds left out to hits."""
    anchor_offsets, repetitive = hits.anchor_offsets, hits.repetitive
    for read in range(caps.size):
        cap, wanted = 0, limits.max_hits
        while wanted != cap:
            cap = wanted
            anchors = left_out = 0
            for i in range(seeds.offsets[read], seeds.stops[read]):
                if seeds.entries[i] > cap:
                    left_out += 1
                else:
                    anchors += seeds.entries[i]
            if settled[read] or (left_out == 0 and anchors == 0):
                break
            wanted = rule.next_cap(cap, anchors, left_out, seeds.stops[read] - seeds.offsets[read], limits)
        caps[read], repetitive[read] = cap, 0 if settled[read] else left_out
        anchor_offsets[read + 1] = anchor_offsets[read] + anchors


@kernel
def emit(read_offsets, seeds, caps, entries, k, room, hits):
    """Write the anchors of seeds with up to `cap` places, without weak places and sorted within each read, to `hits`.

    room: the maximum number of anchors of a read, weak places included.
    """
    offsets, stops, _, queries, strands, firsts, counts = seeds
    (_, tags, positions, _), anchors = entries, hits.anchors
    row = 0
    found, runs = np.empty(room, np.uint64), np.empty(room + 1, np.int64)
    support = np.zeros(2 * rule.WINDOWS, np.uint16)
    for read in range(caps.size):
        if read + READS_AHEAD < caps.size:
            for i in range(offsets[read + READS_AHEAD], stops[read + READS_AHEAD]):
                prefetch(positions, np.int64(firsts[i]))
                prefetch(tags, np.int64(firsts[i]))
        length, size = read_offsets[read + 1] - read_offsets[read], 0
        for i in range(offsets[read], stops[read]):
            if counts[i] <= caps[read]:
                for entry in range(np.int64(firsts[i]), np.int64(firsts[i]) + counts[i]):
                    found[size] = anchor_of(positions[entry], tags[entry] & 1, queries[i], strands[i], length, k)
                    size += 1
        mine = anchors[row : row + size]
        if size > rule.UNFILTERED:
            kept, highest = leave_out_weak(found[:size], support, mine)
            if kept < size:
                used, shape = (offsets[read], stops[read], caps[read]), (k, rule.part_bits(length))
                kept = keep_other_parts(found, kept, seeds, used, shape, support, highest, mine)
            size = kept
        else:
            for i in range(size):
                mine[i] = found[i]
        sort(mine[:size], found, runs)
        row += size
        hits.anchor_offsets[read + 1] = row


@kernel
def leave_out_weak(found, support, out):
    """Copy the anchors of places that have enough of them (see `scalar.is_supported`).

    Returns their number, and the number of anchors of the best place.
    """
    support[:] = 0
    highest, size = np.int64(0), 0
    for anchor in found:
        for half in range(2):
            window = rule.window_of(anchor, half)
            count = np.int64(support[window]) + 1
            support[window] = count
            highest = max(highest, count)
    for anchor in found:
        out[size] = anchor
        size += rule.is_supported(support_of(anchor, support), highest)
    return size, highest


@kernel
def keep_other_parts(found, size, seeds, used, shape, support, highest, out):
    """Add the anchors for parts of the read that those in `out` do not cover; return the new number.

    used: rows of the read's seeds, and the cap. shape: k, and bits of a part's length.
    """
    queries, counts = seeds.query, seeds.entries
    (first, last, cap), (k, bits) = used, shape
    covered = seeded = np.int64(0)
    stop = 0
    for i in range(first, last):
        if 0 < counts[i] <= cap:
            start, stop, parts = stop, stop + counts[i], rule.parts_of(queries[i], k, bits)
            seeded |= parts
            for j in range(start, stop):
                if rule.is_supported(support_of(found[j], support), highest):
                    covered |= parts
                    break
    if seeded != covered:
        stop = 0
        for i in range(first, last):
            if 0 < counts[i] <= cap:
                start, stop = stop, stop + counts[i]
                if covered & rule.parts_of(queries[i], k, bits) == 0:
                    for j in range(start, stop):
                        out[size] = found[j]
                        size += support_of(found[j], support) >= rule.LEAST
    return size


@scalar
def support_of(anchor, support):
    """Return the number of anchors of its place."""
    return max(support[rule.window_of(anchor, 0)], support[rule.window_of(anchor, 1)])


@kernel
def sort(values, space, runs):
    """Sort distinct values in ascending order: merge rising runs, two by two, from one array to the other.

    The anchors of a seed rise, as do those of one place on the forward strand; on the other strand they fall. runs:
    room for their starts.
    """
    size = values.size
    source, target = values, space
    if FEW < size <= MANY:
        sort_by_rank(values, space)
        return
    if size > 1 and values[0] > values[size - 1]:
        for i in range(size >> 1):
            values[i], values[size - 1 - i] = values[size - 1 - i], values[i]
    number = find_runs(values, runs)
    is_moved = False
    while number > 1:
        for run in range(0, number, 2):
            merge(source, runs[run], runs[run + 1], runs[min(run + 2, number)], target)
            runs[run >> 1] = runs[run]
        number = (number + 1) >> 1
        runs[number] = size
        source, target, is_moved = target, source, not is_moved
    if is_moved:
        for i in range(size):
            values[i] = space[i]


@kernel
def sort_by_rank(values, space):
    """Sort distinct values by rank, the number of smaller ones; in vectors, without branches."""
    size = np.uint64(values.size)
    for i in range(size):
        space[i] = values[i]
    for i in range(size):
        value, rank = space[i], np.int64(0)
        for k in range(size):
            rank += space[k] < value
        values[rank] = value


@kernel
def find_runs(values, runs):
    """Write the starts of rising runs, and the end, to `runs`; return the number of runs."""
    number = 0
    for i in range(values.size):
        runs[number] = i
        number += i == 0 or values[i - 1] > values[i]
    runs[number] = values.size
    return number


@kernel
def merge(source, start, middle, stop, target):
    """Merge source[start:middle] and source[middle:stop] into target[start:stop]. Unsigned rows cannot be negative."""
    left = at = np.uint64(start)
    right = middle = np.uint64(middle)
    stop, one = np.uint64(stop), np.uint64(1)
    while left < middle and right < stop:
        is_left = np.uint64(source[left] <= source[right])
        target[at] = min(source[left], source[right])  # avoids an unpredictable branch
        left += is_left
        right += one - is_left
        at += one
    for i in range(left, middle):
        target[at] = source[i]
        at += one
    for i in range(right, stop):
        target[at] = source[i]
        at += one
