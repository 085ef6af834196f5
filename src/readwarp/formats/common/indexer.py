"""Indexes of sorted BGZF files, BAI, TBI and CSI, made while the file is written.

samtools and tabix would read it again, in one thread. Bins are ordered by number; their contents are the same as
theirs, which are in hash table order.
"""

import struct
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Annotated, Generic, NamedTuple, TypeVar

import numpy as np
from numpy import ndarray

from readwarp.formats.common.bgzf import EOF_BLOCK, compress
from readwarp.formats.common.binning import (
    CONTIG_SHIFT,
    FAR,
    NUMBER,
    BinChunks,
    Binned,
    Reaches,
    join_chunks,
    join_parts,
    merge_small_bins,
)
from readwarp.formats.common.index import BIN, CSI_BIN, DEPTH, LINEAR_WINDOW, first_bins, first_windows, rows_at
from readwarp.ragged import concatenate, offsets_of, replace, take

T = TypeVar("T")
U = TypeVar("U")
Virtual = Callable[[ndarray], ndarray]  # bytes of data (int64) -> virtual offsets in the file
AHEAD = 2  # pieces in work: they are examined faster than compressed, so more would only take memory


class Indexer(Generic[T, U]):
    """An indexer that takes the pieces of a file in order; threads examine them."""

    def __init__(self, look: Callable[[T, int], U], begin: int, threads: int) -> None:
        """Start an index. look: examines a piece at an offset of the file's data. begin: offset of the first piece."""
        self._look, self._at, self._found = look, begin, list[U]()
        self._pool = ThreadPoolExecutor(min(threads, AHEAD), "index")
        self._ahead: deque[Future[U]] = deque()

    def add(self, piece: T, size: int) -> None:
        """Add a piece of `size` bytes."""
        self._ahead.append(self._pool.submit(self._look, piece, self._at))
        self._at += size
        self._drain(AHEAD)

    def _drain(self, ahead: int) -> None:
        while len(self._ahead) > ahead:
            self._found.append(self._ahead.popleft().result())

    def finish(self) -> list[U]:
        """Return the findings on each piece."""
        self._drain(0)
        self._pool.shutdown()
        return self._found

    def abort(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def join_file(parts: Sequence[Binned], depth: int, virtual: Virtual) -> Binned:
    """Join the parts to the whole file, with small bins merged and places as virtual offsets."""
    whole = join_parts(parts)
    chunks = replace(whole.chunks, begin=virtual(whole.chunks.begin), end=virtual(whole.chunks.end))
    reaches = replace(whole.reaches, begin=virtual(whole.reaches.begin))
    return whole._replace(chunks=join_chunks(merge_small_bins(chunks, depth), 1 << 16), reaches=reaches)


def bai_of(whole: Binned, contigs: int) -> bytes:
    """Make a BAI, for contigs of at most CSI_LENGTH bases."""
    return b"BAI\x01" + struct.pack("<i", contigs) + contents_of(whole, contigs) + struct.pack("<Q", whole.unplaced)


def csi_of(whole: Binned, contigs: int, depth: int, extra: bytes = b"") -> bytes:
    """Make a CSI. extra: additions of the file's format, such as the names of its contigs."""
    head = b"CSI\x01" + struct.pack("<3i", LINEAR_WINDOW, depth, len(extra)) + extra + struct.pack("<i", contigs)
    content = head + contents_of(whole, contigs, depth, CSI_BIN) + struct.pack("<Q", whole.unplaced)
    return compress(content) + EOF_BLOCK


def contents_of(whole: Binned, contigs: int, depth: int = DEPTH, head: int = BIN) -> bytes:
    """Return the index contents of each contig, in words: bins with their chunks, and windows.

    A bin begins with `head` words: BIN, or CSI_BIN, where an offset in each bin replaces the windows.
    """
    windows, chunks = find_windows(whole.reaches, contigs), add_counts(whole, depth)
    bins, sizes = np.unique(chunks.bin, return_counts=True)
    owner, number = bins >> CONTIG_SHIFT, bins & NUMBER
    reached = np.diff(windows.first)
    tails = 1 + 2 * reached if head == BIN else np.zeros(contigs, np.int64)
    words_before = offsets_of(head + 4 * sizes)
    of_bins = np.diff(words_before[np.searchsorted(owner, np.arange(contigs + 1))])
    contig_at = offsets_of(1 + of_bins + tails)
    bin_at = words_before[:-1] + 1 + owner + offsets_of(tails)[owner]
    words = np.empty(contig_at[-1], "<u4")
    words[contig_at[:-1]] = np.bincount(owner, minlength=contigs)
    words[bin_at], words[bin_at + head - 1] = number, sizes
    chunk_at = rows_at(bin_at + head, sizes, 4)
    put_wide(words, chunk_at, chunks.begin)
    put_wide(words, chunk_at + 2, chunks.end)
    if head == BIN:
        tail_at = contig_at[1:] - tails
        words[tail_at] = reached
        put_wide(words, rows_at(tail_at + 1, reached, 2), windows.begin)
    else:
        is_real = number < first_bins(depth)[-1]
        first = windows.first[owner] + first_windows(np.where(is_real, number, 0), depth)
        put_wide(words, bin_at + 1, np.where(is_real, windows.begin[first], 0))
    return words.tobytes()


class LinearWindows(NamedTuple):
    """The linear index."""

    first: Annotated[ndarray, "int64 [contigs + 1] of windows"]  # of each contig
    begin: Annotated[ndarray, "int64 [windows]"]  # virtual offset of the first item that reaches it


def find_windows(reaches: Reaches, contigs: int) -> LinearWindows:
    """Return the windows of each contig up to the last one reached."""
    owner = reaches.first >> CONTIG_SHIFT
    sizes = np.zeros(contigs, np.int64)
    np.maximum.at(sizes, owner, (reaches.last & NUMBER) + 1)
    first, spans = offsets_of(sizes), reaches.last - reaches.first + 1
    begin = np.full(first[-1], FAR)
    np.minimum.at(begin, rows_at(first[owner] + (reaches.first & NUMBER), spans, 1), np.repeat(reaches.begin, spans))
    return LinearWindows(first, np.minimum.accumulate(begin[::-1])[::-1])  # an unreached window has the next one's


def add_counts(whole: Binned, depth: int) -> BinChunks:
    """Return the chunks in order of bins, and two more per contig: of all items, and of mapped and unmapped counts."""
    chunks, counts = whole.chunks, whole.counts
    contigs, row = np.unique(counts.contig, return_inverse=True)
    own, mapped, unmapped = np.searchsorted(contigs, chunks.bin >> CONTIG_SHIFT), *np.zeros((2, contigs.size), np.int64)
    begin, end = np.full(contigs.size, FAR), np.zeros(contigs.size, np.int64)
    np.minimum.at(begin, own, chunks.begin)
    np.maximum.at(end, own, chunks.end)
    np.add.at(mapped, row, counts.mapped)
    np.add.at(unmapped, row, counts.unmapped)
    bins = contigs << CONTIG_SHIFT | first_bins(depth)[-1] + 1
    found = concatenate([chunks, BinChunks(bins, begin, end), BinChunks(bins, mapped, unmapped)], "chunks")
    return take(found, "chunks", np.argsort(found.bin, kind="stable"))


def put_wide(words: ndarray, at: ndarray, values: ndarray) -> None:
    """Put numbers of two words."""
    words[at], words[at + 1] = values & 0xFFFFFFFF, values >> 32
