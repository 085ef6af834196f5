"""Bins and windows of the items of a sorted BGZF file, and their places in it, from which BAI, TBI and CSI are made.

Contigs are divided into bins. The smallest hold 16 kb, each larger one holds eight of these, and the largest the whole
contig. An item, a record or a line, belongs to the smallest bin that holds its whole span. An index has the chunks of
each bin, the places of its items in the file, and, for each window of 16 kb, the place of the first item that reaches
it (Li 2011, Bioinformatics 27:718; SAM specification, 5.1.1).

As in htslib, chunks of a bin are joined where a block of the file has the end of one and the beginning of the next, and
a bin whose items span less than NEAR bytes of the file is merged into the next larger one if that has items too.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.common.bgzf import BLOCK
from readwarp.formats.common.index import DEPTH, LINEAR_WINDOW, first_bins
from readwarp.ragged import concatenate, empty, replace, take

CONTIG_SHIFT = 32  # bits of the number of a bin or window, below its contig
NUMBER = (1 << CONTIG_SHIFT) - 1
NEAR = 1 << 16  # compressed bytes
FAR = 1 << 62  # beyond any offset


class ItemSpans(NamedTuple):
    """Consecutive items of a file. Those without a contig come last."""

    contig: Annotated[ndarray, "int64 [items]"]  # ascending; -1 for none
    begin: Annotated[ndarray, "int64 [items]"]  # 0-based start of its span on the contig; -1 before the first base ...
    end: Annotated[ndarray, "int64 [items]"]  # ... and its end
    is_mapped: Annotated[ndarray, "bool [items]"]
    offset: Annotated[ndarray, "int64 [items + 1] of bytes"]  # in the data of the file


class BinChunks(NamedTuple):
    """Consecutive items of one bin."""

    bin: Annotated[ndarray, "int64 [chunks]"]  # contig << CONTIG_SHIFT | bin number
    begin: Annotated[ndarray, "int64 [chunks]"]
    end: Annotated[ndarray, "int64 [chunks]"]


class Reaches(NamedTuple):
    """Windows that an item is the first to reach."""

    first: Annotated[ndarray, "int64 [reaches]"]  # contig << CONTIG_SHIFT | window number
    last: Annotated[ndarray, "int64 [reaches]"]  # the same for the last window
    begin: Annotated[ndarray, "int64 [reaches]"]  # of the item


class ContigCounts(NamedTuple):
    """Counts of items, by contig with any."""

    contig: Annotated[ndarray, "int64 [contigs]"]
    mapped: Annotated[ndarray, "int64 [contigs]"]
    unmapped: Annotated[ndarray, "int64 [contigs]"]


class Binned(NamedTuple):
    """A part of a file as its index sees it. Places are bytes of data, or virtual offsets for a whole file."""

    chunks: BinChunks
    reaches: Reaches
    counts: ContigCounts
    unplaced: int  # items without a contig


NOTHING = Binned(
    empty(BinChunks, {"chunks": 0}), empty(Reaches, {"reaches": 0}), empty(ContigCounts, {"contigs": 0}), 0
)


def depth_for(longest: int) -> int:
    """Return the levels of bins below the largest for contigs of this many bases, as htslib has them for CSI."""
    depth = DEPTH
    while longest + 256 > 1 << LINEAR_WINDOW + 3 * depth:
        depth += 1
    return depth


def bin_items(spans: ItemSpans, depth: int) -> Binned:
    """Bin a part of a file. Any thread may call this."""
    items = spans.contig.size
    chunks, reaches = empty(BinChunks, {"chunks": items}), empty(Reaches, {"reaches": items})
    counts = empty(ContigCounts, {"contigs": items})
    found, reached, contigs, unplaced = find_chunks(spans, depth, chunks, reaches, counts)
    return Binned(
        join_chunks(take(chunks, "chunks", slice(0, found)), BLOCK),
        Reaches(*(column[:reached].copy() for column in reaches)),
        ContigCounts(*(column[:contigs].copy() for column in counts)),
        unplaced,
    )


def join_parts(parts: Sequence[Binned]) -> Binned:
    """Join the parts of a file, in order."""
    parts = [*parts, NOTHING]
    return Binned(
        concatenate([part.chunks for part in parts], "chunks"),
        concatenate([part.reaches for part in parts], "reaches"),
        concatenate([part.counts for part in parts], "contigs"),
        sum(part.unplaced for part in parts),
    )


def renumber(part: Binned, numbers: ndarray) -> Binned:
    """Replace the numbers of a part's contigs (int64 [contigs])."""
    chunks, reaches, counts = part.chunks, part.reaches, part.counts

    def other(keys: ndarray) -> ndarray:
        changed: ndarray = numbers[keys >> CONTIG_SHIFT] << CONTIG_SHIFT | keys & NUMBER
        return changed

    return part._replace(
        chunks=replace(chunks, bin=other(chunks.bin)),
        reaches=replace(reaches, first=other(reaches.first), last=other(reaches.last)),
        counts=replace(counts, contig=numbers[counts.contig]),
    )


