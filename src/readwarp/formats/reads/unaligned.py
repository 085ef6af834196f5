"""Unaligned reads out, by the name's ending: BAM, SAM, or FASTQ.

FASTQ has mates side by side, and text and integer tags in the comment.
"""

from collections.abc import Callable

import numpy as np

from readwarp.compiler.jit import scalar
from readwarp.device.rows import ragged_rows
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.output import EncodedFile
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.alignments.sam import Encoder, put_bases, put_qualities
from readwarp.formats.alignments.tag_text import FACTOR
from readwarp.formats.common.files import ending_of
from readwarp.formats.common.output_file import Writer
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.text import put_copy, put_number
from readwarp.ragged import empty, replace
from readwarp.rules.flags import FIRST, LAST, MATE_UNMAPPED, PAIRED, UNMAPPED

FLAGS = np.array([UNMAPPED, *(UNMAPPED | PAIRED | MATE_UNMAPPED | segment for segment in (FIRST, LAST))], np.uint16)
PHRED33 = np.uint8(33)
AT, PLUS, NEWLINE, TAB, COLON, SLASH, ONE = b"@+\n\t:/1"
G, R = b"GR"
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
    n, nowhere = len(reads), np.full(len(reads), -1, np.int32)
    rows = empty(
        AlignmentBatch,
        {"operations": 0, "tag bytes": 0},
        np.zeros,
        read=np.arange(n, dtype=np.int32),
        flag=FLAGS[reads.segment],
        contig=nowhere,
        position=nowhere.astype(np.int64),
        mate_contig=nowhere,
        mate_position=nowhere.astype(np.int64),
        has_bases=np.ones(n, np.uint8),
    )
    return Encoder(()).encode(replace(reads, read_group=nowhere), rows)


def encode_fastq(reads: ReadBatch) -> Encoded:
    """Encode records whose comments hold text and integer tags, like `samtools fastq -T`."""
    return put_fastq(len(reads), reads)


@scalar
def is_shown(tags, at, kind):
    """Return whether a comment has the tag at `at`; not its read group, since FASTQ has no header."""
    return kind in SHOWN and not (tags[at] == R and tags[at + 1] == G)


@scalar
def room_of_fastq(i, reads):
    """Return the maximum bytes of a record."""
    name, length = reads.name_offsets[i + 1] - reads.name_offsets[i], reads.read_offsets[i + 1] - reads.read_offsets[i]
    return name + 2 * length + 8 + FACTOR * (reads.tag_offsets[i + 1] - reads.tag_offsets[i])


@ragged_rows(Encoded, room_of_fastq)
def put_fastq(i, at, reads, encoded):
    """Put a record."""
    out = encoded.data
    first, last = reads.read_offsets[i], reads.read_offsets[i + 1]
    out[at] = AT
    at = put_copy(reads.names, reads.name_offsets[i], reads.name_offsets[i + 1], out, at + 1)
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
    at = put_bases(reads.bases, first, last, False, out, at + 1)
    out[at], out[at + 1] = NEWLINE, PLUS
    out[at + 2] = NEWLINE
    at = put_qualities(reads.qualities, first, last, False, PHRED33, out, at + 3)
    out[at] = NEWLINE
    return at + 1
