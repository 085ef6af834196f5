"""Each PTX instruction on integers, on the card, compared with Python's integers (PTX ISA manual, 9.7).

The oracle knows nothing of how the emulated card translates; on a real card these tests hold it against that.
"""

from itertools import product as pairs

import numpy as np
import pytest

from emulated_card.tests.inline_ptx import ALL, Operation, differences
from emulated_card.tests.operands import COMPARISONS, TYPES, equal, integers, typed

pytestmark = pytest.mark.gpu
UNSIGNED = {"lo": int.__lt__, "ls": int.__le__, "hi": int.__gt__, "hs": int.__ge__}
LOGIC = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}


def integer(ptx: str, name: str, function, result: int = 0, operands: int = 2) -> Operation:
    """An instruction d, a, b, c whose operands are of that type."""
    bits = int(name[1:])
    text = f"{ptx} d, {', '.join('abc'[:operands])};"
    return Operation(
        text, result or bits, (bits,) * operands, lambda *given: function(*(typed(name, v) for v in given))
    )


def truncated(a: int, b: int) -> int:
    """The quotient, rounded towards zero."""
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def sums() -> list[Operation]:
    made = [integer(f"add.{t}", t, int.__add__) for t in TYPES] + [integer(f"sub.{t}", t, int.__sub__) for t in TYPES]
    made += [integer(f"neg.{t}", t, int.__neg__, operands=1) for t in TYPES if t[0] == "s"]
    return made + [integer(f"abs.{t}", t, abs, operands=1) for t in TYPES if t[0] == "s"]


def products() -> list[Operation]:
    made = []
    for t in TYPES:
        bits = int(t[1:])
        made.append(integer(f"mul.lo.{t}", t, int.__mul__))
        made.append(integer(f"mul.hi.{t}", t, lambda a, b, bits=bits: a * b >> bits))
        made.append(integer(f"mad.lo.{t}", t, lambda a, b, c: a * b + c, operands=3))
        if bits < 64:
            made.append(integer(f"mul.wide.{t}", t, int.__mul__, 2 * bits))
            wide = f"mad.wide.{t} d, a, b, c;"
            expected = lambda a, b, c, t=t: typed(t, a) * typed(t, b) + c  # noqa: E731
            made.append(Operation(wide, 2 * bits, (bits, bits, 2 * bits), expected))
        if bits > 16:
            made.append(integer(f"mad.hi.{t}", t, lambda a, b, c, bits=bits: (a * b >> bits) + c, operands=3))
    return made


def quotients() -> list[Operation]:
    """Divisions by a divisor that is not 0: b | 1, which keeps INT_MIN and -1."""
    made = []
    for t in TYPES:
        setting = f"or.b{t[1:]} b, b, 1; "
        for name, function in (("div", truncated), ("rem", lambda a, b: a - b * truncated(a, b))):
            each = integer(f"{name}.{t}", t, lambda a, b, t=t, function=function: function(a, typed(t, b | 1)))
            made.append(Operation(setting + each.ptx, each.result, each.operands, each.expected))
    return made


def extremes() -> list[Operation]:
    made = [integer(f"{name}.{t}", t, function) for t in TYPES for name, function in (("min", min), ("max", max))]
    for t in ("s16", "u16"):
        for name, function in (("min", min), ("max", max), ("add", int.__add__)):
            made.append(Operation(f"{name}.{t}x2 d, a, b;", 32, (32, 32), of_halves(t, function)))
    return made


def of_halves(t: str, function):
    def both(*given: int) -> int:
        low, high = (function(*(typed(t, v >> shift) for v in given)) & 0xFFFF for shift in (0, 16))
        return low | high << 16

    return both


