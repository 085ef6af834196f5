"""FASTQ and FASTA: single, paired in two files, interleaved.

A file is read in buffers. Each is cut after its last whole record (and after equally many records of both files of a
pair); the rest begins the next buffer. Workers get the text unchanged.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.common.source import Source
from readwarp.formats.reads import fastx_kernels as kernels
from readwarp.formats.reads.fastx_kernels import FastxRecords, Text
from readwarp.formats.reads.mates import explain_names
from readwarp.formats.reads.raw import Chunk, RawBatch, ReadInput
from readwarp.formats.reads.tags import encode_comments
from readwarp.ragged import empty, offsets_of, replace
from readwarp.system.ahead import read_ahead
from readwarp.wording import counted

MAX_BYTES = 1 << 28  # per record
PAIR = np.array([Segment.FIRST, Segment.LAST], np.uint8)


class _Block(NamedTuple):
    """Bytes of a file, with as much room before them, and some behind."""

    buffer: Annotated[ndarray, "uint8 [bytes]"]
    start: int
    stop: int
    is_last: bool


def _read_blocks(source: Source, size: int) -> Iterator[_Block]:
    while True:
        buffer = np.empty(2 * -(-size // 8) * 8 + 8, np.uint8)  # whole words, and room for a newline
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
        self.buffer, self.start, self.stop, self.size = np.empty(0, np.uint8), 0, 0, 0
        self.ended, self.emitted = source.kind == "empty", 0
        self.lines: tuple[int, bool] | None = None  # of the next chunk: number of lines, and whether any may be empty

    def fill(self, size: int) -> None:
        """Read until the buffer holds `size` bytes, or all that remain."""
        if not self.ended and self.remaining < size:
            self._add_blocks(size - self.remaining)
        self.stop, self.lines = min(self.size, self.start + size), None

    def _add_blocks(self, size: int) -> None:
        rest, blocks, got = self.buffer[self.start : self.size], list[_Block](), 0
        while got < size and not self.ended:
            blocks.append(next(self.blocks))
            got, self.ended = got + blocks[-1].stop - blocks[-1].start, blocks[-1].is_last
        (self.buffer, start, self.size, _), *others = blocks
        if others or rest.size > start:
            parts = [rest, *(block.buffer[block.start : block.stop] for block in blocks), np.empty(16, np.uint8)]
            joined = np.concatenate(parts)
            self.buffer, self.start, self.size = joined[: joined.size // 8 * 8], 0, joined.size - 16
        else:
            self.start = start - rest.size
            self.buffer[self.start : start] = rest
        if self.ended and self.remaining:
            self._end_last_line()

    def _end_last_line(self) -> None:
        """Add a missing last newline; a missing fourth line counts as empty, as for an empty last read."""
        text = self.buffer[self.start : self.size]
        lines = int(np.count_nonzero(text == kernels.NEWLINE))
        if text[-1] != kernels.NEWLINE or (self.kind == "fastq" and lines % 4 == 3):
            self.buffer[self.size] = kernels.NEWLINE
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
            records, end, blank = kernels.cut_fasta(text, limit, self.is_last)
        else:
            records, end, blank = self._cut_fastq(text, limit)
        if blank:
            self._expect_blank_tail(records, end)
        return records, end

    def _cut_fastq(self, text: Text, limit: int) -> tuple[int, int, bool]:
        """Cut FASTQ: lines are counted once a chunk, and found from its end, much faster, unless some are empty."""
        words = self.buffer.view(np.uint64)
        self.lines = self.lines or kernels.count_lines(text, words)
        lines, has_empty = self.lines
        if has_empty:
            found: tuple[int, int, bool] = kernels.cut_fastq(text, words, limit)
            return found
        records = min(lines // 4, limit)
        return records, kernels.end_of_line(text, words, lines - 4 * records), False

    def _expect_blank_tail(self, records: int, end: int) -> None:
        tail = self.buffer[end : self.size]
        while not tail.tobytes().strip(b"\r\n") and not self.ended:
            buffer, start, stop, self.ended = next(self.blocks)
            tail = buffer[start:stop]
        if tail.tobytes().strip(b"\r\n"):
            raise InputError(self.path, "a blank line comes before it", self.emitted + records + 1)
        self.size, self.stop, self.lines = end, end, None

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
    ends = _line_ends(text, file.kind, records)
    return segments[: kernels.pair_up(text, ends, file.kind == "fasta", file.is_last, segments)]


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


def parse(raw: RawBatch) -> ReadBatch:
    """Parse text of whole records. Raises InputError."""
    texts, read_input = raw.chunk.data, raw.input
    records = [_measure(raw, file) for file in range(len(texts))]
    read_offsets, name_offsets = (
        offsets_of(np.stack(lengths, axis=1).ravel())  # mates are neighbours
        for lengths in ([each.length for each in records], [each.name_length for each in records])
    )
    reads = empty(
        ReadBatch,
        {},
        number=raw.number,
        source=raw.source,
        read_offsets=read_offsets,
        name_offsets=name_offsets,
        tag_offsets=np.zeros_like(read_offsets),
        segment=raw.chunk.segments if len(texts) == 1 else np.tile(PAIR, raw.chunk.records),
        read_group=np.full(read_offsets.size - 1, read_input.read_group, np.int32),
        failed=np.zeros(read_offsets.size - 1, np.uint8),
    )
    for file, text in enumerate(texts):
        record, reason = kernels.fill(text, records[file], file, len(texts), reads)
        if record >= 0:
            raise InputError(read_input.paths[file], kernels.REASONS[reason], raw.chunk.first_record + record)
    if len(texts) == 2:
        _check_names(raw, reads)
    has_umis = read_input.umi is not None and read_input.umi.source == "comment"
    return encode_comments(reads, raw, records) if read_input.comments or has_umis else reads


def _measure(raw: RawBatch, file: int) -> FastxRecords:
    """Find the parts of one file's records. Raises InputError."""
    chunk, text = raw.chunk, raw.chunk.data[file]
    ends, records = _line_ends(text, chunk.kind, chunk.records), empty(FastxRecords, {"records": chunk.records})
    measure = kernels.measure_fasta if chunk.kind == "fasta" else kernels.measure_fastq
    record, reason, found = measure(text, ends, records)
    if record >= 0:
        if reason == kernels.UNEQUAL:
            why = f"quality has {counted(found, 'letter')}, sequence {records.length[record]:,}"
        else:
            why = kernels.REASONS[reason]
        raise InputError(raw.input.paths[file], why, chunk.first_record + record)
    return _cut_endings(raw, file, records) if raw.input.numbered else records


