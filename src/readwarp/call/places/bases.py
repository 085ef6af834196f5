"""Bases of one contig of the reference, unpacked where they are asked for."""

import numpy as np
from numpy import ndarray

from readwarp.index.reference import Reference
from readwarp.rules.bases import CODES, LETTERS, unpack


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
