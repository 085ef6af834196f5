"""Names, numbers and letters as bytes, for the compiled loops of several formats."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.ragged import offsets_of

STAR, MINUS, ZERO = b"*-0"


class Names(NamedTuple):
    """Names of contigs, read groups or reads."""

    letters: Annotated[ndarray, "uint8 [letters]"]
    offsets: Annotated[ndarray, "int64 [names + 1] of letters"]


def pack_names(names: Sequence[str]) -> Names:
    encoded = [name.encode() for name in names]
    return Names(np.frombuffer(b"".join(encoded), np.uint8), offsets_of([len(name) for name in encoded]))


@scalar
def same_bytes(one, start, other, begin, size):
    """Return whether one[start : start + size] and other[begin : begin + size] are equal."""
    first, second, same = np.uint64(start), np.uint64(begin), True  # see put_copy
    for i in range(np.uint64(max(0, size))):
        same &= one[first + i] == other[second + i]
    return same


@scalar
def find_name(text, start, stop, letters, offsets):
    """Return the index of text[start:stop] among these names, or -1."""
    for i in range(offsets.size - 1):
        if offsets[i + 1] - offsets[i] == stop - start and same_bytes(text, start, letters, offsets[i], stop - start):
            return i
    return -1


@scalar
def put_bytes(value, width, out, at):
    """Put a little-endian integer at out[at : at + width]; return where it ends."""
    for i in range(width):
        out[at + i] = np.uint8((np.int64(value) >> (8 * i)) & 255)
    return at + width


@scalar
def put_number(number, out, at):
    """Put the decimal digits of an int64 at out[at:]; return where they end."""
    if number < 0:
        out[at] = MINUS
        at += 1
        number = -number
    rest, digits = number // 10, 1
    while rest > 0:
        rest //= 10
        digits += 1
    for i in range(at + digits - 1, at - 1, -1):
        rest = number // 10
        out[i] = ZERO + number - 10 * rest
        number = rest
    return at + digits


@scalar
def put_next(separator, number, out, at):
    """Put a separator and the digits of a number at out[at:]; return where they end."""
    out[at] = separator
    return put_number(number, out, at + 1)


@scalar
def put_copy(values, start, stop, out, at):
    """Copy values[start:stop] to out[at:]; return where they end."""
    source, target = np.uint64(start), np.uint64(at)  # tests for a negative index would prevent vector loops
    for i in range(np.uint64(max(0, stop - start))):
        out[target + i] = values[source + i]
    return at + stop - start


@kernel
def copy_rows(values, starts, offsets):
    """Copy as many values (uint8) of each row, from its start on, as `offsets` give it; return those of all rows."""
    out = np.empty(offsets[-1], np.uint8)
    for row in range(starts.size):
        put_copy(values, starts[row], starts[row] + offsets[row + 1] - offsets[row], out, offsets[row])
    return out


@scalar
def put_text(text, out, at):
    return put_copy(text, 0, text.size, out, at)


@scalar
def put_name(names, index, out, at):
    """Put the name at `index` of Names, or '*' if it is empty or there is none."""
    letters, offsets = names
    if index < 0 or offsets[index + 1] == offsets[index]:
        out[at] = STAR
        return at + 1
    return put_copy(letters, offsets[index], offsets[index + 1], out, at)


@scalar
def letter_of(base):
    """Map 0-4 to A C G T N, without a table, so that loops compile to vector code."""
    letter = np.uint8(65) if base == 0 else np.uint8(67)
    letter = np.uint8(71) if base == 2 else letter
    letter = np.uint8(84) if base == 3 else letter
    return np.uint8(78) if base > 3 else letter