def bitwise() -> list[Operation]:
    made = []
    for bits in (16, 32, 64):
        made += [integer(f"{name}.b{bits}", f"u{bits}", function) for name, function in LOGIC.items()]
        made.append(integer(f"not.b{bits}", f"u{bits}", int.__invert__, operands=1))
    for name, function in LOGIC.items():
        made.append(Operation(f"{name}.pred d, a, b;", 1, (1, 1), function))
    made.append(Operation("not.pred d, a;", 1, (1,), lambda a: not a))
    for bits in (32, 64):
        made.append(integer(f"popc.b{bits}", f"u{bits}", int.bit_count, 32, 1))
        made.append(integer(f"clz.b{bits}", f"u{bits}", lambda a, bits=bits: bits - a.bit_length(), 32, 1))
        made.append(
            integer(f"brev.b{bits}", f"u{bits}", lambda a, bits=bits: int(f"{a:0{bits}b}"[::-1], 2), operands=1)
        )
    for table in {0, 255, 0xCA, 0x96, 0xE8, *np.random.default_rng(1).integers(0, 256, 12).tolist()}:
        made.append(integer(f"lop3.b32 d, a, b, c, {table:#x}; //", "u32", looked_up(table), operands=3))
    return [Operation(each.ptx.partition(" //")[0], each.result, each.operands, each.expected) for each in made]


def looked_up(table: int):
    """lop3: the table's value if a is 0xF0, b 0xCC and c 0xAA."""

    def made(a: int, b: int, c: int) -> int:
        return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))

    return made


def shifts() -> list[Operation]:
    made = []
    for bits in (16, 32, 64):
        u, s = f"u{bits}", f"s{bits}"
        for name, t, function in (
            (f"shl.b{bits}", u, lambda a, n: a << min(n, 64)),
            (f"shr.u{bits}", u, lambda a, n: a >> n),
            (f"shr.b{bits}", u, lambda a, n: a >> n),
            (f"shr.s{bits}", s, lambda a, n: a >> n),
        ):
            expected = lambda a, n, t=t, function=function: function(typed(t, a), n)  # noqa: E731
            made.append(Operation(f"{name} d, a, b;", bits, (bits, 32), expected))
            made.append(
                Operation(
                    f"and.b32 b, b, 127; {name} d, a, b;", bits, (bits, 32), lambda a, n, f=expected: f(a, n & 127)
                )
            )
            for amount in (0, 1, bits - 1, bits, bits + 1):
                constant = lambda a, amount=amount, f=expected: f(a, amount)  # noqa: E731
                made.append(Operation(f"{name} d, a, {amount};", bits, (bits,), constant))
    left = lambda a, b, n: ((b << 32 | a) << (n & 31)) >> 32  # noqa: E731
    made.append(Operation("shf.l.wrap.b32 d, a, b, c;", 32, (32,) * 3, left))
    made.append(Operation("shf.r.wrap.b32 d, a, b, c;", 32, (32,) * 3, lambda a, b, n: (b << 32 | a) >> (n & 31)))
    return made


def fields() -> list[Operation]:
    made = []
    for bits in (32, 64):
        for place, length in ((0, 0), (0, bits), (3, 5), (bits - 1, 4), (8, 255), (bits, 4), (255, 8)):
            ptx = f"bfi.b{bits} d, a, b, {place}, {length};"
            made.append(
                Operation(ptx, bits, (bits, bits), lambda a, b, p=place, n=length, w=bits: insert(a, b, p, n, w))
            )
        of_registers = lambda a, b, c, w=bits: insert(a, b, c, c >> 8, w)  # noqa: E731
        ptx = f".reg .b32 n; shr.u32 n, c, 8; bfi.b{bits} d, a, b, c, n;"
        made.append(Operation(ptx, bits, (bits, bits, 32), of_registers))
    for selector in (0x3210, 0x7654, 0x5410, 0xBB99, 0xFEDC, 0x0000, 0x8888, 0x1F2E, 0x12343210):
        made.append(
            Operation(f"prmt.b32 d, a, b, {selector:#x};", 32, (32, 32), lambda a, b, s=selector: permute(a, b, s))
        )
    made.append(Operation("prmt.b32 d, a, b, c;", 32, (32, 32, 32), permute))
    for first, last in pairs("us", "us"):
        expected = lambda a, b, c, f=first, l=last: dot(f, l, a, b, c)  # noqa: E731, E741
        made.append(Operation(f"dp4a.{first}32.{last}32 d, a, b, c;", 32, (32,) * 3, expected))
    return made


def insert(a: int, b: int, place: int, length: int, width: int) -> int:
    """Bit by bit, as the manual's own program does."""
    place, length = place & 255, length & 255
    for i in range(length):
        if place + i < width and i < width:
            b = b & ~(1 << place + i) | (a >> i & 1) << place + i
    return b


