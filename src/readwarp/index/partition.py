"""Build, first half: turn the syncmers of the reference into entries, in chunks of their partitions.

A partition is all buckets with the same upper bits. An entry is

    (bucket within its partition) << 48 | tag << 33 | strand << 32 | lower 32 bits of the position
and the upper bits of its position are stored with its chunk. Threads take stretches of the reference, and fill one
chunk of each partition. A full chunk is replaced by the next free one, so nothing needs counting in advance. The chunks
of a partition depend on the threads, its entries do not.
"""

from collections.abc import Iterator
from queue import SimpleQueue
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import fetch_add
from readwarp.errors import MemoryBudgetError
from readwarp.index.plan import CHUNK, CHUNK_BYTES, ENTRY_BYTES, STRETCH, BuildPlan
from readwarp.index.reference import Reference
from readwarp.index.syncmers import Scratch, Syncmers, bucket_of, scratch_of, sketch, tag_of
from readwarp.ragged import empty
from readwarp.rules.bases import unpack
from readwarp.stream.plan import readable
from readwarp.stream.runner import map_ordered

PIECE = 1 << 13  # bases sketched at once, with scratch that stays in the cache


class EntryChunks(NamedTuple):
    """Memory for entries. The last chunk takes those that find no room."""

    entries: Annotated[ndarray, "uint64 [places]"]
    owners: Annotated[ndarray, "uint16 [chunks]"]  # partitions, counted from the first of the round
    uppers: Annotated[ndarray, "uint8 [chunks]"]  # upper bits of the positions
    sizes: Annotated[ndarray, "uint8 [chunks]"]  # number of entries
    taken: Annotated[ndarray, "int64 [1]"]  # number of chunks, including those for which there was no room


class Filling(NamedTuple):
    """State of a thread that fills chunks."""

    slots: Annotated[ndarray, "int64 [partitions]"]  # slot of the next entry; a multiple of CHUNK means a new chunk
    scratch: Scratch


class PartitionRound(NamedTuple):
    """Entries of the partitions [first, last)."""

    first: int
    last: int
    chunks: EntryChunks
    total: int  # number of entries in all partitions


def chunks_of(number: int) -> EntryChunks:
    """Allocate this many chunks."""
    return empty(EntryChunks, {"chunks": number + 1, "places": (number + 1) * CHUNK})


def partition_seeds(reference: Reference, plan: BuildPlan) -> Iterator[PartitionRound]:
    """Yield the rounds in order of partitions; each is valid until the next, since they share memory.

    A round with more entries than expected gets more memory if the budget allows, or is halved. Raises
    MemoryBudgetError if a single partition is too large for that.
    """
    borders = [plan.partitions * number // plan.rounds for number in range(plan.rounds, -1, -1)]
    ranges = list(zip(borders[1:], borders[:-1], strict=True))  # the first range comes last
    chunks = chunks_of(plan.chunks)
    while ranges:
        first, last = ranges.pop()
        total = _scatter_all(reference, plan, (first, last), chunks)
        taken = int(chunks.taken[0])
        beyond = taken - (chunks.owners.size - 1)  # the entries of these chunks may all be of one partition
        more = beyond * (CHUNK_BYTES + CHUNK * ENTRY_BYTES)
        if more <= 0:
            yield PartitionRound(first, last, chunks, total)
        elif more <= plan.spare_bytes:
            ranges.append((first, last))
            chunks = chunks_of(taken)
        elif last - first > 1:
            middle = (first + last) // 2
            ranges += [(middle, last), (first, middle)]
        else:
            need = readable(plan.peak_bytes + more)
            raise MemoryBudgetError(f"some seeds are so frequent that building the index takes {need}")


def _scatter_all(reference: Reference, plan: BuildPlan, wanted: tuple[int, int], chunks: EntryChunks) -> int:
    """Write the entries of the wanted partitions (first, last) to chunks; return the number in all partitions."""
    offsets = reference.contig_offsets
    bases = int(offsets[-1])
    found, free = list[int](), SimpleQueue[Filling]()
    fillings = [
        Filling(np.zeros(wanted[1] - wanted[0], np.int64), scratch_of(PIECE + plan.form.shape.k))
        for _ in range(plan.workers)
    ]
    for filling in fillings:
        free.put(filling)

    def work(start: int) -> int:
        filling = free.get()
        stretch = start, min(start + STRETCH, bases)
        number: int = scatter(reference.packed, offsets, stretch, plan.form, filling, chunks, wanted)
        free.put(filling)
        return number

    chunks.taken[0] = 0
    span = 1 << plan.form.position_bits
    for first in range(0, bases, span):
        starts = range(first, min(first + span, bases), STRETCH)
        found += map_ordered(starts, work, plan.workers, 2 * plan.workers)
        for filling in fillings:
            close(filling.slots, chunks)
    return sum(found)


@kernel
def scatter(packed, contig_offsets, stretch, form, filling, chunks, wanted):
    """Write a stretch's (start, stop) syncmers, if of a wanted partition, to chunks; return the total number.

    The total includes unwanted partitions. The upper bits of positions are equal within a stretch, and within a chunk.
    """
    start, stop = stretch
    (shape, bucket_bits, inner_bits, position_bits), (first, last) = form, wanted
    (slots, scratch), (entries, owners, uppers, sizes, taken) = filling, chunks
    bases, total = np.empty(PIECE + shape.k, np.uint8), 0
    room = PIECE // (shape.t + 1) + 2
    found = Syncmers(np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.uint8))
    hashes, positions, strands = found
    inner_mask, upper = (1 << inner_bits) - 1, start >> position_bits
    lower = np.uint64((1 << position_bits) - 1)
    contig = np.searchsorted(contig_offsets, start, "right") - 1
    while start < stop:
        contig_stop = contig_offsets[contig + 1]
        piece_stop = min(start + PIECE, stop, contig_stop)
        length = min(piece_stop + shape.k - 1, contig_stop) - start
        unpack(packed, start, start + length, bases)
        number = sketch(bases, 0, length, shape, scratch, found, 0)
        for i in range(number):
            bucket = bucket_of(hashes[i], bucket_bits)
            owner = (bucket >> inner_bits) - first
            if 0 <= owner < last - first:
                slot = slots[owner]
                if slot & (CHUNK - 1) == 0:
                    chunk = min(fetch_add(taken, 0, 1), owners.size - 1)
                    owners[chunk], uppers[chunk] = owner, upper
                    sizes[chunk] = CHUNK
                    slot = chunk * CHUNK
                inner, tag = np.uint64(bucket & inner_mask), np.uint64(tag_of(hashes[i], bucket_bits))
                key = inner << np.uint64(16) | tag << np.uint64(1) | np.uint64(strands[i])
                entries[slot] = key << np.uint64(32) | np.uint64(start + positions[i]) & lower
                slots[owner] = slot + 1
        total += number
        contig += piece_stop == contig_stop
        start = piece_stop
    return total


def close(slots: ndarray, chunks: EntryChunks) -> None:
    """Close the chunks that a thread has begun, as they are."""
    entries = slots & (CHUNK - 1)
    begun = entries > 0
    chunks.sizes[slots[begun] // CHUNK] = entries[begun]
    slots[:] = 0
