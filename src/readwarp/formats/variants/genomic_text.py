"""The text of a VCF in whole lines: plain, BGZF, or compressed otherwise.

For a BGZF file only the place of the next block is kept, so it can be closed between two reads, and jumps are free.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from isal import isal_zlib

from readwarp.errors import InputError
from readwarp.formats.common.bgzf import EOF_BLOCK, blocks_of, tail_of
from readwarp.formats.common.compressed import TRUNCATED, decompress, is_bgzf
from readwarp.formats.common.source import reading

MAX_LINE = 1 << 28  # bytes
NEWLINE = 10
ENOUGH = 1 << 12  # bytes of a line that show its contig and position
COMPRESSED = 1 << 15  # bytes of a BGZF file read at a time


class LineText:
    """A forward reader of a file. stays_open: otherwise a BGZF file is opened for each read."""

    def __init__(self, path: Path, stays_open: bool):
        """Open the file. Raises InputError if it cannot be read, or was cut off."""
        self._path = path
        self._place, self._rest = 0, b""
        self.header_size = 0  # bytes, once it has been read
        with reading(path):
            self._raw: BinaryIO | None = path.open("rb")
            try:
                self.is_bgzf = is_bgzf(self._raw.read(18))
                if self.is_bgzf and tail_of(self._raw) != EOF_BLOCK:
                    raise InputError(path, TRUNCATED)
                self._raw.seek(0)
            except BaseException:
                self.close()
                raise
        self._stream: Any = self._raw if self.is_bgzf else decompress(self._raw)
        if self.is_bgzf and not stays_open:
            self.close()

    def close(self) -> None:
        if self._raw is not None:
            self._raw.close()
            self._raw = None

    def begin(self, size: int) -> bytes:
        """Return the first bytes without consuming them."""
        while len(self._rest) < size and (more := self._more(size)):
            self._rest += more
        return self._rest[:size]

    def header(self) -> list[str]:
        """Read the lines that begin with #."""
        out = []
        while self.begin(1) == b"#":
            while b"\n" not in self._rest and (more := self._more(max(COMPRESSED, len(self._rest)))):
                self._rest += more
                self._check_line(len(self._rest))
            lines = self._rest.split(b"\n")
            number = next((i for i, line in enumerate(lines[:-1]) if line[:1] != b"#"), len(lines) - 1)
            number = max(1, number)  # the file's last line may be unterminated
            out += [line.decode(errors="replace").rstrip("\r") for line in lines[:number]]
            self.header_size += len(self._rest)
            self._rest = b"\n".join(lines[number:])
            self.header_size -= len(self._rest)
        return out

    def _check_line(self, size: int) -> None:
        if size > MAX_LINE:
            raise InputError(self._path, f"a line is longer than {MAX_LINE >> 20} MiB")

    def lines(self, size: int) -> bytes:
        """Return whole lines of about `size` bytes; nothing at the end of the file."""
        parts, length = [self._rest], len(self._rest)
        while length < size or b"\n" not in parts[-1]:
            more = self._more(size)
            if not more:
                self._rest = b""
                return b"".join(parts)
            parts.append(more)
            length += len(more)
            self._check_line(length - size)
        text = b"".join(parts)
        stop = text.rindex(b"\n") + 1
        self._rest = text[stop:]
        return text[:stop]

    def is_before(self, offset: int) -> bool:
        """Return whether the block of a virtual offset of a BGZF file has not been read yet."""
        return self._place < offset >> 16

    def line_at(self, offset: int, first: int, is_exact: bool) -> bytes:
        """Continue at a virtual offset of a BGZF file; return the first line there, or its beginning.

        Unless `is_exact`, some lines before it come first: those that begin in the same block.
        first: virtual offset of the first line after the header. Raises ValueError if no line begins at the offset.
        """
        self._place, self._rest = offset >> 16, b""
        data, inner = self._more(1), offset & 0xFFFF
        if offset < first or inner >= len(data) or (inner and data[inner - 1] != NEWLINE):
            raise ValueError("no line begins there")
        start = first & 0xFFFF if offset >> 16 == first >> 16 else data.find(b"\n", 0, inner) + 1
        self._rest = data[inner if is_exact else start :]
        return self.begin(ENOUGH).partition(b"\n")[0]

    def _more(self, size: int) -> bytes:
        """Return the next bytes, for BGZF whole blocks with at least `size`; nothing at the end of the file."""
        with reading(self._path):
            if not self.is_bgzf:
                data: bytes = self._stream.read(size)
                return data
            if self._raw is not None:
                return self._blocks(self._raw, size)
            with self._path.open("rb") as raw:
                return self._blocks(raw, size)

    def _blocks(self, raw: BinaryIO, size: int) -> bytes:
        parts, length = list[bytes](), 0
        raw.seek(self._place)
        waiting = b""
        while length < size:
            data = raw.read(COMPRESSED)
            waiting += data
            places, _ = blocks_of(waiting)
            taken = 0
            for first, stop in pairwise(places):
                if length >= size:
                    break
                parts.append(isal_zlib.decompress(waiting[first:stop], wbits=31))
                length, taken = length + len(parts[-1]), stop
            self._place, waiting = self._place + taken, waiting[taken:]
            if not data:
                if waiting and length < size:
                    raise EOFError
                break
        return b"".join(parts)
