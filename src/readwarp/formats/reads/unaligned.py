"""Unaligned reads out, by the name's ending: BAM, SAM, or FASTQ.

FASTQ has mates side by side, and text and integer tags in the comment.
"""

from collections.abc import Callable

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.output import EncodedFile
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.common.files import ending_of
from readwarp.formats.common.output_file import Writer
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.text import letter_of, put_bytes, put_copy, put_number
from readwarp.ragged import offsets_of
from readwarp.rules.flags import FIRST, LAST, MATE_UNMAPPED, PAIRED, UNMAPPED

BIN, UNPLACED = 14, 4680  # offset of the bin in a record; bin of unplaced records
FLAGS = np.array([UNMAPPED, *(UNMAPPED | PAIRED | MATE_UNMAPPED | segment for segment in (FIRST, LAST))], np.uint16)
NIBBLES = np.array([1, 2, 4, 8, 15], np.uint8)  # 0-4 -> ACGTN
PHRED33 = 33
AT, PLUS, NEWLINE, TAB, COLON, SLASH, ONE = b"@+\n\t:/1"
G, R = b"GR"
DIGITS = 20  # in a number
SHOWN = tuple(b"ZcCsSiI")  # types of tags in comments: text and integers
FASTQ = ("fq", "fastq", "fq.gz", "fastq.gz")


def open_writer(path: str, header: str, threads: int) -> "UnalignedWriter":
    """Open a writer by the ending of the path; SAM for stdout and other endings. Raises UsageError."""
    ending = ending_of(path, "sam", "bam", *FASTQ)
    if ending in FASTQ:
        file = EncodedFile(path, "", text=True, threads=threads if ending.endswith("gz") else 0)
        return UnalignedWriter(file, encode_fastq)
    return UnalignedWriter(EncodedFile(path, header, threads=threads), encode_bam)


class UnalignedWriter(Writer):
    """A writer of reads in one of these formats."""

    def __init__(self, file: EncodedFile, encode: Callable[[ReadBatch], Encoded]) -> None:
        self._file, self._encode = file, encode

    def write(self, reads: ReadBatch) -> None:
        self._file.write(self._encode(reads))

    def complete(self) -> None:
        self._file.complete()

    def abort(self) -> None:
        self._file.abort()


def encode_bam(reads: ReadBatch) -> Encoded:
    """Encode records without an alignment. The tags have the read group."""
    return _encode(reads, measure_bam, fill_bam)


def encode_fastq(reads: ReadBatch) -> Encoded:
    """Encode records whose comments hold text and integer tags, like `samtools fastq -T`."""
    return _encode(reads, measure_fastq, fill_fastq)


def _encode(reads: ReadBatch, measure: Callable[..., None], fill: Callable[..., None]) -> Encoded:
    sizes = np.empty(len(reads), np.int64)
    measure(reads, sizes)
    offsets = offsets_of(sizes)
    data = np.empty(offsets[-1], np.uint8)
    fill(reads, offsets, data)
    return Encoded(data, offsets)


@kernel
def measure_bam(reads, sizes):
    """Write the bytes of each record to sizes (int64 [reads])."""
    for i in range(sizes.size):
        length = reads.read_offsets[i + 1] - reads.read_offsets[i]
        name = reads.name_offsets[i + 1] - reads.name_offsets[i]
        tags = reads.tag_offsets[i + 1] - reads.tag_offsets[i]
        sizes[i] = layout.NAME + name + 1 + (length + 1) // 2 + length + tags


@kernel
def fill_bam(reads, offsets, out):
    """Write the records to out (uint8)."""
    for i in range(offsets.size - 1):
        at = offsets[i]
        first, stop = reads.read_offsets[i], reads.read_offsets[i + 1]
        out[at : at + layout.NAME] = 0
        put_bytes(offsets[i + 1] - at - 4, 4, out, at)
        for where in (layout.CONTIG, layout.POSITION, layout.MATE_CONTIG, layout.MATE_POSITION):
            put_bytes(-1, 4, out, at + where)
        name = reads.name_offsets[i + 1] - reads.name_offsets[i]
        out[at + layout.NAME_LENGTH] = name + 1
        put_bytes(UNPLACED, 2, out, at + BIN)
        put_bytes(FLAGS[reads.segment[i]], 2, out, at + layout.FLAG)
        put_bytes(stop - first, 4, out, at + layout.LENGTH)
        at = put_copy(reads.names, reads.name_offsets[i], reads.name_offsets[i + 1], out, at + layout.NAME)
        out[at] = 0
        at += 1
        for j in range(first, stop, 2):
            low = NIBBLES[reads.bases[j + 1]] if j + 1 < stop else 0
            out[at] = NIBBLES[reads.bases[j]] << 4 | low
            at += 1
        at = put_copy(reads.qualities, first, stop, out, at)
        put_copy(reads.tags, reads.tag_offsets[i], reads.tag_offsets[i + 1], out, at)


@scalar
def is_shown(tags, at, kind):
    """Return whether a comment has the tag at `at`; not its read group, since FASTQ has no header."""
    return kind in SHOWN and not (tags[at] == R and tags[at + 1] == G)


@kernel
def measure_fastq(reads, sizes):
    """Write the bytes of each record to sizes (int64 [reads])."""
    numbers = np.empty(DIGITS, np.uint8)
    for i in range(sizes.size):
        length = reads.read_offsets[i + 1] - reads.read_offsets[i]
        size = reads.name_offsets[i + 1] - reads.name_offsets[i] + 2 * length + 6 + (2 if reads.segment[i] else 0)
        at, stop = reads.tag_offsets[i], reads.tag_offsets[i + 1]
        while at < stop:
            end, kind = layout.field_stop(reads.tags, at, stop), reads.tags[at + 2]
            if is_shown(reads.tags, at, kind):
                number = layout.get_number(reads.tags, at + 3, kind) if kind != layout.TEXT else 0
                size += 6 + (end - at - 4 if kind == layout.TEXT else put_number(number, numbers, 0))
            at = end
        sizes[i] = size


@kernel
def fill_fastq(reads, offsets, out):
    """Write the records to out (uint8)."""
    for i in range(offsets.size - 1):
        first, last = reads.read_offsets[i], reads.read_offsets[i + 1]
        out[offsets[i]] = AT
        at = put_copy(reads.names, reads.name_offsets[i], reads.name_offsets[i + 1], out, offsets[i] + 1)
        if reads.segment[i]:
            out[at], out[at + 1] = SLASH, ONE + reads.segment[i] - 1
            at += 2
        field, stop = reads.tag_offsets[i], reads.tag_offsets[i + 1]
        while field < stop:
            end, kind = layout.field_stop(reads.tags, field, stop), reads.tags[field + 2]
            if is_shown(reads.tags, field, kind):
                out[at], out[at + 3] = TAB, COLON
                out[at + 1], out[at + 2] = reads.tags[field], reads.tags[field + 1]
                out[at + 4], out[at + 5] = kind if kind == layout.TEXT else layout.INTEGER, COLON
                if kind == layout.TEXT:
                    at = put_copy(reads.tags, field + 3, end - 1, out, at + 6)
                else:
                    at = put_number(layout.get_number(reads.tags, field + 3, kind), out, at + 6)
            field = end
        out[at] = NEWLINE
        at += 1
        for j in range(first, last):
            out[at + j - first] = letter_of(reads.bases[j])
        at += last - first
        out[at], out[at + 1] = NEWLINE, PLUS
        out[at + 2] = NEWLINE
        at += 3
        for j in range(first, last):
            out[at + j - first] = reads.qualities[j] + PHRED33
        out[at + last - first] = NEWLINE
