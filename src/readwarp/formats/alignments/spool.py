"""A stream of sorted alignments, spooled to disk so that its regions can be read: SAM and CRAM as BAM.

The file is unnamed, so nothing of it remains however the process ends. Its index is made on the way and stays in
memory.
"""

import os
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Annotated, BinaryIO, NamedTuple

import numpy as np
from isal import igzip, isal_zlib
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.alignments import layout, samtools
from readwarp.formats.alignments.checks import REASONS, SIZE, SOUND, UNSORTED
from readwarp.formats.alignments.crai import DEFINITION, HEADER
from readwarp.formats.alignments.cram import header_of
from readwarp.formats.alignments.cram_reference import CramReference, find_reference
from readwarp.formats.alignments.header import MAX_HEADER, parse_header
from readwarp.formats.common.bgzf import blocks_of
from readwarp.formats.common.compressed import BROKEN, GZIP_MAGIC
from readwarp.formats.common.index import LINEAR_WINDOW, BgzfIndex, fill_in
from readwarp.formats.common.writing import writing_temporary
from readwarp.ragged import concatenate, empty, offsets_of
from readwarp.system.scratch import ScratchFolder

CHUNK = 1 << 20  # compressed bytes read at a time
MAX_BLOCK = 1 << 16  # bytes, compressed


def is_stream(path: Path) -> bool:
    """Return whether it is stdin or a named pipe, which can only be read once."""
    return str(path) == "-" or path.is_fifo()


def spool(path: Path, name: str, given: Sequence[str], threads: int) -> tuple[BinaryIO, BgzfIndex]:
    """Read stdin ("-") or a pipe to its end; return an unnamed BAM file in the temporary folder, and its index.

    name: of the stream, for errors. given: references, for CRAM. Raises InputError for damaged or unsorted data,
    OSError if the temporary folder is full.
    """
    if str(path) == "-" and sys.stdin is None:
        raise InputError(name, "is closed")
    descriptor = os.dup(sys.stdin.fileno()) if str(path) == "-" else os.open(path, os.O_RDONLY)
    file = tempfile.TemporaryFile(prefix="readwarp-")  # noqa: SIM115
    try:
        with closing(_to_bam(_read(descriptor), name, given, threads)) as chunks:
            return file, _Indexer(name).index(_copy(chunks, file))
    except BaseException:
        file.close()
        raise
    finally:
        os.close(descriptor)


def scan_file(file: BinaryIO, name: str) -> BgzfIndex:
    """Index a BAM file, reading it to its end. Raises InputError if it is damaged or unsorted."""
    return _Indexer(name).index(_read(file.fileno()))


def _copy(chunks: Iterable[bytes], file: BinaryIO) -> Iterator[bytes]:
    """Yield the chunks, writing each to the file."""
    for chunk in chunks:
        with writing_temporary():
            file.write(chunk)
        yield chunk
    with writing_temporary():
        file.flush()


def _read(descriptor: int) -> Iterator[bytes]:
    """Read without a buffer, so that no lock is held while a thread waits for bytes that may never come."""
    while True:
        parts, size = [], 0
        while size < CHUNK and (part := os.read(descriptor, CHUNK - size)):
            parts.append(part)
            size += len(part)
        if not size:
            return
        yield b"".join(parts)


def _to_bam(chunks: Iterator[bytes], name: str, given: Sequence[str], threads: int) -> Generator[bytes, None, None]:
    """Yield the stream as the bytes of a BAM file; samtools converts other formats."""
    head = next(chunks, b"")
    if not head:
        raise InputError(name, "is empty")
    is_bam = head[:2] == GZIP_MAGIC and head[12:14] == b"BC"
    if is_bam:
        with suppress(*BROKEN):  # damage shows when the block is read
            is_bam = isal_zlib.decompressobj(31).decompress(head, 4) in (b"BAM\x01", b"")
    if is_bam:
        yield from chain((head,), chunks)
    elif head[:4] == b"CRAM":
        with ScratchFolder() as scratch:
            header = head + _rest_of_header(head, chunks)
            reference = find_reference(_header_in(header, name), given, scratch.path)
            yield from _convert(chain((header,), chunks), name, threads, reference)
    else:
        yield from _convert(chain((head,), chunks), name, threads, None)


def _rest_of_header(head: bytes, chunks: Iterator[bytes]) -> bytes:
    """Read on from the beginning of a CRAM stream to the end of its first container, which has the header."""
    (size,) = struct.unpack("<I", head[DEFINITION : DEFINITION + 4].ljust(4, b"\0"))
    rest, missing = list[bytes](), min(size, MAX_HEADER) + DEFINITION + HEADER - len(head)
    while missing > 0 and (chunk := next(chunks, b"")):
        rest.append(chunk)
        missing -= len(chunk)
    return b"".join(rest)


def _header_in(head: bytes, name: str) -> str:
    """Return the SAM header text from the beginning of a CRAM stream."""
    with tempfile.NamedTemporaryFile(prefix="readwarp-") as file:
        with writing_temporary():
            file.write(head)
            file.flush()
        try:
            return header_of(Path(file.name))
        except InputError as error:
            raise InputError(name, error.reason) from error


