"""The index of a VCF.gz file (TBI), made while the file is written: tabix would read it again, in one thread.

Contigs are divided into bins of 16 kb to 512 Mb, and a line belongs to the smallest one that holds all that it spans.
The index has the chunks of each bin, where its lines are in the file, and of each window of 16 kb where the first line
is that reaches it (Li 2011, Bioinformatics 27:718; SAM specification, 5.1.1). Lines must be sorted.
"""

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel
from readwarp.formats.common.bgzf import EOF_BLOCK, compress
from readwarp.formats.common.index import DEPTH, LINEAR_WINDOW
from readwarp.formats.variants.genomic_kernels import NEWLINE, TAB, end_in
from readwarp.formats.variants.genomic_numbers import number_in
from readwarp.ragged import concatenate, empty, take

PIECE = 1 << 21  # bytes of text that are looked at together
COUNTS = 37450  # number of a bin that holds counts
VCF = (2, 1, 2, 0, ord("#"), 0)  # format; columns of contig, begin and end; first letter of comments; lines to skip


class Spans(NamedTuple):
    """Lines of a text."""

    stop: Annotated[ndarray, "int64 [lines]"]  # after the line, in the text
    begin: Annotated[ndarray, "int64 [lines]"]  # bases that it spans, 0-based in the contig ...
    end: Annotated[ndarray, "int64 [lines]"]  # ... as far as this
    name_size: Annotated[ndarray, "int64 [lines]"]  # bytes of the contig's name; 0: that of the line before


class Chunks(NamedTuple):
    """Lines that follow one another, all of one bin. Offsets count bytes of text."""

    bin: Annotated[ndarray, "int64 [chunks]"]
    begin: Annotated[ndarray, "int64 [chunks]"]
    end: Annotated[ndarray, "int64 [chunks]"]


class Windows(NamedTuple):
    """Windows that lines reach, in ascending order."""

    number: Annotated[ndarray, "int64 [windows]"]
    begin: Annotated[ndarray, "int64 [windows]"]  # of the first line that reaches it, in bytes of text


class Contig(NamedTuple):
    """Lines of one contig, as an index sees them."""

    lines: int
    chunks: Chunks
    windows: Windows


