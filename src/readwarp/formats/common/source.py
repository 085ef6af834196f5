"""Bytes of an input file or pipe, plain or gzip (of any number of members, so bgzip too)."""

import io
import sys
import zlib
from gzip import BadGzipFile
from typing import Any, BinaryIO, cast

import numpy as np
from isal import igzip_threaded, isal_zlib

from readwarp.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
BROKEN: tuple[Any, ...] = (EOFError, OSError, zlib.error, isal_zlib.error)


class Source:
    """A file open for reading: its kind, and its decompressed bytes."""

    def __init__(self, path: str, pipe: BinaryIO | None = None):
        """Open `path` ("-": stdin) or a pipe. Raises InputError where it cannot be read or holds no reads."""
        self.path = path
        self.raw, self.kind = _open(path, pipe)
        self._stream: BinaryIO = self.raw
        if self.raw.peek(2)[:2] == GZIP_MAGIC:
            self._stream = cast(BinaryIO, igzip_threaded.open(self.raw, "rb"))

    def read_into(self, buffer: np.ndarray) -> int:
        """Fill `buffer` (uint8) as far as the file goes -> bytes filled. Raises InputError if the file is damaged."""
        try:
            return fill(self._stream, buffer)
        except BROKEN as error:
            raise broken(self.path, error) from error

    def close(self) -> None:
        if self._stream is not self.raw:
            self._stream.close()
        if self.raw is not sys.stdin.buffer:
            self.raw.close()


def fill(stream: Any, buffer: np.ndarray) -> int:
    """Fill `buffer` (uint8) as far as the stream goes -> bytes filled."""
    view, filled = memoryview(buffer), 0
    while filled < len(view) and (got := stream.readinto(view[filled:])):
        filled += got
    return filled


def broken(path: object, error: Exception) -> InputError:
    """The error of a decompressor or of the system as a reason that a user can act on."""
    if isinstance(error, EOFError):
        return InputError(path, "truncated: the compressed data end before their end marker")
    if isinstance(error, OSError) and not isinstance(error, BadGzipFile):
        return InputError(path, f"cannot be read ({error.strerror or error})")
    return InputError(path, f"corrupt compressed data ({error})")


def kind_of(path: str) -> str:
    """fastq, fasta, bam, cram or empty, by the first bytes, which stdin keeps for its reader. Raises InputError."""
    raw, kind = _open(path)
    if path != "-":
        raw.close()
    return kind


def _open(path: str, pipe: BinaryIO | None = None) -> tuple[io.BufferedReader, str]:
    """The open file and its kind, by its first four bytes when decompressed."""
    raw: Any = None
    try:
        raw = pipe or (sys.stdin.buffer if path == "-" else open(path, "rb", buffering=1 << 20))  # noqa: SIM115
        head = raw.peek(4096)
        if head[:2] == GZIP_MAGIC:
            head = isal_zlib.decompressobj(31).decompress(head, 4) or b"\n"  # reading shows whether it is empty
        return raw, _kind(path, head[:4])
    except BaseException as error:
        if raw and path != "-":
            raw.close()
        raise broken(path, error) if isinstance(error, BROKEN) else error from None


def _kind(path: str, head: bytes) -> str:
    if head in (b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t"):
        raise InputError(path, "is SAM: convert it to BAM (`samtools view -b`) or FASTQ")
    kinds = {b"": "empty", b"@": "fastq", b">": "fasta"}
    if head[:1] in kinds:
        return kinds[head[:1]]
    if head in (b"BAM\x01", b"CRAM"):
        return "bam" if head[:3] == b"BAM" else "cram"
    if not head.strip():
        return "fastq"  # only blank lines, or the reader reports what follows them
    raise InputError(path, "not FASTQ, FASTA, BAM or CRAM", 1)
