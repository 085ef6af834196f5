"""BAM's binary auxiliary fields as SAM text."""

import numpy as np

from readwarp.device.jit import scalar
from readwarp.formats.common.text import put_number

TAB, COLON, COMMA, MINUS, DOT, ZERO = 9, 58, 44, 45, 46, 48
A, B, H, Z, F, I = 65, 66, 72, 90, 102, 105  # noqa: E741
FACTOR = 5  # text is at most this many times longer than the binary field


@scalar
def width_of(kind):
    """Bytes of a number of this type: c C 1, s S 2, i I f 4."""
    if kind == 99 or kind == 67:
        return 1
    return 2 if kind == 115 or kind == 83 else 4


@scalar
def get_number(values, at, kind):
    """Little-endian integer of type c C s S i I (or the bits of f)."""
    width, number = width_of(kind), np.int64(0)
    for i in range(width):
        number |= np.int64(values[at + i]) << (8 * i)
    signed = kind == 99 or kind == 115 or kind == 105
    return number - (1 << (8 * width)) if signed and number >> (8 * width - 1) else number


@scalar
def field_stop(tags, at):
    """Where the field that starts at `at` stops."""
    kind, at = tags[at + 2], at + 3
    if kind in (Z, H):
        while tags[at] != 0:
            at += 1
        return at + 1
    if kind == B:
        return at + 5 + width_of(tags[at]) * get_number(tags, at + 1, 73)
    return at + 1 if kind == A else at + width_of(kind)


@scalar
def put_tags(tags, start, stop, out, at):
    """Fields of tags[start:stop], each behind a tab -> out[at:]; where they end."""
    while start < stop:
        kind = tags[start + 2]
        out[at], out[at + 1], out[at + 2], out[at + 3], out[at + 5] = TAB, tags[start], tags[start + 1], COLON, COLON
        end, value, at = field_stop(tags, start), start + 3, at + 6
        if kind in (A, Z, H, F):
            out[at - 2] = kind
        else:
            out[at - 2] = B if kind == B else I
        if kind == B:
            at = put_array(tags, value, end, out, at)
        elif kind in (A, Z, H):
            for i in range(value, end if kind == A else end - 1):
                out[at] = tags[i]
                at += 1
        else:
            at = put_value(tags, value, kind, out, at)
        start = end
    return at


@scalar
def put_array(tags, value, end, out, at):
    kind = tags[value]
    out[at] = kind
    at += 1
    for i in range(value + 5, end, width_of(kind)):
        out[at] = COMMA
        at = put_value(tags, i, kind, out, at + 1)
    return at


@scalar
def put_value(tags, at, kind, out, to):
    bits = get_number(tags, at, kind)
    return put_float(bits, out, to) if kind == F else put_number(bits, out, to)


@scalar
def put_float(bits, out, at):
    """An IEEE single with six significant digits, as %g writes it."""
    single = np.empty(1, np.uint32)
    single[0] = bits
    value = np.float64(single.view(np.float32)[0])
    if value < 0 or bits >> 31:
        out[at] = MINUS
        at += 1
        value = -value
    if value == 0.0:
        out[at] = ZERO
        return at + 1
    if not value < np.inf:
        letters = (110, 97, 110) if value != value else (105, 110, 102)  # nan inf
        out[at], out[at + 1], out[at + 2] = letters
        return at + 3
    exponent = np.int64(np.floor(np.log10(value)))
    digits = np.int64(np.rint(value * 10.0 ** (5 - exponent)))
    if digits >= 1000000 or digits < 100000:
        exponent += 1 if digits >= 1000000 else -1
        digits = np.int64(np.rint(value * 10.0 ** (5 - exponent)))
    shown = 6
    while digits % 10 == 0:
        digits //= 10
        shown -= 1
    if exponent < -4 or exponent > 5:
        return put_scientific(digits, shown, exponent, out, at)
    return put_fixed(digits, shown, exponent, out, at)


@scalar
def put_fixed(digits, shown, exponent, out, at):
    """`digits` (of which `shown`) with the point behind 10^exponent."""
    if exponent < 0:
        out[at], out[at + 1] = ZERO, DOT
        at += 2
        for _ in range(-exponent - 1):
            out[at] = ZERO
            at += 1
        return put_number(digits, out, at)
    if shown <= exponent + 1:
        return put_number(digits * np.int64(10 ** (exponent + 1 - shown)), out, at)
    return put_pointed(digits, shown, exponent + 1, out, at)


@scalar
def put_pointed(digits, shown, before, out, at):
    """Digits with the point after the first `before` of them."""
    end = put_number(digits, out, at)
    if shown == before:
        return end
    for i in range(end, at + before, -1):
        out[i] = out[i - 1]
    out[at + before] = DOT
    return end + 1


@scalar
def put_scientific(digits, shown, exponent, out, at):
    at = put_pointed(digits, shown, 1, out, at)
    out[at] = 101
    out[at + 1] = MINUS if exponent < 0 else 43
    if abs(exponent) < 10:
        out[at + 2] = ZERO
        at += 1
    return put_number(abs(exponent), out, at + 2)
