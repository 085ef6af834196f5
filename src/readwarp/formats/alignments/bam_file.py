"""An open BAM file: its header, and its decompressed bytes from any virtual offset."""

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, BinaryIO, NamedTuple

import numpy as np
from isal import isal_zlib
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.alignments.header import BamHeader, parse_header
from readwarp.formats.common.bgzf import blocks_of, decompress_into
from readwarp.formats.common.compressed import BROKEN
from readwarp.formats.common.index import place_after

CHUNK, FIRST_CHUNK = 1 << 18, 1 << 16  # compressed bytes read at a time; fewer at the start of a region
LARGE_CHUNK, MAX_BLOCK = 1 << 20, 1 << 16  # bytes read at a time if the end is known; bytes of a block
GZIP = 31  # zlib's windowBits for a gzip member with header and checksum


class NoBlockError(InputError):
    """A virtual offset at which no block begins, or beyond the block's end."""


class BamPiece(NamedTuple):
    """Decompressed bytes, and their blocks."""

    data: Annotated[ndarray, "uint8 [bytes]"]
    begins: Annotated[ndarray, "int64 [blocks] of data"]  # of each block; the first may be negative
    places: Annotated[ndarray, "int64 [blocks] of the file"]

    def offset_of(self, at: ndarray | int) -> ndarray:
        """Return virtual offsets (int64) of bytes of the data."""
        block = np.searchsorted(self.begins, at, side="right") - 1
        offsets: ndarray = self.places[block] << 16 | (at - self.begins[block])
        return offsets

    def after(self, at: int) -> "BamPiece":
        """Return the bytes from `at` on."""
        block = max(0, int(np.searchsorted(self.begins, at, side="right")) - 1)
        return BamPiece(self.data[at:], self.begins[block:] - at, self.places[block:])


class PieceReader:
    """The bytes of a BAM file from a virtual offset on, piece by piece, in reused memory."""

    def __init__(self, file: BinaryIO, path: object, offset: int, until: int = 0):
        """Read from `offset`, in large pieces before the virtual offset `until`."""
        self._file, self._path = file, path
        self._offset, self._until = offset, (until >> 16) + MAX_BLOCK
        self._place, self._skip = offset >> 16, offset & 0xFFFF
        self._chunk = FIRST_CHUNK
        self._compressed, self._buffer = np.empty((2, 0), np.uint8)
        self._piece = BamPiece(self._buffer, *np.zeros((2, 0), np.int64))

    def next(self, rest: int = 0) -> BamPiece | None:
        """Return the rest of the last piece, from `rest` on, and the bytes that follow; None at the end of the file.

        The last piece is overwritten. Raises InputError, for the first piece NoBlockError.
        """
        place, size = self._place, max(self._chunk, min(self._until - self._place, LARGE_CHUNK))
        if size > self._compressed.size:
            self._compressed = np.empty(size, np.uint8)
        got = os.preadv(self._file.fileno(), [self._compressed[:size]], place)
        if not got:
            return None
        compressed = self._compressed[:got].data
        places, sizes = blocks_of(compressed)
        if not sizes or self._skip > sizes[0]:
            kind = NoBlockError if place == self._offset >> 16 else InputError
            raise kind(self._path, f"truncated or not BGZF at byte {place}")
        kept = self._piece.after(rest)
        begins = kept.data.size + np.cumsum([0, *sizes])
        if begins[-1] > self._buffer.size:
            self._buffer = np.empty(begins[-1] * 5 // 4, np.uint8)  # the next pieces may be a little larger
        self._buffer[: kept.data.size] = kept.data
        try:
            decompress_into(compressed[: places[-1]], memoryview(self._buffer[begins[0] : begins[-1]]))
        except BROKEN:
            self._check_blocks(compressed, places, sizes)
            raise
        self._piece = BamPiece(
            self._buffer[self._skip : begins[-1]],
            np.concatenate((kept.begins, begins[:-1] - self._skip)),
            np.concatenate((kept.places, place + np.array(places[:-1]))),
        )
        self._place, self._skip = place + places[-1], 0
        self._chunk = FIRST_CHUNK if self._place < self._until else min(2 * self._chunk, CHUNK)
        return self._piece

    def _check_blocks(self, compressed: memoryview, places: list[int], sizes: list[int]) -> None:
        """Raise InputError naming the damaged block."""
        for (begin, stop), size in zip(pairwise(places), sizes, strict=True):
            try:
                data = isal_zlib.decompress(compressed[begin:stop], GZIP, max(1, size))
            except BROKEN as error:
                raise InputError(self._path, f"damaged block at byte {self._place + begin} ({error})") from error
            if len(data) != size:
                raise InputError(self._path, f"damaged block at byte {self._place + begin} (its size differs)")


class BamFile:
    """A BAM file, open for reading from any thread; `first` is the virtual offset of the first record."""

    def __init__(self, file: BinaryIO, path: object):
        """Read the header. The caller closes `file`; `path` names it in errors. Raises InputError."""
        self._file, self.path = file, path
        self.header, self.first = self._read_header()

    @property
    def size(self) -> int:
        """Compressed bytes."""
        return os.fstat(self._file.fileno()).st_size

    def _read_header(self) -> tuple[BamHeader, int]:
        pieces, data = self.pieces(0), b""
        while more := next_bytes(pieces, len(data)):  # doubles, so that long headers take few tries
            data += more
            if found := parse_header(data, self.path):
                return found[1], place_after(self._file, found[0])
        raise InputError(self.path, "truncated: ends within its header")

    def read_from(self, offset: int, until: int = 0) -> PieceReader:
        return PieceReader(self._file, self.path, offset, until)

    def pieces(self, offset: int) -> Iterator[bytes]:
        """Yield the bytes from a virtual offset on. Raises InputError, for the first piece NoBlockError."""
        reader = self.read_from(offset)
        piece = reader.next()
        while piece:
            yield piece.data.tobytes()
            piece = reader.next(piece.data.size)


def next_bytes(pieces: Iterator[bytes], size: int) -> bytes:
    """Return more than `size` bytes; fewer at the end of the file."""
    parts, got = list[bytes](), 0
    for piece in pieces:
        parts.append(piece)
        got += len(piece)
        if got > size:
            break
    return b"".join(parts)
