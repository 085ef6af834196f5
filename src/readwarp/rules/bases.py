"""Bases as numbers: A C G T are 0-3, anything else is 4.

The reference has two letters per byte, low nibble first. Nibbles tell all IUPAC letters apart; bases above 3 are 4.
"""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.compiler.simd import prefetch

LETTERS = np.frombuffer(b"ACGTN", np.uint8)
IUPAC = np.frombuffer(b"ACGTNRYSWKMBDHVN", np.uint8)  # letter of each nibble
A, C, G, T, U, N = (np.uint8(letter) for letter in b"ACGTUN")
LINE = 64  # bytes of a cache line
OUTSIDE = 5  # stands for a base between contigs on a shared axis
UNKNOWN = 4  # any letter other than A C G T
NEVER = 5  # replaces a reference base other than A C G T: it does not match a read's N (4)


def _codes() -> np.ndarray:
    table = np.full(256, 4, np.uint8)
    for code, letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):
        for letter in letters:
            table[ord(letter)] = code
    return table


CODES = _codes()  # letter -> code
NIBBLES = CODES.copy()  # letter -> nibble
NIBBLES[IUPAC[5:15]] = np.arange(5, 15)


@scalar
def complement(base):
    return base if base > 3 else 3 - base


@scalar
def nibble_at(packed_byte, position):
    """Return the index in IUPAC of the letter at a position, from its byte `packed[position >> 1]`."""
    return (packed_byte >> ((position & 1) << 2)) & 15


@scalar
def base_in(nibble):
    return min(nibble, np.uint8(UNKNOWN))


@scalar
def base_at(packed_byte, position):
    """Return the base at a position from its byte `packed[position >> 1]`."""
    return base_in(nibble_at(packed_byte, position))


@kernel
def prefetch_bases(packed, start, stop):
    """Prefetch packed bases [start, stop), which another loop reads later."""
    for byte in range(start >> 1, (stop >> 1) + LINE, LINE):
        prefetch(packed, byte)


@kernel
def unpack(packed, start, stop, out):
    """Unpack bases [start, stop) to out[: stop - start] (uint8), one base per byte.

    Indices are unsigned: tests for negative ones would prevent vector loops.
    """
    size = max(stop - start, 0)
    odd = start & 1 if size else 0
    if odd:
        out[0] = base_in(packed[start >> 1] >> np.uint8(4))
    pairs, first, place = np.uint64((size - odd) >> 1), np.uint64((start + odd) >> 1), np.uint64(odd)
    for k in range(pairs):
        both, at = packed[first + k], place + k + k
        out[at] = base_in(both & np.uint8(15))
        out[at + np.uint64(1)] = base_in(both >> np.uint8(4))
    if odd + 2 * np.int64(pairs) < size:
        out[size - 1] = base_in(packed[first + pairs] & np.uint8(15))


def letters_in(packed: np.ndarray, start: int, stop: int) -> bytes:
    """Return the letters at packed [start, stop)."""
    both = packed[start >> 1 : (stop + 1) >> 1]
    return IUPAC[np.stack((both & 15, both >> 4), axis=1)].tobytes()[start & 1 :][: stop - start]


@scalar
def never_equal(base):
    """Return the code of a reference base for comparison with reads: 4 (not A C G T) becomes NEVER."""
    return np.uint8(base + (base >> np.uint8(2)))


@scalar
def reference_code(packed, position):
    return never_equal(base_at(packed[position >> 1], position))


@kernel
def unpack_codes(packed, start, stop, out):
    """Unpack the `reference_code` of packed bases [start, stop) to out[: stop - start]."""
    unpack(packed, start, stop, out)
    for i in range(np.uint64(max(stop - start, 0))):
        out[i] = never_equal(out[i])


@scalar
def code_of(letter):
    """Return the base of an upper-case letter (uint8). Bits 1 and 2 tell A, C, T or U, and G apart."""
    bits = (letter >> np.uint8(1)) & np.uint8(3)
    is_base = (letter == A) | (letter == C) | (letter == G) | (letter == T) | (letter == U)
    return bits ^ (bits >> np.uint8(1)) if is_base else np.uint8(4)


@kernel
def pack(letters, start, packed):
    """Pack upper-case letters (uint8) from position `start` on; the first half of a byte clears the other.

    Indices are unsigned, as in `unpack`. Letters other than A C G T U N are rare: a second pass packs them, so that
    the first stays vector code.
    """
    size, odd = letters.size, start & 1 if letters.size else 0
    if odd:
        packed[start >> 1] |= code_of(letters[0]) << np.uint8(4)
    pairs, first, place = np.uint64((size - odd) >> 1), np.uint64((start + odd) >> 1), np.uint64(odd)
    for i in range(pairs):
        at = place + i + i
        packed[first + i] = code_of(letters[at]) | code_of(letters[at + np.uint64(1)]) << np.uint8(4)
    if odd + 2 * np.int64(pairs) < size:
        packed[first + pairs] = code_of(letters[size - 1])
    has_others = False
    for i in range(np.uint64(size)):
        has_others |= (code_of(letters[i]) == UNKNOWN) & (letters[i] != N)
    if has_others:
        for i in range(size):
            more = NIBBLES[letters[i]] - code_of(letters[i])
            packed[(start + i) >> 1] += more << (((start + i) & 1) << 2)
