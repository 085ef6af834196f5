"""FASTQ and FASTA files, single, paired in two files or interleaved, cut into chunks of whole records.

A file is read in buffers. Each is cut after its last whole record (and after equally many records of both files of a
pair); the rest begins the next buffer. Workers get the text unchanged.
"""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.errors import InputError
from readwarp.formats.common.reads import Segment
from readwarp.formats.common.source import Source
from readwarp.formats.reads.fastx_text import (
    NEWLINE,
    RETURN,
    Text,
    equal_bits,
    find_line_ends,
    line_stop,
    lowest_byte,
    name_stop,
    newline_bits,
    repeats,
)
from readwarp.formats.reads.raw import Chunk, ReadInput
from readwarp.system.ahead import read_ahead
from readwarp.wording import counted

MAX_BYTES = 1 << 28  # per record
AT, GREATER = b"@>"
UNPAIRED, FIRST, LAST = map(int, Segment)
COUNTED = np.uint64(255)  # words whose lines fit in a byte counter
EVEN_BYTES, ONES = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)


class _Block(NamedTuple):
    """Bytes of a file, with as much room before them, and some behind."""

    buffer: Annotated[ndarray, "uint8 [bytes]"]
    start: int
    stop: int
    is_last: bool


def _read_blocks(source: Source, size: int) -> Iterator[_Block]:
    """Read blocks, each into memory that no array shows any more: pages never touched before cost time."""
    free = list[memoryview]()
    while True:
        room = 2 * -(-size // 8) * 8 + 8  # whole words, and room for a newline
        memory = free.pop() if free else memoryview(np.empty(room, np.uint8))
        buffer = np.frombuffer(memory, np.uint8)  # the base of all arrays that show it: not an array's own memory
        weakref.finalize(buffer, free.append, memory).atexit = False
        stop = size + source.read_into(buffer[size : 2 * size])
        yield _Block(buffer, size, stop, stop < 2 * size)
        if stop < 2 * size:
            return


class _File:
    """A file and its text that is read but not passed on: buffer[start:size], which begins with a record.

    The next chunk may take the part up to `stop`. A thread of its own reads the file, in blocks that begin in the
    middle of a buffer. The rest of a block is put before the next, so the text that workers get has not been copied.
    """

    def __init__(self, source: Source, block: int):
        self.kind, self.path = source.kind, source.path
        self.blocks = read_ahead(_read_blocks(source, block), depth=1, name=f"file {source.path}")
        self.buffer = np.empty(0, np.uint8)
        self.start = self.stop = self.size = 0
        self.ended, self.emitted = source.kind == "empty", 0
        self.lines: tuple[int, bool] | None = None  # of the next chunk: number of lines, and whether any may be empty

    def fill(self, size: int) -> None:
        """Read until the buffer holds `size` bytes, or all that remain."""
        if not self.ended and self.remaining < size:
            self._add_blocks(size - self.remaining)
        self.stop, self.lines = min(self.size, self.start + size), None

    def _add_blocks(self, size: int) -> None:
        rest = self.buffer[self.start : self.size]
        blocks, got = list[_Block](), 0
        while got < size and not self.ended:
            blocks.append(next(self.blocks))
            got, self.ended = got + blocks[-1].stop - blocks[-1].start, blocks[-1].is_last
        (self.buffer, start, self.size, _), *others = blocks
        if others or rest.size > start:
            parts = [rest, *(block.buffer[block.start : block.stop] for block in blocks), np.empty(16, np.uint8)]
            joined = np.concatenate(parts)
            self.buffer = joined[: joined.size // 8 * 8]
            self.start, self.size = 0, joined.size - 16
        else:
            self.start = start - rest.size
            self.buffer[self.start : start] = rest
        if self.ended and self.remaining:
            self._end_last_line()

    def _end_last_line(self) -> None:
        """Add a missing last newline; a missing fourth line counts as empty, as for an empty last read."""
        text = self.buffer[self.start : self.size]
        lines = int(np.count_nonzero(text == NEWLINE))
        if text[-1] != NEWLINE or (self.kind == "fastq" and lines % 4 == 3):
            self.buffer[self.size] = NEWLINE
            self.size += 1

    @property
    def remaining(self) -> int:
        return self.size - self.start

    @property
    def is_last(self) -> bool:
        """Return whether nothing remains after the part up to `stop`."""
        return self.ended and self.stop == self.size

    def cut(self, limit: int) -> tuple[int, int]:
        """Find whole records in the buffer, at most `limit`, and their end; only blank lines may follow a blank one."""
        text = Text(self.buffer, self.start, self.stop)
        if self.kind == "fasta":
            records, end, blank = cut_fasta(text, limit, self.is_last)
        else:
            records, end, blank = self._cut_fastq(text, limit)
        if blank:
            self._expect_blank_tail(records, end)
        return records, end

    def _cut_fastq(self, text: Text, limit: int) -> tuple[int, int, bool]:
        """Cut FASTQ: lines are counted once a chunk, and found from its end, much faster, unless some are empty."""
        words = self.buffer.view(np.uint64)
        self.lines = self.lines or count_lines(text, words)
        lines, has_empty = self.lines
        if has_empty:
            found: tuple[int, int, bool] = cut_fastq(text, words, limit)
            return found
        records = min(lines // 4, limit)
        return records, end_of_line(text, words, lines - 4 * records), False

    def _expect_blank_tail(self, records: int, end: int) -> None:
        tail = self.buffer[end : self.size]
        while not tail.tobytes().strip(b"\r\n") and not self.ended:
            buffer, start, stop, self.ended = next(self.blocks)
            tail = buffer[start:stop]
        if tail.tobytes().strip(b"\r\n"):
            raise InputError(self.path, "a blank line comes before it", self.emitted + records + 1)
        self.size = self.stop = end
        self.lines = None

    def take(self, end: int, records: int) -> Text:
        text = Text(self.buffer, self.start, end)
        self.start, self.lines = end, None
        self.emitted += records
        return text


def read_chunks(sources: Sequence[Source], read_input: ReadInput, batch_bases: int) -> Iterator[Chunk]:
    """Yield chunks of whole records of one input. A base takes at least two bytes in FASTQ, and one in FASTA."""
    block = max(64, 2 * batch_bases // len(sources))
    files = [_File(source, block) for source in sources]
    with ExitStack() as stack:
        for file in files:
            stack.enter_context(closing(file.blocks))
        yield from _cut_chunks(files, read_input, batch_bases)


def _cut_chunks(files: Sequence[_File], read_input: ReadInput, batch_bases: int) -> Iterator[Chunk]:
    kinds = {f.kind for f in files} - {"empty"}
    if len(kinds) > 1:
        raise InputError(files[1].path, f"is {files[1].kind.upper()}, its mates' file {files[0].kind.upper()}")
    kind = kinds.pop() if kinds else "fastq"
    limit = max(64, batch_bases * (2 if kind == "fastq" else 1) // len(files))
    size = limit
    while True:
        for file in files:
            file.fill(size)
        records = min(file.cut(MAX_BYTES)[0] for file in files)
        segments = _pair_up(files[0]) if read_input.interleaved else np.zeros(records, np.uint8)
        if size > limit:
            segments = segments[: 1 + np.count_nonzero(segments[:1])]  # larger than a batch: alone
        if records := segments.size:
            first = files[0].emitted + 1
            ends = [file.cut(records)[1] for file in files]
            texts = tuple(file.take(end, records) for file, end in zip(files, ends, strict=True))
            yield Chunk(kind, first, records, int(np.count_nonzero(segments != Segment.LAST)), texts, segments)
            size = limit
        elif all(file.is_last for file in files):
            break
        else:
            _check_progress(files, size)
            size = min(2 * size, MAX_BYTES)
    _check_ends(files)


def _pair_up(file: _File) -> ndarray:
    """Return each whole record's Segment, uint8 [records], except for a last record whose mate may follow."""
    records, end = file.cut(MAX_BYTES)
    text, segments = Text(file.buffer, file.start, end), np.empty(records, np.uint8)
    ends = find_line_ends(text, file.kind, records)
    return segments[: pair_up(text, ends, file.kind == "fasta", file.is_last, segments)]


def _check_progress(files: Sequence[_File], size: int) -> None:
    """Raise InputError if not even larger buffers will hold a whole record (or pair)."""
    if any(file.is_last and not file.cut(1)[0] for file in files):
        _check_ends(files)
    if size >= MAX_BYTES:
        path = next((file.path for file in files if not file.cut(1)[0]), files[0].path)
        raise InputError(path, f"longer than {MAX_BYTES >> 20} MiB, or not FASTQ", files[0].emitted + 1)


def _check_ends(files: Sequence[_File]) -> None:
    """Raise InputError for an incomplete last record or a read without its mate."""
    whole = [file.cut(1)[0] for file in files]
    for file, records in zip(files, whole, strict=True):
        if not records and file.remaining and file.is_last:
            raise InputError(file.path, "the file ends within it", file.emitted + 1)
    for file, other in (files, files[::-1]) if len(files) == 2 else ():
        if file.ended and not file.remaining and other.remaining:
            raise InputError(file.path, f"has {counted(file.emitted, 'read')}, {other.path} has more", file.emitted + 1)


@kernel
def cut_fastq(text, words, limit):
    """Find whole records of the text, at most `limit`; return (records, their end, whether a blank line follows).

    words: the memory of its letters as uint64.
    """
    letters, start, stop = text
    records, lines = 0, 0
    position = start
    if is_blank(letters, start, stop):
        return records, position, True
    for w in range(start >> 3, (stop + 7) >> 3):
        bits = newline_bits(words[w])
        while bits:
            i = 8 * w + lowest_byte(bits)
            bits &= bits - np.uint64(1)
            lines += start <= i < stop
            if lines == 4:
                records, lines = records + 1, 0
                position = i + 1
                if records == limit:
                    return records, position, False
                if is_blank(letters, position, stop):
                    return records, position, True
    return records, position, False


@kernel
def count_lines(text, words):
    """Return (newlines in the text, whether one may follow another directly, or a carriage return)."""
    letters, start, stop = text
    first, last = np.uint64((start + 7) >> 3), np.uint64(stop >> 3)  # whole words
    lines = empty = before = np.uint64(0)
    for block in range(first, last, COUNTED):
        sums = np.uint64(0)  # of each byte
        for w in range(block, min(block + COUNTED, last)):
            bits = newline_bits(words[w])
            sums += bits >> np.uint64(7)
            empty |= bits & (bits << np.uint64(8) | before >> np.uint64(56))
            empty |= equal_bits(words[w], np.uint64(0x0D0D0D0D0D0D0D0D))
            before = bits
        lines += (sums & EVEN_BYTES) * ONES >> np.uint64(48)
        lines += (sums >> np.uint64(8) & EVEN_BYTES) * ONES >> np.uint64(48)
    head, tail = min(np.int64(first) * 8, stop), max(np.int64(last) * 8, start)
    for i in range(start, head):
        lines += np.uint64(letters[i] == NEWLINE)
    for i in range(max(head, tail), stop):
        lines += np.uint64(letters[i] == NEWLINE)
    is_odd = empty != 0 or head >= tail or is_odd_end(letters, start, head) or is_odd_end(letters, tail, stop)
    return np.int64(lines), is_odd


@scalar
def is_odd_end(letters, start, stop):
    """Return whether an empty line or a carriage return may be near the end of a text."""
    for i in range(start, stop):
        if letters[i] == RETURN or (letters[i] == NEWLINE and (letters[i - 1] == NEWLINE or letters[i + 1] == NEWLINE)):
            return True
    return False


@kernel
def end_of_line(text, words, after):
    """Find the end of the line that this many whole lines and perhaps part of one follow; the start if none does."""
    letters, start, stop = text
    for w in range((stop - 1) >> 3, (start >> 3) - 1, -1):
        if newline_bits(words[w]):
            for i in range(min(stop, 8 * w + 8) - 1, max(start, 8 * w) - 1, -1):
                if letters[i] == NEWLINE:
                    if after == 0:
                        return i + 1
                    after -= 1
    return start


@kernel
def cut_fasta(text, limit, ended):
    """Find whole records like `cut_fastq`; one is whole when another follows it, or the file has ended."""
    letters, start, stop = text
    records = 0
    position = line = start
    while line < stop and records < limit:
        if line > start and letters[line] == GREATER:
            records += 1
            position = line
        while line < stop and letters[line] != NEWLINE:
            line += 1
        line += 1
    if ended and position < stop and records < limit:
        return records + 1, stop, False
    return records, position, False


@scalar
def is_blank(text, start, stop):
    """Return whether the line at `start` is empty."""
    return start < stop and (
        text[start] == NEWLINE or (text[start] == RETURN and start + 1 < stop and text[start + 1] == NEWLINE)
    )


@kernel
def pair_up(text, ends, is_fasta, ended, segments):
    """Pair neighbours of one name, like bwa mem -p, in segments (uint8 [records]); others are single reads.

    ends: of all lines of the records. Unless the file has `ended`, a last read without a mate may have it in the next
    record, and does not count. Returns the number of records that count.
    """
    letters, start, _ = text
    records, waits = 0, False
    name, size = start, np.int64(0)  # of the last read, which `waits` for its mate
    for line in range(ends.size):
        if letters[start] == GREATER if is_fasta else line & 3 == 0:
            stop = name_stop(letters, start + 1, line_stop(letters, start, ends[line]))
            is_mate = waits and stop - start - 1 == size and repeats(letters, start + 1, stop, name, name + size)
            segments[records] = LAST if is_mate else UNPAIRED
            if is_mate:
                segments[records - 1] = FIRST
            records, waits = records + 1, not is_mate
            name, size = start + 1, stop - start - 1
        start = ends[line] + 1
    return records - (1 if waits and not ended else 0)
