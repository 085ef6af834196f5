"""Find the reference bases that records cover, and their depth, overlapping mates once."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.regions import EXCLUDED, RawRecords
from readwarp.ragged import concatenate, empty, take
from readwarp.rules.cigar import is_match, run_of
from readwarp.rules.flags import SECONDARY
from readwarp.rules.hashes import hash_of


class DepthWindow(NamedTuple):
    """Window, in positions of the axis on which the contigs follow each other."""

    start: int
    stop: int
    first: Annotated[ndarray, "int64 [contigs]"]  # first base of each contig


@scalar
def begins_before(data, at, place):
    """Return whether a record begins before the window (Place), and reaches into it."""
    contig, position = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.POSITION)
    return contig >= 0 and position >= 0 and place.first[contig] + position < place.start


class DepthReads(NamedTuple):
    """Reads that count in the depth, in file order."""

    name: Annotated[ndarray, "uint64 [reads]"]  # hash
    start: Annotated[ndarray, "int64 [reads]"]
    stop: Annotated[ndarray, "int64 [reads]"]
    runs: Annotated[ndarray, "int64 [reads]"]  # runs of aligned bases


class Spans(NamedTuple):
    """Half-open spans: runs of aligned bases, bins, targets."""

    start: Annotated[ndarray, "int64 [spans]"]
    stop: Annotated[ndarray, "int64 [spans]"]


@scalar
def add_run(start, stop, first, steps):
    """Add a run to steps (int32 [bases + 1]), which begin at the base `first`."""
    last = steps.size - 1
    steps[min(max(start - first, 0), last)] += 1
    steps[min(max(stop - first, 0), last)] -= 1


@kernel
def find_spans(records, place, steps, reads, runs):
    """Find reads (Reads) and runs (Spans) of records (Records) that count in the depth; add all kept ones to `steps`.

    steps: int32 [bases + 1] of the place. reads, runs: large enough. Returns the number of both.
    """
    data, places = records.data, records.places
    read = run = 0
    for i in range(places.size):
        at = places[i]
        flag = layout.uint16_at(data, at + layout.FLAG)
        if not records.is_aligned[i] or flag & SECONDARY:
            continue
        counts, first = flag & EXCLUDED == 0, run
        position = place.first[layout.int32_at(data, at + layout.CONTIG)] + layout.int32_at(data, at + layout.POSITION)
        reads.start[read] = position
        cigar, operations = layout.cigar_of(data, at)
        for j in range(operations):
            operation, _, on_reference, _ = run_of(layout.uint32_at(data, cigar + 4 * j))
            if is_match(operation) and on_reference > 0:
                add_run(position, position + on_reference, place.start, steps)
                if counts:
                    runs.start[run], runs.stop[run] = position, position + on_reference
                    run += 1
            position += on_reference
        if run > first:
            reads.name[read] = hash_of(data, at + layout.NAME, layout.stored_cigar_of(data, at)[0] - 1)
            reads.stop[read], reads.runs[read] = position, run - first
            read += 1
    return read, run


@kernel
def find_shared(reads, slots, is_shared):
    """Set is_shared (bool [reads]) for reads with a name of which two reads overlap.

    reads (Reads): sorted by start. slots: int32, a power of two, more than there are reads, all -1.
    """
    mask = np.uint64(slots.size - 1)
    reach, first = reads.stop.copy(), np.empty(reads.name.size, np.int64)
    for i in range(reads.name.size):
        name, is_shared[i] = reads.name[i], False
        slot = (name ^ name >> np.uint64(32)) & mask
        while slots[slot] >= 0 and reads.name[slots[slot]] != name:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = i
        head = first[i] = np.int64(slots[slot])
        if head < i:
            is_shared[head] |= reads.start[i] < reach[head]
            reach[head] = max(reach[head], reads.stop[i])
    for i in range(reads.name.size):
        is_shared[i] = is_shared[first[i]]


@kernel
def add_unshared(reads, runs, is_shared, first, steps):
    """Add the runs (Spans) of reads (Reads) that are not shared to steps (int32 [bases + 1]), which begin at `first`.

    Returns the number of runs left.
    """
    run = left = 0
    for i in range(reads.name.size):
        for _ in range(reads.runs[i]):
            if is_shared[i]:
                left += 1
            else:
                add_run(runs.start[run], runs.stop[run], first, steps)
            run += 1
    return left


@kernel
def add_runs(runs, first, steps):
    """Add runs (Spans) to steps (int32 [bases + 1]), which begin at the base `first`."""
    for i in range(runs.start.size):
        add_run(runs.start[i], runs.stop[i], first, steps)


@kernel
def count_depths(depth, spans, out):
    """Count the bases of each depth in spans (Spans) into out (int64); its last value is for all greater depths."""
    for i in range(spans.start.size):
        for j in range(spans.start[i], spans.stop[i]):
            out[min(depth[j], out.size - 1)] += 1


def spans_of(records: RawRecords, place: DepthWindow, steps: ndarray) -> tuple[DepthReads, Spans]:
    """Return the reads that count in the depth, and their runs; add the runs of all kept records to `steps`."""
    reads = empty(DepthReads, {"reads": records.places.size})
    runs = empty(Spans, {"spans": int(records.operations.sum())})
    number, more = find_spans(records, place, steps, reads, runs)
    return take(reads, "reads", slice(0, number)), take(runs, "spans", slice(0, more))


def depth_of(start: int, stop: int, parts: Sequence[tuple[DepthReads, Spans]]) -> ndarray:
    """Return the depth of the window (int32 [bases]). parts: at least one, in file order."""
    reads = concatenate([part for part, _ in parts], "reads")
    runs = concatenate([part for _, part in parts], "spans")
    is_shared, steps = np.empty(reads.name.size, bool), np.zeros(stop - start + 1, np.int32)
    find_shared(reads, np.full(2 << reads.name.size.bit_length(), -1, np.int32), is_shared)
    if add_unshared(reads, runs, is_shared, start, steps):
        shared = np.repeat(is_shared, reads.runs)
        name = np.repeat(reads.name[is_shared], reads.runs[is_shared])
        add_runs(Spans(*count_once(name, runs.start[shared], runs.stop[shared])), start, steps)
    return np.cumsum(steps[:-1], dtype=np.int32)


def count_once(name: ndarray, start: ndarray, stop: ndarray) -> tuple[ndarray, ndarray]:
    """Return start and stop of the runs, less their overlaps with earlier runs of the same name."""
    order = np.lexsort((start, name))
    name, start, stop = (column[order] for column in (name, start, stop))
    is_new = np.append(True, name[1:] != name[:-1])
    shift = np.cumsum(is_new) * (int(stop.max()) + 1)  # restarts a running maximum at each name
    reach = np.maximum.accumulate(stop + shift)
    start[1:] = np.maximum(start[1:], np.where(is_new[1:], start[1:], reach[:-1] - shift[1:]))
    return start, np.maximum(start, stop)