def _cut_endings(raw: RawBatch, file: int, records: FastxRecords) -> FastxRecords:
    """Cut .1 (in the first file) or .2 off the names. Raises InputError for a name without it."""
    letters, stop, ending = raw.chunk.data[file].letters, records.name + records.name_length, f".{file + 1}"
    has = (records.name_length > 2) & (letters[stop - 2] == ord(ending[0])) & (letters[stop - 1] == ord(ending[1]))
    if not has.all():
        reason = f"its name does not end in {ending}, as that of the first read does"
        raise InputError(raw.input.paths[file], reason, raw.chunk.first_record + int(np.argmin(has)))
    return replace(records, name_length=records.name_length - 2)


def _line_ends(text: Text, kind: str, records: int) -> ndarray:
    """Return the line ends of whole records: int64 [lines]."""
    letters, start, stop = text
    lines = int(np.count_nonzero(letters[start:stop] == kernels.NEWLINE)) if kind == "fasta" else 4 * records
    ends = np.empty(lines, np.int64)
    kernels.line_ends(letters.view(np.uint64), start, stop, ends)
    return ends


def _check_names(raw: RawBatch, reads: ReadBatch) -> None:
    """Raise InputError if two mates have different names."""
    names, offsets = reads.names, reads.name_offsets
    pair = kernels.first_unequal_pair(names, offsets)
    if pair >= 0:
        first, last = (
            names[offsets[read] : offsets[read + 1]].tobytes().decode("latin-1") for read in (2 * pair, 2 * pair + 1)
        )
        hint = explain_names(raw.input, first, last)
        reason = f"the names of the mates differ: {first} and {last} ({hint})"
        raise InputError(raw.input.paths[-1], reason, raw.chunk.first_record + pair)
