"""Unaligned reads out, by the name's ending: BAM, SAM, or FASTQ with mates side by side and tags in the comment."""

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from readwarp.formats.alignments.output import AlignmentWriter
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.common.files import ending_of
from readwarp.formats.common.output_file import ByteWriter, OutputFile, Writer
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.reads import unaligned_kernels as kernels
from readwarp.ragged import offsets_of

FASTQ = ("fq", "fastq", "fq.gz", "fastq.gz")


def open_writer(path: str, header: str, threads: int) -> "FastqWriter | UnalignedWriter":
    """Open a writer by the ending of the path; SAM for stdout and other endings. Raises UsageError."""
    ending = ending_of(path, "sam", "bam", *FASTQ)
    return (
        FastqWriter(path, threads if ending.endswith("gz") else 0)
        if ending in FASTQ
        else UnalignedWriter(path, header, threads)
    )


class FastqWriter(Writer):
    """A writer of FASTQ. threads: to compress; 0: plain text."""

    def __init__(self, path: str, threads: int) -> None:
        self._file = OutputFile(path)
        try:
            self._sink = ByteWriter(self._file.open(), threads, self._file.name)
        except BaseException:
            self._file.remove()
            raise

    def write(self, reads: ReadBatch) -> None:
        self._sink.write(encode_fastq(reads).data)

    def complete(self) -> None:
        self._sink.close()
        self._file.finish()

    def abort(self) -> None:
        with suppress(OSError):  # a failure from before repeats itself
            self._sink.abort()
        self._file.remove()


class UnalignedWriter(Writer):
    """A writer of BAM or SAM."""

    def __init__(self, path: str, header: str, threads: int) -> None:
        self._writer = AlignmentWriter(path, header, threads=threads, binary=True)

    def write(self, reads: ReadBatch) -> None:
        self._writer.write(encode_bam(reads))

    def complete(self) -> None:
        self._writer.complete()

    def abort(self) -> None:
        self._writer.abort()


def encode_bam(reads: ReadBatch) -> Encoded:
    """Encode records without an alignment. The tags have the read group."""
    return _encode(reads, kernels.measure_bam, kernels.fill_bam)


def encode_fastq(reads: ReadBatch) -> Encoded:
    """Encode records whose comments hold text and integer tags, like `samtools fastq -T`."""
    return _encode(reads, kernels.measure_fastq, kernels.fill_fastq)


def _encode(reads: ReadBatch, measure: Callable[..., None], fill: Callable[..., None]) -> Encoded:
    sizes = np.empty(len(reads), np.int64)
    measure(reads, sizes)
    offsets = offsets_of(sizes)
    data = np.empty(offsets[-1], np.uint8)
    fill(reads, offsets, data)
    return Encoded(data, offsets)
