"""Bytes of an input file or pipe, plain or gzip (of any number of members, so bgzip too)."""

import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
        """Fill `buffer` (uint8), or as much of it as the file has -> bytes. Raises InputError for a damaged file."""
        with reading(self.path):
            return fill(self._stream, buffer)

    def close(self) -> None:
        if self._stream is not self.raw:
            self._stream.close()
        if self.raw is not sys.stdin.buffer:
            self.raw.close()


def fill(stream: Any, buffer: np.ndarray) -> int:
    """Fill `buffer` (uint8), or as much of it as the stream has -> bytes."""
    view, filled = memoryview(buffer), 0
    while filled < len(view) and (got := stream.readinto(view[filled:])):
        filled += got
    return filled


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Turns errors of the system and of decompressors into InputError, with a reason that a user can act on."""
    try:
        yield
    except BROKEN as error:
        if isinstance(error, EOFError):
            reason = "truncated: the compressed data end before their end marker"
        elif isinstance(error, OSError) and not isinstance(error, BadGzipFile):
            reason = f"cannot be read ({error.strerror or error})"
        else:
            reason = f"corrupt compressed data ({error})"
        raise InputError(path, reason) from error


def kind_of(path: str) -> str:
    """fastq, fasta, bam, cram or empty, by the first bytes; they stay in stdin to be read again. Raises InputError."""
    raw, kind = _open(path)
    if path != "-":
        raw.close()
    return kind


def _open(path: str, pipe: BinaryIO | None = None) -> tuple[io.BufferedReader, str]:
    """The open file and its kind, by its first four bytes when decompressed."""
    with reading(path), ExitStack() as stack:
        raw: Any = pipe or (sys.stdin.buffer if path == "-" else open(path, "rb", buffering=1 << 20))  # noqa: SIM115
        if path != "-":
            stack.enter_context(raw)
        head = raw.peek(4096)
        if head[:2] == GZIP_MAGIC:
            head = isal_zlib.decompressobj(31).decompress(head, 4) or b"\n"  # reading shows whether it is empty
        kind = _kind(path, head[:4])
        stack.pop_all()
        return raw, kind


def _kind(path: str, head: bytes) -> str:
    if head in (b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t"):
        raise InputError(path, "is SAM: convert it to BAM (`samtools view -b`) or FASTQ")
    kinds = {b"": "empty", b"@": "fastq", b">": "fasta", b"BAM\x01": "bam", b"CRAM": "cram"}
    kind = kinds.get(head) or kinds.get(head[:1])
    if kind is None and head.strip():
        raise InputError(path, "not FASTQ, FASTA, BAM or CRAM", 1)
    return kind or "fastq"  # only blank lines, or the reader reports what follows them
