"""Bytes of an input file or pipe, plain or compressed (`compressed`)."""

import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

import numpy as np

from readwarp.errors import InputError
from readwarp.formats.common.bgzf_stream import BgzfStream
from readwarp.formats.common.compressed import decompress, explain_damage, is_bgzf, is_damage

HEAD = 1 << 16  # bytes that may be peeked at
SAM = "is SAM: convert it to BAM (`samtools view -b`) or FASTQ"
WEB_PAGE = "is a web page: the download went wrong"
OTHER_FILES = {  # first bytes of files mistaken for reads -> what it is, and what to do
    **dict.fromkeys((b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t"), SAM),
    **dict.fromkeys((b"<!DO", b"<!do", b"<htm", b"<HTM"), WEB_PAGE),
    b"##fi": "is VCF, not reads",
    b"BCF\x02": "is BCF, not reads",
    b"PK\x03\x04": "is a ZIP archive: unpack it first",
    b"NCBI": "is an SRA archive: unpack it with `fasterq-dump`",
    b"\xef\xbb\xbf": "begins with a byte order mark: save it as plain text without one",
    b"\xff\xfe": "is UTF-16 text: save it as plain text (ASCII)",
}


class Source:
    """A file open for reading: its kind, and its decompressed bytes."""

    def __init__(self, path: str, pipe: BinaryIO | None = None, threads: int = 1):
        """Open `path` ("-": stdin) or a pipe. Raises InputError if it cannot be read or holds no reads.

        threads: decompress BGZF; other gzip has one.
        """
        self.path = path
        self.raw, self._stream, self.kind = _open(path, pipe, threads)

    def read_into(self, buffer: np.ndarray) -> int:
        """Fill `buffer` (uint8), or as much of it as the file has; return the bytes. Raises InputError for damage."""
        with reading(self.path):
            return fill(self._stream, buffer)

    def close(self) -> None:
        if self._stream is not self.raw:
            self._stream.close()
        if self.raw is not getattr(sys.stdin, "buffer", None):
            self.raw.close()


def fill(stream: Any, buffer: np.ndarray) -> int:
    """Fill `buffer` (uint8), or as much of it as the stream has; return the bytes."""
    view, filled = memoryview(buffer), 0
    while filled < len(view) and (got := stream.readinto(view[filled:])):
        filled += got
    return filled


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Turn errors of the system and of decompressors into InputError, with a reason that a user can act on."""
    try:
        yield
    except Exception as error:
        if not is_damage(error):
            raise
        raise InputError(path, explain_damage(error)) from error


def kind_of(path: str) -> str:
    """Return fastq, fasta, bam, cram or empty, by the first bytes of a file. Raises InputError."""
    raw, stream, kind = _open(path)
    stream.close()
    raw.close()
    return kind


def _open(path: str, pipe: BinaryIO | None = None, threads: int = 1) -> tuple[Any, Any, str]:
    """Open a file; return it, its decompressed bytes, and its kind by their first four."""
    with reading(path), ExitStack() as stack:
        raw: Any = pipe or (sys.stdin.buffer if path == "-" else open(path, "rb", buffering=1 << 20))  # noqa: SIM115
        if path != "-":
            stack.enter_context(raw)
        is_blocked = is_bgzf(raw.peek(18)[:18])
        decompressed: Any = io.BufferedReader(BgzfStream(raw, threads), HEAD) if is_blocked else decompress(raw)
        if decompressed is not raw:
            stack.enter_context(decompressed)
        kind = _kind(path, decompressed.peek(4)[:4])
        stack.pop_all()
        return raw, decompressed, kind


def _kind(path: str, head: bytes) -> str:
    for start, reason in OTHER_FILES.items():
        if head.startswith(start):
            raise InputError(path, reason)
    kinds = {b"": "empty", b"@": "fastq", b">": "fasta", b"BAM\x01": "bam", b"CRAM": "cram"}
    kind = kinds.get(head) or kinds.get(head[:1])
    if kind is None and head.strip():
        raise InputError(path, "not FASTQ, FASTA, BAM or CRAM", 1)
    return kind or "fastq"  # only blank lines, or the reader reports the rest