def _convert(chunks: Iterable[bytes], name: str, threads: int, reference: CramReference | None) -> Iterator[bytes]:
    options = ("-T", reference.fasta) if reference else ()
    command = ("samtools", "view", "--no-PG", "-b", "-1", "-@", str(threads), *options, "-")
    with closing(samtools.ToolProcess(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as child:
        assert child.stdin is not None and child.stdout is not None
        feeder = threading.Thread(target=_feed, args=(chunks, child.stdin), name="readwarp feeder", daemon=True)
        feeder.start()
        while chunk := child.stdout.read(CHUNK):
            yield chunk
        if child.wait():
            said = child.error()
            known = reference.explain(said) if reference else f"cannot be read as BAM, CRAM or SAM ({said})"
            raise InputError(name, known)
        feeder.join()


def _feed(chunks: Iterable[bytes], pipe: IO[bytes]) -> None:
    with suppress(OSError, ValueError), pipe:  # samtools has ended, and the pipe may be closed
        for chunk in chunks:
            pipe.write(chunk)


class Blocks(NamedTuple):
    """BGZF blocks of decompressed bytes."""

    begin: Annotated[ndarray, "int64 [blocks]"]  # start in the bytes
    place: Annotated[ndarray, "int64 [blocks]"]  # start in the file


class FileWindows(NamedTuple):
    """The linear index of a BAM file."""

    first: Annotated[ndarray, "int64 [contigs + 1] of windows"]  # of each contig
    offset: Annotated[ndarray, "uint64 [windows]"]  # virtual offset of the first record that reaches it; 0: none yet


class _Indexer:
    """An indexer of BAM records, which also checks their order."""

    def __init__(self, name: str):
        self._name = name
        self._size = 0  # bytes of whole blocks so far
        self._raw = np.empty(0, np.uint8)  # decompressed, from the first incomplete record
        self._blocks = empty(Blocks, {"blocks": 0})  # blocks of these bytes
        self._contigs: Sequence[str] = ()
        self._windows: FileWindows | None = None  # made once the header has been read
        self._last = (0, -1)  # contig and position of the last record

    def index(self, chunks: Iterable[bytes]) -> BgzfIndex:
        rest, last = b"", -1
        for chunk in chunks:
            data = rest + chunk
            places, sizes = blocks_of(data)
            if not sizes and len(data) > MAX_BLOCK:
                raise InputError(self._name, f"damaged: no BGZF block at byte {self._size}")
            if sizes:
                last = sizes[-1]
                self._add_blocks(data[: places[-1]], np.array(places[:-1]), np.array(sizes))
            rest, self._size = data[places[-1] :], self._size + places[-1]
        if rest or last != 0 or self._raw.size or self._windows is None:
            raise InputError(self._name, "truncated: no BGZF EOF marker")
        first, offset = self._windows
        return BgzfIndex(LINEAR_WINDOW, [fill_in(part) for part in np.split(offset, first[1:-1])])

    def _add_blocks(self, data: bytes, places: np.ndarray, sizes: np.ndarray) -> None:
        """Decompress whole blocks, index the records that end in them, and keep the rest for the next blocks."""
        try:
            fresh = np.frombuffer(igzip.decompress(data), np.uint8)
        except BROKEN as error:
            raise InputError(self._name, f"damaged block after byte {self._size} ({error})") from error
        begins = self._raw.size + np.cumsum(sizes) - sizes
        begin, place = concatenate([self._blocks, Blocks(begins, self._size + places)], "blocks")
        raw, done = np.concatenate((self._raw, fresh)), 0
        if self._windows is None and (header := parse_header(raw.tobytes(), self._name)):
            done, (_, self._contigs, lengths) = header
            first = offsets_of([(length >> LINEAR_WINDOW) + 1 for length in lengths])
            self._windows = FileWindows(first, np.zeros(first[-1], np.uint64))
        if self._windows is not None:
            done = self._add_records(raw, done, Blocks(begin, place), self._windows)
        if raw.size - done > layout.MAX_RECORD:
            raise InputError(self._name, "damaged: a record of more than 256 MiB")
        block = max(0, int(np.searchsorted(begin, done, side="right")) - 1)  # the block with `done`
        self._raw, self._blocks = raw[done:].copy(), Blocks(begin[block:] - done, place[block:])

    def _add_records(self, raw: np.ndarray, place: int, blocks: Blocks, windows: FileWindows) -> int:
        """Index the records from `place` on; return where the first incomplete one begins."""
        place, *last, state = add_to_index(raw, place, self._last, blocks, windows)
        if state != SOUND:
            contig = (*self._contigs, "unplaced reads")[last[0]]
            raise InputError(self._name, REASONS[state], f"near {contig}:{max(last[1], 0) + 1}")
        self._last = last[0], last[1]
        return int(place)


@kernel
def add_to_index(data, at, last, blocks, out):
    """Add the whole records from `at` on to out (FileWindows). last: contig and position of the previous record.

    Returns (where the first incomplete record begins, contig and position of the last one, SOUND | UNSORTED | SIZE).
    """
    contig, position = last
    (begin, place), (first, offset) = blocks, out
    block, contigs = 0, first.size - 1
    while at + layout.NAME <= data.size:
        stop = layout.stop_of(data, at)
        if stop > data.size:
            break
        own, start = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.POSITION)
        if own >= contigs or not layout.is_whole(data, at, stop):
            return at, contig, position, SIZE
        if own >= 0 and (own < contig or (own == contig and start < position)):
            return at, contig, position, UNSORTED
        contig, position = own if own >= 0 else contigs, start
        while block + 1 < begin.size and begin[block + 1] <= at:
            block += 1
        if own >= 0 and start >= 0:
            stop_window = (max(start, layout.span_of(data, at)[0] - 1) >> LINEAR_WINDOW) + 1
            for window in range(first[own] + (start >> LINEAR_WINDOW), min(first[own] + stop_window, first[own + 1])):
                if offset[window] == 0:
                    offset[window] = place[block] << 16 | (at - begin[block])
        at = stop
    return at, contig, position, SOUND