def join_chunks(chunks: BinChunks, block: int) -> BinChunks:
    """Join chunks, bin by bin, where a block has the end of one and the beginning of the next.

    block: size of one; 1 << 16 if chunks are virtual offsets.
    """
    chunks = take(chunks, "chunks", np.lexsort((chunks.begin, chunks.bin)))
    joined = join_near(chunks, block)
    return BinChunks(*(column[:joined].copy() for column in chunks))


def merge_small_bins(chunks: BinChunks, depth: int) -> BinChunks:
    """Move chunks (virtual offsets) of bins that span few bytes to the next larger bin, if that has some."""
    firsts, key = first_bins(depth), chunks.bin
    for level in range(depth, 0, -1):
        bins, row = np.unique(key, return_inverse=True)
        begin, end = np.full(bins.size, FAR), np.zeros(bins.size, np.int64)
        np.minimum.at(begin, row, chunks.begin >> 16)
        np.maximum.at(end, row, chunks.end >> 16)
        number = bins & NUMBER
        larger = bins - number + (number - 1 >> 3)
        is_small = (number >= firsts[level]) & (end - begin < NEAR) & np.isin(larger, bins)
        key = np.where(is_small, larger, bins)[row]
    return replace(chunks, bin=key)


@scalar
def bin_of(begin, end, depth):
    """Return the smallest bin that holds [begin, end) (SAM specification, 5.3)."""
    end -= 1
    for level in range(depth):
        shift = LINEAR_WINDOW + 3 * level
        if begin >> shift == end >> shift:
            return ((1 << 3 * (depth - level)) - 1) // 7 + (begin >> shift)
    return 0


@kernel
def find_chunks(spans, depth, chunks, reaches, counts):
    """Find chunks of items in order, windows that they are the first to reach, and counts; fill the arrays, large
    enough.

    Returns (chunks, reaches, contigs, items without a contig).
    """
    contig, begins, ends, is_mapped, offset = spans.contig, spans.begin, spans.end, spans.is_mapped, spans.offset
    chunk = reach = count = -1
    reached = bin_before = contig_before = np.int64(-1)
    for row in range(contig.size):
        own = contig[row]
        if own < 0:
            return chunk + 1, reach + 1, count + 1, contig.size - row
        begin, end = max(begins[row], 0), max(ends[row], 1)
        if own != contig_before:
            count += 1
            counts.contig[count], counts.mapped[count], counts.unmapped[count] = own, 0, 0
        if is_mapped[row]:
            counts.mapped[count] += 1
        else:
            counts.unmapped[count] += 1
        contig_before, number = own, own << CONTIG_SHIFT | bin_of(begin, end, depth)
        if number != bin_before:
            chunk += 1
            chunks.bin[chunk], chunks.begin[chunk] = number, offset[row]
        bin_before, chunks.end[chunk] = number, offset[row + 1]
        first = max(own << CONTIG_SHIFT | begin >> LINEAR_WINDOW, reached + 1)
        last = own << CONTIG_SHIFT | (end - 1) >> LINEAR_WINDOW
        if first <= last:
            reach += 1
            reaches.first[reach], reaches.last[reach], reaches.begin[reach] = first, last, offset[row]
            reached = last
    return chunk + 1, reach + 1, count + 1, 0


@kernel
def join_near(chunks, block):
    """Join chunks, sorted by bins and places (see `join_chunks`), in front; return how many are left."""
    bins, begin, end = chunks
    last = -1
    for row in range(bins.size):
        if last >= 0 and bins[row] == bins[last] and begin[row] // block <= end[last] // block:
            end[last] = max(end[last], end[row])
        else:
            last += 1
            bins[last], begin[last], end[last] = bins[row], begin[row], end[row]
    return last + 1
