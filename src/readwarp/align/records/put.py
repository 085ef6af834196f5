"""Put letters, numbers and heads of auxiliary fields at out[at:]; each function returns the new end."""

import numpy as np

from readwarp.device.jit import kernel

TEXT = ord("Z")


@kernel
def put_letter(out, at, letter):
    out[at] = letter
    return at + 1


@kernel
def put_integer(out, at, name, value):
    """Put an integer tag in the smallest unsigned type that holds it."""
    size = 1 if value < 1 << 8 else (2 if value < 1 << 16 else 4)
    out[at], out[at + 1] = name & 255, name >> 8
    out[at + 2] = 67 if size == 1 else (83 if size == 2 else 73)  # C S I
    for i in range(size):
        out[at + 3 + i] = (value >> 8 * i) & 255
    return at + 3 + size


@kernel
def put_text_start(out, at, name):
    out[at], out[at + 1], out[at + 2] = name & 255, name >> 8, TEXT
    return at + 3


@kernel
def put_number(out, at, value):
    """Put the decimal digits of a non-negative number."""
    digits, rest = 1, value // 10
    while rest > 0:
        digits, rest = digits + 1, rest // 10
    for i in range(digits):
        out[at + digits - 1 - i] = 48 + value % 10
        value //= 10
    return at + digits


@kernel
def put_run(out, at, count, letter):
    """Put a number and the letter after it."""
    return put_letter(out, put_number(out, at, np.int64(count)), letter)
