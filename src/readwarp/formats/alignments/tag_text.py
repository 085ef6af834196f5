"""Convert BAM's binary auxiliary fields to SAM text."""

import numpy as np

from readwarp.compiler.jit import scalar
from readwarp.formats.alignments import layout
from readwarp.formats.common.text import put_copy, put_number

TAB, COLON, COMMA, MINUS, DOT, ZERO = b"\t:,-.0"
NO_POWER = 50
POWERS = np.array([float(f"1e{exponent}") for exponent in range(-NO_POWER, NO_POWER + 1)])
FACTOR = 5  # maximum growth of a binary field as text


@scalar
def put_tags(tags, start, stop, out, at):
    """Put fields of tags[start:stop], each after a tab, at out[at:]; return where they end."""
    while start < stop:
        kind = tags[start + 2]
        out[at] = TAB
        put_copy(tags, start, start + 2, out, at + 1)
        out[at + 3] = out[at + 5] = COLON
        end, value = layout.field_stop(tags, start, stop), start + 3
        at += 6
        out[at - 2] = kind
        if kind == layout.ARRAY:
            at = put_array(tags, value, end, out, at)
        elif kind == layout.CHARACTER or kind == layout.TEXT or kind == layout.HEX:
            at = put_copy(tags, value, end if kind == layout.CHARACTER else end - 1, out, at)
        else:
            out[at - 2] = kind if kind == layout.FLOAT else layout.INTEGER  # SAM text has one letter for all widths
            at = put_value(tags, value, kind, out, at)
        start = end
    return at


@scalar
def put_array(tags, value, end, out, at):
    kind = tags[value]
    out[at] = kind
    at += 1
    for i in range(value + 5, end, layout.width_of(kind)):
        out[at] = COMMA
        at = put_value(tags, i, kind, out, at + 1)
    return at


@scalar
def put_value(tags, at, kind, out, to):
    bits = layout.get_number(tags, at, kind)
    return put_float(bits, out, to) if kind == layout.FLOAT else put_number(bits, out, to)


@scalar
def put_float(bits, out, at):
    """Put an IEEE single with six significant digits, like %g."""
    value = np.float64(np.uint32(bits).view(np.float32))
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
    digits = np.int64(np.rint(value * POWERS[NO_POWER + 5 - exponent]))
    if digits >= 1000000 or digits < 100000:
        exponent += 1 if digits >= 1000000 else -1
        digits = np.int64(np.rint(value * POWERS[NO_POWER + 5 - exponent]))
    shown = 6
    while digits % 10 == 0:
        digits //= 10
        shown -= 1
    if exponent < -4 or exponent > 5:
        return put_scientific(digits, shown, exponent, out, at)
    return put_fixed(digits, shown, exponent, out, at)


@scalar
def put_fixed(digits, shown, exponent, out, at):
    """Put the first `shown` of the digits, with the point where 10^exponent puts it."""
    if exponent < 0:
        out[at], out[at + 1] = ZERO, DOT
        at += 2
        for _ in range(-exponent - 1):
            out[at] = ZERO
            at += 1
        return put_number(digits, out, at)
    if shown <= exponent + 1:
        return put_number(digits * np.int64(POWERS[NO_POWER + exponent + 1 - shown]), out, at)
    return put_pointed(digits, shown, exponent + 1, out, at)


@scalar
def put_pointed(digits, shown, before, out, at):
    """Put digits with the point after the first `before` of them."""
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
