"""Bins and windows of the items of a sorted BGZF file, and where these are in it: what BAI, TBI and CSI are made of.

Contigs are divided into bins. The smallest hold 16 kb, each larger one holds eight of these, and the largest the whole
contig. An item, a record or a line, belongs to the smallest bin that holds all that it spans. An index has the chunks
of each bin, which are where its items are in the file, and of each window of 16 kb where the first item is that reaches
it (Li 2011, Bioinformatics 27:718; SAM specification, 5.1.1).

As in htslib, chunks of a bin are one where a block of the file has the end of one and the beginning of the next, and a
bin whose items span less than NEAR bytes of the file is merged into the next larger one if this has items too.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel, scalar
from readwarp.formats.common.bgzf import BLOCK
from readwarp.formats.common.index import DEPTH, LINEAR_WINDOW, first_bins
from readwarp.ragged import concatenate, empty, replace, take

CONTIG_SHIFT = 32  # bits of the number of a bin or window, below that of its contig
NUMBER = (1 << CONTIG_SHIFT) - 1
NEAR = 1 << 16  # compressed bytes
FAR = 1 << 62  # beyond any offset


class Spans(NamedTuple):
    """Items that follow one another in a file. Those without a contig come last."""

    contig: Annotated[ndarray, "int64 [items]"]  # ascending; -1 for none
    begin: Annotated[ndarray, "int64 [items]"]  # 0-based, of what it spans of the contig; -1 before the first base ...
    end: Annotated[ndarray, "int64 [items]"]  # ... as far as this
    is_mapped: Annotated[ndarray, "bool [items]"]
    offset: Annotated[ndarray, "int64 [items + 1] of bytes"]  # in the data of the file


class Chunks(NamedTuple):
    """Items of one bin that follow one another."""

    bin: Annotated[ndarray, "int64 [chunks]"]  # contig << CONTIG_SHIFT | its number
    begin: Annotated[ndarray, "int64 [chunks]"]
    end: Annotated[ndarray, "int64 [chunks]"]


class Reaches(NamedTuple):
    """Windows that an item is the first one to reach."""

    first: Annotated[ndarray, "int64 [reaches]"]  # contig << CONTIG_SHIFT | number of the window
    last: Annotated[ndarray, "int64 [reaches]"]  # likewise
    begin: Annotated[ndarray, "int64 [reaches]"]  # of the item


class Counts(NamedTuple):
    """Items of contigs that have some."""

    contig: Annotated[ndarray, "int64 [contigs]"]
    mapped: Annotated[ndarray, "int64 [contigs]"]
    unmapped: Annotated[ndarray, "int64 [contigs]"]


class Binned(NamedTuple):
    """A part of a file as its index sees it. Places are bytes of data; of a whole file, virtual offsets."""

    chunks: Chunks
    reaches: Reaches
    counts: Counts
    unplaced: int  # items without a contig


NOTHING = Binned(empty(Chunks, {"chunks": 0}), empty(Reaches, {"reaches": 0}), empty(Counts, {"contigs": 0}), 0)


def depth_for(longest: int) -> int:
    """Levels of bins below the largest for contigs of so many bases, as htslib has them for CSI."""
    depth = DEPTH
    while longest + 256 > 1 << LINEAR_WINDOW + 3 * depth:
        depth += 1
    return depth


def bin_items(spans: Spans, depth: int) -> Binned:
    """A part of a file. Any thread may call this."""
    items = spans.contig.size
    chunks, reaches = empty(Chunks, {"chunks": items}), empty(Reaches, {"reaches": items})
    counts = empty(Counts, {"contigs": items})
    found, reached, contigs, unplaced = find_chunks(spans, depth, chunks, reaches, counts)
    return Binned(
        join_chunks(take(chunks, "chunks", slice(0, found)), BLOCK),
        Reaches(*(column[:reached].copy() for column in reaches)),
        Counts(*(column[:contigs].copy() for column in counts)),
        unplaced,
    )


def join_parts(parts: Sequence[Binned]) -> Binned:
    """The parts of a file in order."""
    parts = [*parts, NOTHING]
    return Binned(
        concatenate([part.chunks for part in parts], "chunks"),
        concatenate([part.reaches for part in parts], "reaches"),
        concatenate([part.counts for part in parts], "contigs"),
        sum(part.unplaced for part in parts),
    )


def renumber(part: Binned, numbers: ndarray) -> Binned:
    """With other numbers of its contigs (int64 [contigs])."""
    chunks, reaches, counts = part.chunks, part.reaches, part.counts

    def other(keys: ndarray) -> ndarray:
        changed: ndarray = numbers[keys >> CONTIG_SHIFT] << CONTIG_SHIFT | keys & NUMBER
        return changed

    return part._replace(
        chunks=replace(chunks, bin=other(chunks.bin)),
        reaches=replace(reaches, first=other(reaches.first), last=other(reaches.last)),
        counts=replace(counts, contig=numbers[counts.contig]),
    )


def join_chunks(chunks: Chunks, block: int) -> Chunks:
    """Bin by bin, one chunk for those of which a block has the end of one and the beginning of the next.

    block: size of one; where chunks are by virtual offsets, 1 << 16.
    """
    chunks = take(chunks, "chunks", np.lexsort((chunks.begin, chunks.bin)))
    joined = join_near(chunks, block)
    return Chunks(*(column[:joined].copy() for column in chunks))


def merge_small_bins(chunks: Chunks, depth: int) -> Chunks:
    """Chunks (by virtual offsets) of bins that span few bytes become chunks of the next larger bin, if it has some."""
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
    """The smallest bin that holds [begin, end) (SAM specification, 5.3)."""
    end -= 1
    for level in range(depth):
        shift = LINEAR_WINDOW + 3 * level
        if begin >> shift == end >> shift:
            return ((1 << 3 * (depth - level)) - 1) // 7 + (begin >> shift)
    return 0


@kernel
def find_chunks(spans, depth, chunks, reaches, counts):
    """Chunks of items in order, windows that they are the first to reach, and counts -> the arrays, large enough.

    -> (chunks, reaches, contigs, items without a contig)
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
    """Join chunks, which are in order of bins and places (see `join_chunks`) -> how many are left, in front."""
    bins, begin, end = chunks
    last = -1
    for row in range(bins.size):
        if last >= 0 and bins[row] == bins[last] and begin[row] // block <= end[last] // block:
            end[last] = max(end[last], end[row])
        else:
            last += 1
            bins[last], begin[last], end[last] = bins[row], begin[row], end[row]
    return last + 1
