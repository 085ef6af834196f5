"""Bytes of an input file, whatever wraps them: plain, gzip (any number of members, so bgzip too), or a pipe."""

import io
import sys
import zlib
from typing import Any, BinaryIO, cast

import numpy as np
from isal import igzip_threaded, isal_zlib

from readwarp.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
BROKEN: tuple[Any, ...] = (EOFError, OSError, zlib.error, isal_zlib.error)


class Source:
    """A file opened for reading: what kind it is, and its decompressed bytes into a buffer."""

    def __init__(self, path: str, pipe: BinaryIO | None = None):
        """Open `path` ("-": stdin) or a pipe. Raises InputError for what cannot be read or holds no reads."""
        self.path = path
        self.raw, self.kind = _opened(path, pipe)
        self._stream: BinaryIO = self.raw
        if self.raw.peek(2)[:2] == GZIP_MAGIC:
            self._stream = cast(BinaryIO, igzip_threaded.open(self.raw, "rb"))

    def read_into(self, buffer: np.ndarray) -> int:
        """Fill uint8 `buffer` as far as the file goes; how many bytes that was. Raises InputError when it is broken."""
        view, filled = memoryview(buffer), 0
        try:
            while filled < len(view):
                got = self._stream.readinto(view[filled:])  # type: ignore[attr-defined]
                if not got:
                    break
                filled += got
        except BROKEN as error:
            raise broken(self.path, error) from error
        return filled

    def close(self) -> None:
        if self._stream is not self.raw:
            self._stream.close()
        if self.raw is not sys.stdin.buffer:
            self.raw.close()


def broken(path: str, error: Exception) -> InputError:
    """The reason a user can act on, for what a decompressor or the system says."""
    if isinstance(error, EOFError):
        return InputError(path, "truncated: the compressed data end before their end marker")
    if isinstance(error, OSError) and error.errno is not None:
        return InputError(path, f"cannot be read ({error.strerror})")
    return InputError(path, f"corrupt compressed data ({error})")


def kind_of(path: str) -> str:
    """fastq, fasta, bam, cram or empty, by the first bytes; stdin keeps them for who reads it. Raises InputError."""
    raw, kind = _opened(path)
    if path != "-":
        raw.close()
    return kind


def _opened(path: str, pipe: BinaryIO | None = None) -> tuple[io.BufferedReader, str]:
    """The open file and its kind, told by its first four bytes, decompressed."""
    raw: Any = None
    try:
        raw = pipe or (sys.stdin.buffer if path == "-" else open(path, "rb", buffering=1 << 20))  # noqa: SIM115
        head = raw.peek(4096)
        if head[:2] == GZIP_MAGIC:
            head = isal_zlib.decompressobj(31).decompress(head, 4) or b"\n"  # whether it is empty shows when it is read
        return raw, _kind(path, head[:4])
    except BaseException as error:
        if raw and path != "-":
            raw.close()
        raise broken(path, error) if isinstance(error, BROKEN) else error from None


def _kind(path: str, head: bytes) -> str:
    if head in (b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t"):
        raise InputError(path, "is SAM: make it BAM (`samtools view -b`) or FASTQ")
    kinds = {b"": "empty", b"@": "fastq", b">": "fasta"}
    if head[:1] in kinds:
        return kinds[head[:1]]
    if head in (b"BAM\x01", b"CRAM"):
        return "bam" if head[:3] == b"BAM" else "cram"
    if not head.strip():
        return "fastq"  # nothing but blank lines, or the reader says what follows them
    raise InputError(path, "not FASTQ, FASTA, BAM or CRAM", 1)
