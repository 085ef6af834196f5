"""Bases as numbers: A C G T are 0-3, anything else is 4. The reference has two bases per byte, low nibble first."""

import numpy as np

from readwarp.device.jit import kernel, scalar

LETTERS = np.frombuffer(b"ACGTN", np.uint8)
OUTSIDE = 5  # in place of a base, where several contigs lie on one axis: off all of them
NEVER = 5  # in place of a reference base other than A C G T: it does not match a read's N (4)


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


@scalar
def never_equal(base):
    """The code of a reference base for comparison with reads: 4 (not A C G T) becomes NEVER."""
    return np.uint8(base + (base >> np.uint8(2)))


@scalar
def reference_code(packed, position):
    return never_equal(base_at(packed[position >> 1], position))


@kernel
def unpack_codes(packed, start, stop, out):
    """The `reference_code` of packed bases [start, stop) -> out[: stop - start].

    Indices are unsigned: tests for a negative index would prevent vector loops.
    """
    odd = start & 1 if start < stop else 0
    if odd:
        out[0] = never_equal(packed[start >> 1] >> np.uint8(4))
    whole, first, place = (stop - start - odd) >> 1, np.uint64((start + odd) >> 1), np.uint64(odd)
    for k in range(np.uint64(whole)):
        both, at = packed[first + k], place + k + k
        out[at] = never_equal(both & np.uint8(15))
        out[at + np.uint64(1)] = never_equal(both >> np.uint8(4))
    if odd + 2 * whole < stop - start:
        out[stop - start - 1] = never_equal(packed[first + np.uint64(whole)] & np.uint8(15))


@kernel
def pack(bases, start, packed):
    """Bases (uint8, one per byte) -> `packed` from position `start` on, which must be zero there."""
    for i in range(bases.size):
        position = start + i
        packed[position >> 1] |= bases[i] << np.uint8((position & 1) << 2)
