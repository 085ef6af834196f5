"""Bytes of an input file, whatever wraps them: plain, gzip (any number of members, so bgzip too), or a pipe."""

import sys
import zlib
from typing import BinaryIO

import numpy as np
from isal import igzip_threaded, isal_zlib

from readwarp.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
BROKEN = (EOFError, OSError, zlib.error, isal_zlib.error)


class Source:
    """A file opened for reading: what kind it is, and its decompressed bytes into a buffer."""

    def __init__(self, path: str, raw: BinaryIO, stream: BinaryIO, kind: str):
        self.path, self.kind, self._raw, self._stream = path, kind, raw, stream

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
        if self._stream is not self._raw:
            self._stream.close()
        if self._raw is not sys.stdin.buffer:
            self._raw.close()


def broken(path: str, error: Exception) -> InputError:
    """The reason a user can act on, for what a decompressor or the system says."""
    if isinstance(error, EOFError):
        return InputError(path, "truncated: the compressed data end before their end marker")
    if isinstance(error, OSError) and error.errno is not None:
        return InputError(path, f"cannot be read ({error.strerror})")
    return InputError(path, f"corrupt compressed data ({error})")


def open_source(path: str) -> Source:
    """Open `path` ("-": stdin) and tell its kind (fastq, fasta, bam, cram or empty) by its first bytes."""
    try:
        raw = sys.stdin.buffer if path == "-" else open(path, "rb", buffering=1 << 20)
        head = raw.peek(4)[:4]  # type: ignore[attr-defined]
        if head[:2] != GZIP_MAGIC:
            return Source(path, raw, raw, _kind(path, head))
        stream = igzip_threaded.open(raw, "rb")
        return Source(path, raw, stream, _kind(path, stream.peek(4)[:4]))
    except BROKEN as error:
        raise broken(path, error) from error


def _kind(path: str, head: bytes) -> str:
    kinds = {b"": "empty", b"@": "fastq", b">": "fasta"}
    if head[:1] in kinds:
        return kinds[head[:1]]
    if head in (b"BAM\x01", b"CRAM"):
        return "bam" if head[:3] == b"BAM" else "cram"
    if not head.strip():
        return "fastq"  # nothing but blank lines, or the reader says what follows them
    raise InputError(path, "not FASTQ, FASTA, BAM or CRAM", 1)
