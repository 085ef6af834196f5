"""Bases of contigs, unpacked where they are asked for, and windows of the reference."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.index.reference import Reference
from readwarp.rules.bases import CODES, LETTERS, OUTSIDE, unpack


class Bases:
    """Bases 0-4 of one contig."""

    def __init__(self, reference: Reference, contig: int):
        self._packed, (self._offset, end) = reference.packed, reference.contig_offsets[contig : contig + 2].tolist()
        self.length, self.name = end - self._offset, reference.names[contig]

    @property
    def parts(self) -> "list[tuple[Bases, int]]":
        """Return the contigs that lie here, each with the position of its first base."""
        return [(self, 0)]

    def array(self, start: int, stop: int) -> ndarray:
        """Return the bases of [start, stop) (uint8 [stop - start])."""
        out = np.empty(stop - start, np.uint8)
        unpack(self._packed, self._offset + start, self._offset + stop, out)
        return out

    def letters(self, start: int, stop: int) -> str:
        return str(LETTERS[self.array(start, stop)].tobytes(), "ascii")

    def between(self, start: int, stop: int) -> bytes:
        return self.array(start, stop).tobytes()


def encode(text: str) -> bytes:
    """Encode letters as bases 0-4."""
    return CODES[np.frombuffer(text.encode(), np.uint8)].tobytes()


class Window(NamedTuple):
    """A stretch of one contig, with enough of the reference around it to compare reads with.

    Several small contigs may lie on one axis, as if they were one (`readwarp.call.places.strips`), with OUTSIDE between
    them.
    """

    contig: int
    start: int  # 0-based in the contig
    stop: int
    bases: Annotated[ndarray, "uint8 [bases]"]  # of the reference, 0-4
    first: int  # position of the first of these bases, 0-based in the contig

    def trim(self) -> "Window":
        """Return the window without the reference around it."""
        bases = self.bases[self.start - self.first : self.stop - self.first]
        return Window(self.contig, self.start, self.stop, bases, self.start)


def contigs_around(window: Window, position: ndarray) -> tuple[ndarray, ndarray]:
    """Return where the contigs of these positions begin and end, within the window's bases (int64 [n] each)."""
    outside = np.flatnonzero(window.bases == OUTSIDE) + window.first
    bounds = np.concatenate(([window.first - 1], outside, [window.first + window.bases.size]))
    after = np.searchsorted(outside, position, side="right")
    return bounds[after] + 1, bounds[after + 1]