class Indexer:
    """Takes the lines of a file in order; threads look at them."""

    def __init__(self, header: int, threads: int) -> None:
        """header: bytes before the first line."""
        self._at, self._waiting, self._size = header, list[bytes](), 0
        self._pool = ThreadPoolExecutor(threads, "index")
        self._found: list[Future[dict[bytes, Contig]]] = []

    def add(self, lines: bytes) -> None:
        self._waiting.append(lines)
        self._size += len(lines)
        if self._size >= PIECE:
            self._look()

    def _look(self) -> None:
        self._found.append(self._pool.submit(look_at, self._waiting, self._at))
        self._at, self._waiting, self._size = self._at + self._size, [], 0

    def finish(self, offsets_of: Callable[[ndarray], ndarray]) -> bytes:
        """The index. offsets_of: bytes of text (int64) -> virtual offsets in the file."""
        self._look()
        parts = defaultdict[bytes, list[Contig]](list)
        for found in self._found:
            for name, contig in found.result().items():
                parts[name].append(contig)
        self._pool.shutdown()
        names = b"".join(name + b"\0" for name in parts)
        content = [b"TBI\x01", struct.pack("<8i", len(parts), *VCF, len(names)), names]
        content += (index_of(contigs, offsets_of) for contigs in parts.values())
        return compress(b"".join((*content, bytes(8)))) + EOF_BLOCK  # no lines without a place

    def abort(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def look_at(texts: Iterable[bytes], at: int) -> dict[bytes, Contig]:
    """Whole lines by contig. at: where the text begins in the file's."""
    text = b"".join(texts)
    spans = empty(Spans, {"lines": text.count(b"\n")})
    span_lines(np.frombuffer(text, np.uint8), spans)
    starts = np.append(0, spans.stop)
    bounds = [*np.flatnonzero(spans.name_size).tolist(), spans.stop.size]
    out = {}
    for first, last in pairwise(bounds):
        name = text[starts[first] :][: spans.name_size[first]]
        own = take(spans, "lines", slice(first, last))
        begins = at + starts[first:last]
        out[name] = Contig(last - first, find_chunks(own, begins, at), find_windows(own, begins))
    return out


def find_chunks(spans: Spans, begins: ndarray, at: int) -> Chunks:
    bins = bins_of(spans.begin, spans.end)
    first = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
    return Chunks(bins[first], begins[first], at + spans.stop[np.append(first[1:], bins.size) - 1])


def bins_of(begin: ndarray, end: ndarray) -> ndarray:
    """The smallest bins that hold [begin, end)."""
    out = np.zeros(begin.size, np.int64)
    for level in range(1, DEPTH + 1):
        shift = LINEAR_WINDOW + 3 * (DEPTH - level)
        own = ((1 << 3 * level) - 1) // 7 + (begin >> shift)
        out = np.where(begin >> shift == (end - 1) >> shift, own, out)
    return out


def find_windows(spans: Spans, begins: ndarray) -> Windows:
    first, last = spans.begin >> LINEAR_WINDOW, spans.end - 1 >> LINEAR_WINDOW
    reached = np.maximum.accumulate(np.append(-1, last))[:-1]  # by lines before
    first = np.maximum(first, reached + 1)
    sizes = np.maximum(0, last - first + 1)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return Windows(np.repeat(first, sizes) + within, np.repeat(begins, sizes))


def index_of(parts: list[Contig], offsets_of: Callable[[ndarray], ndarray]) -> bytes:
    """The part of a TBI that is about a contig, of which there are lines."""
    chunks = concatenate([part.chunks for part in parts], "chunks")
    windows = concatenate([part.windows for part in parts], "windows")
    begin, end = offsets_of(chunks.begin), offsets_of(chunks.end)
    starts = np.full(windows.number.max() + 1, 1 << 62)
    starts[windows.number[::-1]] = offsets_of(windows.begin)[::-1]  # the first of those that name a window counts
    lines = sum(part.lines for part in parts)
    bins = np.concatenate((chunks.bin, [COUNTS, COUNTS]))
    begin, end = np.concatenate((begin, [begin[0], lines])), np.concatenate((end, [end[-1], 0]))
    number, words = words_of(bins, begin, end)
    starts = np.minimum.accumulate(starts[::-1])[::-1]  # a window that no line reaches has the next one's
    return struct.pack("<i", number) + words.tobytes() + struct.pack("<i", starts.size) + starts.astype("<u8").tobytes()


def words_of(bins: ndarray, begin: ndarray, end: ndarray) -> tuple[int, ndarray]:
    """Chunks by bin: the number of bins; of each one its number, that of its chunks, and these (uint32)."""
    order = np.argsort(bins, kind="stable")
    numbers, first, count = np.unique(bins[order], return_index=True, return_counts=True)
    words = np.empty(2 * numbers.size + 4 * bins.size, "<u4")
    heads = 2 * np.arange(numbers.size) + 4 * first
    words[heads], words[heads + 1] = numbers, count
    places = 4 * np.arange(bins.size) + 2 * np.repeat(np.arange(1, numbers.size + 1), count)
    for word, column in enumerate((begin, begin >> 32, end, end >> 32)):
        words[places + word] = column[order] & 0xFFFFFFFF
    return numbers.size, words


@kernel
def span_lines(text, spans):
    at, name, size = 0, 0, -1
    for row in range(spans.stop.size):
        line = first = at
        field, begin, end, is_other = 0, 0, 0, True
        while text[at] != NEWLINE:
            if text[at] == TAB and field < 8:
                if field == 0:
                    is_other = at - line != size
                    for i in range(0 if is_other else size):
                        is_other |= text[line + i] != text[name + i]
                    name, size = line, at - line
                elif field == 1:
                    begin = number_in(text, first, at) - 1
                elif field == 3:
                    end = begin + at - first
                elif field == 7:
                    end = max(end, end_in(text, first, at))
                field, first = field + 1, at + 1
            at += 1
        if field == 7:  # there are no samples
            end = max(end, end_in(text, first, at))
        at += 1
        spans.stop[row], spans.begin[row], spans.end[row] = at, begin, end
        spans.name_size[row] = size if is_other else 0
