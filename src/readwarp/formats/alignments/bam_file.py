"""An open BAM file: its header, and its decompressed bytes from any virtual offset on."""

import os
from collections.abc import Iterator
from typing import Annotated, BinaryIO, NamedTuple

import numpy as np
from isal import igzip
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.alignments.header import BamHeader, parse_header
from readwarp.formats.common.bgzf import blocks_of
from readwarp.formats.common.compressed import BROKEN
from readwarp.formats.common.index import place_after

CHUNK, FIRST_CHUNK = 1 << 18, 1 << 16  # compressed bytes read at a time; the first ones of a region are fewer
LARGE_CHUNK, MAX_BLOCK = 1 << 20, 1 << 16  # bytes read at a time where the end is known; of a block


class NoBlockError(InputError):
    """A virtual offset points to where no block begins, or beyond its end."""


class Piece(NamedTuple):
    """Decompressed bytes, and the blocks they are of."""

    data: bytes
    begins: Annotated[ndarray, "int64 [blocks] of data"]  # of each block; of the first one it may be negative
    places: Annotated[ndarray, "int64 [blocks] of the file"]

    def offset_of(self, at: ndarray | int) -> ndarray:
        """Virtual offsets (int64) of bytes of the data."""
        block = np.searchsorted(self.begins, at, side="right") - 1
        offsets: ndarray = self.places[block] << 16 | (at - self.begins[block])
        return offsets

    def following(self, carry: "Piece") -> "Piece":
        """The bytes of `carry`, then these."""
        begins, places = self.begins + len(carry.data), self.places
        return Piece(
            carry.data + self.data, np.concatenate((carry.begins, begins)), np.concatenate((carry.places, places))
        )

    def after(self, at: int) -> "Piece":
        """The bytes from `at` on."""
        block = max(0, int(np.searchsorted(self.begins, at, side="right")) - 1)
        return Piece(self.data[at:], self.begins[block:] - at, self.places[block:])


NOTHING = Piece(b"", np.zeros(0, np.int64), np.zeros(0, np.int64))


class BamFile:
    """`first` is the virtual offset of the first record. Any thread may read."""

    def __init__(self, file: BinaryIO, path: object):
        """`file` stays the caller's to close; `path` is its name in errors. Raises InputError."""
        self._file, self.path = file, path
        self.header, self.first = self._read_header()

    @property
    def size(self) -> int:
        """Compressed bytes."""
        return os.fstat(self._file.fileno()).st_size

    def _read_header(self) -> tuple[BamHeader, int]:
        pieces, data = self.pieces(0), b""
        while more := _next_bytes(pieces, len(data)):  # as many again, so that a long header takes few attempts
            data += more
            if found := parse_header(data, self.path):
                return found[1], place_after(self._file, found[0])
        raise InputError(self.path, "truncated: ends within its header")

    def pieces(self, offset: int, until: int = 0) -> Iterator[Piece]:
        """The bytes from a virtual offset on; those before the offset `until` in large pieces.

        Raises InputError, first of all NoBlockError.
        """
        place, skip, chunk, end = offset >> 16, offset & 0xFFFF, FIRST_CHUNK, (until >> 16) + MAX_BLOCK
        while compressed := os.pread(self._file.fileno(), max(chunk, min(end - place, LARGE_CHUNK)), place):
            places, sizes = blocks_of(compressed)
            if not sizes or skip > sizes[0]:
                kind = NoBlockError if place == offset >> 16 else InputError
                raise kind(self.path, f"truncated or not BGZF at byte {place}")
            try:
                data = igzip.decompress(compressed[: places[-1]])
            except BROKEN as error:
                raise InputError(self.path, f"damaged block at or after byte {place} ({error})") from error
            if len(data) != sum(sizes):
                raise InputError(self.path, f"damaged block at or after byte {place} (its size differs)")
            begins = np.cumsum(sizes) - sizes - skip
            yield Piece(data[skip:], begins, place + np.array(places[:-1]))
            place, skip, chunk = place + places[-1], 0, FIRST_CHUNK if place < end else min(2 * chunk, CHUNK)


def _next_bytes(pieces: Iterator[Piece], size: int) -> bytes:
    """More than so many bytes; fewer at the end of the file."""
    parts, got = list[bytes](), 0
    for piece in pieces:
        parts.append(piece.data)
        got += len(piece.data)
        if got > size:
            break
    return b"".join(parts)