def permute(a: int, b: int, selector: int) -> int:
    source = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    chosen = []
    for place in range(4):
        digit = selector >> 4 * place & 15
        byte = source[digit & 7]
        chosen.append(byte if digit < 8 else 255 if byte >= 128 else 0)
    return int.from_bytes(bytes(chosen), "little")


def dot(first: str, last: str, a: int, b: int, c: int) -> int:
    bytes_of = [[typed(f"{letter}8", value >> 8 * i) for i in range(4)] for letter, value in ((first, a), (last, b))]
    return c + sum(x * y for x, y in zip(*bytes_of, strict=True))


def comparisons() -> list[Operation]:
    made = []
    for t in TYPES:
        for name, function in (COMPARISONS | (UNSIGNED if t[0] == "u" else {})).items():
            made.append(integer(f"setp.{name}.{t}", t, function, 1))
    for t in ("b16", "b32", "b64"):
        made += [integer(f"setp.{name}.{t}", t, COMPARISONS[name], 1) for name in ("eq", "ne")]
    for name, function in LOGIC.items():
        joined = lambda a, b, c, f=function: f(typed("s32", a) < typed("s32", b), bool(c))  # noqa: E731
        made.append(Operation(f"setp.lt.{name}.s32 d, a, b, c;", 1, (32, 32, 1), joined))
        made.append(
            Operation(f"setp.lt.{name}.s32 d, a, b, !c;", 1, (32, 32, 1), lambda a, b, c, f=joined: f(a, b, not c))
        )
    made.append(integer("set.gt.u32.s32", "s32", lambda a, b: -(a > b), 32))
    made.append(integer("set.le.u32.u32", "u32", lambda a, b: -(a <= b), 32))
    for t in ("b16", "b32", "b64", "s32", "u64"):
        bits = int(t[1:])
        made.append(Operation(f"selp.{t} d, a, b, c;", bits, (bits, bits, 1), lambda a, b, c: a if c else b))
    guarded = "mov.b32 d, b; @c mov.b32 d, a;"
    made.append(Operation(guarded, 32, (32, 32, 1), lambda a, b, c: a if c else b))
    made.append(Operation(guarded.replace("@c", "@!c"), 32, (32, 32, 1), lambda a, b, c: b if c else a))
    return made


def moves() -> list[Operation]:
    """Moves between integers of all widths, and halves of registers."""
    made = []
    for target, source in pairs(TYPES, [*TYPES, "u8", "s8"]):
        bits = max(16, int(source[1:]))
        made.append(
            Operation(f"cvt.{target}.{source} d, a;", int(target[1:]), (bits,), lambda a, s=source: typed(s, a))
        )
    for target, source in pairs(("u8", "s8"), ("s16", "u32", "s32", "u64")):
        ptx = f"cvt.{target}.{source} d, a;"  # the register has more bits: it gets zeros, or the sign
        made.append(Operation(ptx, 32, (int(source[1:]),), lambda a, t=target: typed(t, a)))
    swapped = ".reg .b32 l, h; mov.b64 {l, h}, a; mov.b64 d, {h, l};"
    made.append(Operation(swapped, 64, (64,), lambda a: (a << 32 | a >> 32) & ALL))
    swapped = ".reg .b16 l, h; mov.b32 {l, h}, a; mov.b32 d, {h, l};"
    made.append(Operation(swapped, 32, (32,), lambda a: (a << 16 | a >> 16) & 0xFFFFFFFF))
    return made


@pytest.mark.parametrize(
    "operations",
    [sums, products, quotients, extremes, bitwise, shifts, fields, comparisons, moves],
    ids=lambda function: function.__name__,
)
def test_integers(operations):
    assert differences(operations(), integers(len(operations.__name__)), equal) == []


@pytest.mark.parametrize("t", TYPES)
def test_division_by_zero_harms_no_other_thread(t):
    """It gives all bits on existing cards; the manual leaves it open."""
    divided = integer(f"div.{t}", t, lambda a, b: truncated(a, b) if b else -1)
    values = integers(3)[:, :128].copy()
    values[1, ::2] = 0
    assert differences([divided], values, equal) == []
