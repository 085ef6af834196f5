"""Bases as numbers: A C G T are 0-3, anything else is 4. The reference has two bases per byte, low nibble first."""

import numpy as np

from readwarp.device.jit import kernel, scalar

LETTERS = np.frombuffer(b"ACGTN", np.uint8)
OUTSIDE = 5  # in place of a base, where several contigs lie on one axis: off all of them


def _codes() -> np.ndarray:
    table = np.full(256, 4, np.uint8)
    for code, letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):
        for letter in letters:
            table[ord(letter)] = code
    return table


CODES = _codes()  # letter -> code


@scalar
def complement(base):
    return base if base > 3 else 3 - base


@scalar
def base_at(packed_byte, position):
    """The base at a position, from its byte `packed[position >> 1]`."""
    return (packed_byte >> ((position & 1) << 2)) & 15


@kernel
def unpack(packed, start, stop, out):
    """Packed bases [start, stop) -> out[: stop - start] (uint8), one base per byte."""
    for position in range(start, stop):
        out[position - start] = (packed[position >> 1] >> np.uint8((position & 1) << 2)) & 15


@kernel
def pack(bases, start, packed):
    """Bases (uint8, one per byte) -> `packed` from position `start` on, which must be zero there."""
    for i in range(bases.size):
        position = start + i
        packed[position >> 1] |= bases[i] << np.uint8((position & 1) << 2)
