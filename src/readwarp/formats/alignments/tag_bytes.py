"""Put letters, numbers and auxiliary fields as in BAM at out[at:]; each function returns the new end."""

import numpy as np

from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.layout import FLOAT
from readwarp.formats.common.text import put_bytes, put_number


@kernel
def put_letter(out, at, letter):
    out[at] = letter
    return at + 1


@kernel
def put_run(out, at, count, letter):
    """Put a number and the letter after it."""
    return put_letter(out, put_number(np.int64(count), out, at), letter)


@kernel
def put_tag(out, at, name, kind):
    """Put the name of a field (its first letter lowest) and its type; the value follows."""
    return put_letter(out, put_bytes(name, 2, out, at), kind)


@kernel
def put_integer(out, at, name, value):
    """Put an integer field in the smallest unsigned type that holds it."""
    size = 1 if value < 1 << 8 else (2 if value < 1 << 16 else 4)
    at = put_tag(out, at, name, 67 if size == 1 else (83 if size == 2 else 73))  # C S I
    return put_bytes(value, size, out, at)


@kernel
def put_float(out, at, name, value):
    return put_bytes(np.float32(value).view(np.uint32), 4, out, put_tag(out, at, name, FLOAT))
