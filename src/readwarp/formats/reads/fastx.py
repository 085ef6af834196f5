"""FASTQ and FASTA: single, paired in two files, interleaved.

A file is read in buffers, each cut behind its last whole record (and after equally many records of both files of a
pair); what is left over starts the next buffer. The text goes to workers as it is.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy import ndarray

from readwarp.batches import ReadBatch, Segment
from readwarp.errors import InputError
from readwarp.formats.common.source import Source
from readwarp.formats.reads import fastx_kernels as kernels
from readwarp.formats.reads.raw import RawBatch, ReadInput
from readwarp.formats.reads.tags import tags_of_comments
from readwarp.ragged import offsets_of

MOST_BYTES = 1 << 31  # of one record
Text = tuple[ndarray, int, int]  # uint8, a whole number of words, and the span of it that counts
Chunk = tuple[str, int, int, tuple[Text, ...]]  # kind, number of the first record, records, text of each file


class _Records:
    """One file and what was read of it but not yet handed on, which starts with a record: buffer[start:size]. The next
    chunk may take the part up to `stop`."""

    def __init__(self, source: Source):
        self.source, self.kind, self.path = source, source.kind, source.path
        self.buffer, self.start, self.stop, self.size = np.empty(0, np.uint8), 0, 0, 0
        self.ended, self.emitted = source.kind == "empty", 0

    def fill(self, size: int) -> None:
        """Have `size` bytes at hand, or all that are left."""
        if not self.ended and self.size - self.start < size:
            self._read(size)
        self.stop = min(self.size, self.start + size)

    def _read(self, size: int) -> None:
        rest = self.buffer[self.start : self.size]
        buffer = np.empty(-(-size // 8) * 8 + 8, np.uint8)  # whole words, and room for a newline
        buffer[: rest.size] = rest
        got = rest.size + self.source.read_into(buffer[rest.size : size])
        self.buffer, self.start, self.size, self.ended = buffer, 0, got, got < size
        if self.ended and self.size:
            self._end_last_line()

    def _end_last_line(self) -> None:
        """A missing last newline is added; a missing fourth line counts as empty, as it is for an empty last read."""
        text = self.buffer[: self.size]
        lines = int(np.count_nonzero(text == kernels.NEWLINE))
        if text[-1] != kernels.NEWLINE or (self.kind == "fastq" and lines % 4 == 3):
            self.buffer[self.size] = kernels.NEWLINE
            self.size += 1

    @property
    def left(self) -> int:
        return self.size - self.start

    @property
    def all_at_hand(self) -> bool:
        return self.ended and self.stop == self.size

    def whole(self, most: int) -> tuple[int, int]:
        """Records at hand and where they end. A blank line between records must only have others behind it."""
        span = self.start, self.stop, most
        if self.kind == "fasta":
            records, end, blank = kernels.cut_fasta(self.buffer, *span, self.all_at_hand)
        else:
            records, end, blank = kernels.cut_fastq(self.buffer.view(np.uint64), self.buffer, *span)
        if blank:
            self._expect_blank_tail(records, end)
        return records, end

    def _expect_blank_tail(self, records: int, end: int) -> None:
        blank = kernels.is_blank_text(self.buffer, end, self.size)
        while blank and not self.ended:
            tail = np.empty(1 << 20, np.uint8)
            got = self.source.read_into(tail)
            self.ended, blank = got < tail.size, kernels.is_blank_text(tail, 0, got)
        if not blank:
            raise InputError(self.path, "a blank line stands before it", self.emitted + records + 1)
        self.size = self.stop = end

    def take(self, end: int, records: int) -> Text:
        text = self.buffer, self.start, end
        self.start = end
        self.emitted += records
        return text


def raw_records(sources: Sequence[Source], given: ReadInput, batch_bases: int) -> Iterator[Chunk]:
    """Chunks of whole records of one input. A FASTQ record has two bytes a base and more, a FASTA record one."""
    files = [_Records(source) for source in sources]
    kinds = {f.kind for f in files} - {"empty"}
    if len(kinds) > 1:
        raise InputError(files[1].path, f"is {files[1].kind.upper()}, its mates' file {files[0].kind.upper()}")
    kind = kinds.pop() if kinds else "fastq"
    limit = max(64, batch_bases * (2 if kind == "fastq" else 1) // len(files))
    step = 2 if given.interleaved else 1
    size = limit
    while True:
        for file in files:
            file.fill(size)
        records = min(file.whole(MOST_BYTES)[0] for file in files)
        records -= records % step
        if size > limit:
            records = min(records, step)  # larger than a batch: alone
        if records:
            first = files[0].emitted + 1
            ends = [file.whole(records)[1] for file in files]
            yield kind, first, records, tuple(f.take(end, records) for f, end in zip(files, ends, strict=True))
            size = limit
        elif all(file.all_at_hand for file in files):
            break
        else:
            _check_progress(files, size)
            size *= 2
    _check_ends(files, step)


def templates(given: ReadInput, records: int, data: tuple[Text, ...]) -> int:
    """Pairs or single reads in a chunk."""
    return records // 2 if given.interleaved else records


def _check_progress(files: Sequence[_Records], size: int) -> None:
    """No whole record (or pair) is at hand: larger buffers help unless one file has ended or the text is no FASTQ."""
    if any(file.all_at_hand and not file.whole(1)[0] for file in files):
        _check_ends(files, 1)
    if size >= MOST_BYTES:
        raise InputError(files[0].path, "longer than 2 GiB, or not FASTQ", files[0].emitted + 1)


def _check_ends(files: Sequence[_Records], step: int) -> None:
    """All that is left must be nothing: no broken last record, no read without its mate."""
    whole = [file.whole(1)[0] for file in files]
    for file, records in zip(files, whole, strict=True):
        if not records and file.left and file.all_at_hand:
            raise InputError(file.path, "the file ends within it", file.emitted + 1)
    if step == 2 and whole[0]:
        raise InputError(files[0].path, "the last read has no mate", files[0].emitted + 1)
    for file, other in (files, files[::-1]) if len(files) == 2 else ():
        if file.ended and not file.left and other.left:
            raise InputError(file.path, f"has {file.emitted} reads, {other.path} has more", file.emitted + 1)


def parse(raw: RawBatch) -> ReadBatch:
    """Text of whole records -> ReadBatch. Raises InputError."""
    files, given = len(raw.data), raw.input
    fields = [_measure(raw, file) for file in range(files)]
    merged = fields[0] if files == 1 else np.stack(fields, axis=1).reshape(-1, kernels.FIELDS)
    read_offsets, name_offsets = offsets_of(merged[:, kernels.LENGTH]), offsets_of(merged[:, kernels.NAME_LENGTH])
    bases, qualities = np.empty(read_offsets[-1], np.uint8), np.empty(read_offsets[-1], np.uint8)
    names = np.empty(name_offsets[-1], np.uint8)
    for file, (text, _, _) in enumerate(raw.data):
        outputs = (bases, qualities, read_offsets, names, name_offsets)
        record, reason = kernels.fill(text, fields[file], file, files, *outputs)
        if record >= 0:
            raise InputError(given.paths[file], kernels.REASONS[reason], raw.first_record + record)
    segment = np.zeros(len(merged), np.uint8)
    if files == 2 or given.interleaved:
        segment[0::2], segment[1::2] = Segment.FIRST, Segment.LAST
        _check_names(raw, names, name_offsets)
    tags, tag_offsets, groups = tags_of_comments(raw, fields) if given.comments else _no_tags(raw, len(merged))
    return ReadBatch(
        number=raw.number,
        source=raw.source,
        bases=bases,
        qualities=qualities,
        read_offsets=read_offsets,
        names=names,
        name_offsets=name_offsets,
        tags=tags,
        tag_offsets=tag_offsets,
        segment=segment,
        read_group=groups,
    )


def _no_tags(raw: RawBatch, reads: int) -> tuple[ndarray, ndarray, ndarray]:
    return np.empty(0, np.uint8), np.zeros(reads + 1, np.int64), np.full(reads, raw.input.read_group, np.int32)


def _measure(raw: RawBatch, file: int) -> ndarray:
    """Fields int64 [records, FIELDS] of the records of one file."""
    text, start, stop = raw.data[file]
    lines = 4 * raw.records if raw.kind == "fastq" else int(np.count_nonzero(text[start:stop] == kernels.NEWLINE))
    ends = np.empty(lines, np.int64)
    kernels.line_ends(text.view(np.uint64), start, stop, ends)
    fields = np.empty((raw.records, kernels.FIELDS), np.int64)
    if raw.kind == "fasta":
        record, reason, found = kernels.measure_fasta(text, start, ends, lines, fields)
    else:
        record, reason, found = kernels.measure_fastq(text, start, ends, fields)
    if record >= 0:
        if reason == kernels.UNEQUAL:
            why = f"quality has {found} letters, sequence {fields[record, kernels.LENGTH]}"
        else:
            why = kernels.REASONS[reason]
        raise InputError(raw.input.paths[file], why, raw.first_record + record)
    return fields


def _check_names(raw: RawBatch, names: ndarray, offsets: ndarray) -> None:
    pair = kernels.first_unequal_pair(names, offsets)
    if pair >= 0:
        first, last = (
            names[offsets[read] : offsets[read + 1]].tobytes().decode("latin-1") for read in (2 * pair, 2 * pair + 1)
        )
        path = raw.input.paths[-1]
        record = raw.first_record + (pair if len(raw.data) == 2 else 2 * pair + 1)
        raise InputError(path, f"the names of the mates differ: {first} and {last}", record)
