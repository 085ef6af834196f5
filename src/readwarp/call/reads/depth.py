"""Depth limit: reads are left out where a sample has too many (host only).

    DepthLimit(max_depth).limit(reads: AlignedReads) -> AlignedReads, and records of what it left out

The contig is cut into blocks of BLOCK bases, from its first base on. A read is in the blocks in which it has aligned
bases or deletions. At most `max_depth` reads of a sample count in a block: those whose names have the smallest ranks. A
rank is a hash that is uniform whatever the names are, so mates count together and no allele, strand or file is
preferred. (A name with more reads in a block than that counts with all of them.)

In blocks where a read does not count, its bases get quality 0, which no step uses as evidence. A read that counts
nowhere is left out. So every block depends on its own reads alone, never on windows or threads. A thinned part of the
reads in file order still holds all reads that count in the whole, so deep reads are thinned while they are read, and
the limit bounds memory.
"""

import numpy as np
from numpy import ndarray

from readwarp.call.places.targets import BLOCK
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of, replace, take
from readwarp.rules.cigar import DELETION, is_match, run_of
from readwarp.rules.hashes import spread

NO_LIMIT = np.uint64((1 << 64) - 1)


class DepthLimit:
    """Depth limit of one window, whose reads may come in parts, each with the kept reads of the parts before."""

    def __init__(self, max_depth: int):
        self.max_depth = max_depth
        self._lost = [np.empty(0, np.int64)]
        self._blocks = [np.empty(0, np.int64)]

    @property
    def lost(self) -> ndarray:
        """Return the positions of the reads left out (int64)."""
        return np.concatenate(self._lost)

    @property
    def blocks(self) -> ndarray:
        """Return blocks where some sample has reads that do not count (int64, ascending); b begins at b * BLOCK."""
        return np.unique(np.concatenate(self._blocks))

    def limit(self, reads: AlignedReads) -> AlignedReads:
        """Limit the depth of reads; see the step's contract."""
        if np.bincount(reads.sample).max(initial=0) <= self.max_depth:
            return reads
        first = reads.start // BLOCK
        shape = int(reads.sample.max()) + 1, -(-reads.stop // BLOCK) - first
        counts = np.zeros(shape, np.int64)
        count_blocks(reads, first, counts)
        is_full = counts > self.max_depth
        if not is_full.any():
            return reads
        rank = spread(reads.name_hash)
        limits = self._find_limits(reads, rank, first, counts * is_full)
        reads = replace(reads, qualities=reads.qualities.copy())
        stays = np.zeros(len(reads), bool)
        hide_bases(reads, rank, first, limits, stays)
        self._lost.append(reads.position[~stays])
        self._blocks.append(np.flatnonzero(is_full.any(axis=0)) + first)
        return take(reads, "reads", stays)

    def _find_limits(self, reads: AlignedReads, rank: ndarray, first: int, counts: ndarray) -> ndarray:
        """Return the rank in each cell below which reads count (uint64 [samples, blocks]). counts: 0 means no limit."""
        offsets = offsets_of(counts.ravel())
        row = np.empty(offsets[-1], np.int64)
        list_blocks(reads, first, offsets[:-1].copy().reshape(counts.shape), counts > 0, row)
        limits = np.full(counts.shape, NO_LIMIT)
        for cell in np.flatnonzero(counts.ravel()).tolist():
            own = np.sort(rank[row[offsets[cell] : offsets[cell + 1]]])
            limits.ravel()[cell] = max(own[self.max_depth], own[0] + np.uint64(1))
        return limits


@kernel
def blocks_of(reads, read, first, number, room):
    """Fill `room` with the blocks, less `first`, in which a read has aligned bases or deletions; return their number.

    number: blocks of the window; others are ignored.
    """
    p, found = reads.position[read], 0
    for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
        operation, length, on_reference, _ = run_of(reads.cigar[i])
        if (is_match(operation) or operation == DELETION) and length:
            for block in range(max(p // BLOCK - first, 0), min((p + length - 1) // BLOCK - first + 1, number)):
                if found == 0 or room[found - 1] < block:
                    room[found] = block
                    found += 1
        p += on_reference
    return found


@kernel
def count_blocks(reads, first, counts):
    """Count the reads of each sample in each block into `counts` (int64 [samples, blocks], zeroed by the caller)."""
    room = np.empty(counts.shape[1], np.int64)
    for read in range(reads.position.size):
        for k in range(blocks_of(reads, read, first, room.size, room)):
            counts[reads.sample[read], room[k]] += 1


@kernel
def list_blocks(reads, first, places, is_listed, row):
    """Write the reads of each listed cell to `row`, from its place on (int64 [samples, blocks], advanced)."""
    room = np.empty(places.shape[1], np.int64)
    for read in range(reads.position.size):
        sample = reads.sample[read]
        for k in range(blocks_of(reads, read, first, room.size, room)):
            if is_listed[sample, room[k]]:
                row[places[sample, room[k]]] = read
                places[sample, room[k]] += 1


@kernel
def hide_bases(reads, rank, first, limits, stays):
    """Zero the qualities of bases that do not count, and set `stays` for reads that count in a block.

    Clipped and inserted bases are in the block of the aligned base before them, at a read's start of the one after.
    """
    qualities, number = reads.qualities, limits.shape[1]
    for read in range(reads.position.size):
        p, q = reads.position[read], reads.read_offsets[read]
        own = limits[reads.sample[read]]
        for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
            operation, length, on_reference, on_read = run_of(reads.cigar[i])
            is_aligned = (is_match(operation) or operation == DELETION) and length > 0
            last = max(p + on_reference - 1, reads.position[read]) if is_aligned else max(p - 1, reads.position[read])
            begin = p if is_aligned else last
            for block in range(begin // BLOCK, last // BLOCK + 1):
                counts = not 0 <= block - first < number or rank[read] < own[block - first]
                stays[read] |= is_aligned and counts
                if not counts and on_read:
                    low, high = max(begin, block * BLOCK) - begin, min(last + 1, (block + 1) * BLOCK) - begin
                    low, high = (q + low, q + high) if is_aligned else (q, q + on_read)
                    qualities[low:high] = 0
            p, q = p + on_reference, q + on_read
