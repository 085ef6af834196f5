"""Seeds of long reads: a sample of their syncmers, looked up in the index of short reads.

    find_seeds(reads: ReadBatch, index: Index, parameters: LongSeedParameters, longest: int) -> SeedHits

A long read has more syncmers than it needs: only those whose hash ends in `sampling_bits` zeros are used. Anchors are
those of align/seed, ascending.

Repeats: a seed with up to `max_hits` places is used. A read is cut into stretches of `stretch` bases. A stretch without
such a seed uses the one with the fewest places, the first of equals, if it has at most `rescue_hits`. The others are
counted in `repetitive`, unless they occur nowhere.

Reads of more than `longest` bases have no anchor. Sketching needs memory for PIECE bases, whatever the length of a
read.
"""

import numpy as np

from readwarp.align.anchors import anchor_of
from readwarp.align.batches import SeedHits
from readwarp.align.seed.cpu import Seeds, look_up
from readwarp.align.seed.scalar import entries_of
from readwarp.compiler.jit import kernel
from readwarp.config import LongSeedParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.index import Index
from readwarp.index.syncmers import Shape, Syncmers, max_syncmers, scratch_of, sketch
from readwarp.ragged import empty, replace

PIECE = 1 << 14  # bases sketched at once


def find_seeds(reads: ReadBatch, index: Index, parameters: LongSeedParameters, longest: int) -> SeedHits:
    n = len(reads)
    p, entries = index.parameters, entries_of(index)
    lengths = np.diff(reads.read_offsets)
    pieces = -(-lengths // PIECE)
    room = int(max_syncmers(lengths, p.k, p.t).sum() + pieces.sum()) + 1  # each piece may round up
    seeds = Seeds.room(n, room, entries)
    hits = empty(SeedHits, {"reads": n, "anchors": 0}, np.zeros)
    scratch, mask = scratch_of(PIECE + p.k), np.uint64((1 << parameters.sampling_bits) - 1)
    sketch_reads(reads, Shape.of(p), (mask, longest), scratch, seeds)
    look_up(np.arange(seeds.offsets[-1]), seeds, entries)
    choose(reads.read_offsets, seeds, (parameters.max_hits, parameters.rescue_hits, parameters.stretch), hits)
    hits = replace(hits, anchors=np.empty(hits.anchor_offsets[-1], np.uint64))
    emit(reads.read_offsets, seeds, entries, p.k, hits)
    for first, last in zip(hits.anchor_offsets[:-1].tolist(), hits.anchor_offsets[1:].tolist(), strict=True):
        hits.anchors[first:last].sort()
    return hits


@kernel
def sketch_reads(reads, shape, limits, scratch, seeds):
    """Write the syncmers of each read whose hash has no bit of the mask to `seeds`. limits: mask, longest read."""
    mask, longest = limits
    bases, read_offsets = reads.bases, reads.read_offsets
    hashes = seeds.hashes
    query, strand = seeds.query, seeds.strand
    row, out = np.int64(0), Syncmers(seeds.hashes, seeds.query, seeds.strand)
    for read in range(read_offsets.size - 1):
        start, stop = read_offsets[read], read_offsets[read + 1]
        end = stop if stop - start <= longest else start
        for begin in range(start, end, PIECE):  # a k-mer belongs to the piece in which it begins
            last = sketch(bases, begin, min(begin + PIECE + shape.k - 1, stop), shape, scratch, out, row)
            for i in range(row, last):
                if hashes[i] & mask == 0:
                    hashes[row], query[row], strand[row] = hashes[i], query[i] + begin - start, strand[i]
                    row += 1
        seeds.offsets[read + 1] = row


@kernel
def choose(read_offsets, seeds, limits, hits):
    """Keep the `entries` of the seeds in use, clear the others, and write each read's number of anchors to `hits`."""
    offsets, counts = seeds.offsets, seeds.entries
    max_hits, rescue_hits, stretch = limits
    for read in range(read_offsets.size - 1):
        row, last = offsets[read], offsets[read + 1]
        anchors = np.int64(0)
        while row < last:
            stop = rarest = row
            frequent = True
            while stop < last and seeds.query[stop] // stretch == seeds.query[row] // stretch:
                if counts[stop] > 0:
                    frequent &= counts[stop] > max_hits
                    if counts[rarest] == 0 or counts[stop] < counts[rarest]:
                        rarest = stop
                stop += 1
            for i in range(row, stop):
                if counts[i] > max_hits and not (frequent and i == rarest and counts[i] <= rescue_hits):
                    counts[i] = 0
                    hits.repetitive[read] += 1
                anchors += counts[i]
            row = stop
        hits.anchor_offsets[read + 1] = hits.anchor_offsets[read] + anchors


@kernel
def emit(read_offsets, seeds, entries, k, hits):
    """Write the unsorted anchors of the seeds in use to `hits`."""
    offsets, _, _, queries, strands, firsts, counts = seeds
    (_, tags, positions, _), row = entries, 0
    for read in range(read_offsets.size - 1):
        length = read_offsets[read + 1] - read_offsets[read]
        for i in range(offsets[read], offsets[read + 1]):
            for entry in range(np.int64(firsts[i]), np.int64(firsts[i]) + counts[i]):
                hits.anchors[row] = anchor_of(positions[entry], tags[entry] & 1, queries[i], strands[i], length, k)
                row += 1
