"""Each instruction of PTX on the card against plain integers and exact fractions of Python (PTX ISA manual, 9.7).

The oracle knows nothing of how the emulated card translates; on a real card these tests hold it against that.
"""

import math
from fractions import Fraction
from itertools import product as pairs

import exact_numbers as exact
import numpy as np
import pytest
from exact_numbers import F16, F32, F64, Format
from inline_ptx import ALL, Operation, differences

pytestmark = pytest.mark.gpu
SPREAD = 512  # random values beside the edges
EDGES = [0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, ALL, ALL - 1, 0x8000, 0x7FFF, 0x80008000,
         0x80000000, 0x7FFFFFFF, 1 << 63, (1 << 63) - 1, 0xFFFF, 0xFFFFFFFF, 0x5555555555555555,
         0xFEDCBA9876543210]  # fmt: skip
COMPARISONS = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}
UNSIGNED = {"lo": int.__lt__, "ls": int.__le__, "hi": int.__gt__, "hs": int.__ge__}
LOGIC = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}
TYPES = [f"{letter}{bits}" for letter in "us" for bits in (16, 32, 64)]


def integers(seed: int) -> np.ndarray:
    """uint64 [3, values], every pair of edges among the first."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, ALL, (3, len(EDGES) ** 2 + SPREAD), np.uint64, endpoint=True)
    values >>= rng.integers(0, 64, values.shape, np.uint64)
    values[:2, : len(EDGES) ** 2] = np.array(list(pairs(EDGES, EDGES)), np.uint64).T
    return values


def numbers(form: Format, seed: int) -> np.ndarray:
    """Bits of all kinds of numbers: zeros, subnormals, ties, the largest, infinities, NaN, near ones and any."""
    rng = np.random.default_rng(seed)
    one, top = form.of_float(1.0), (1 << form.bits - 1) - 1
    infinite = form.of_float(math.inf)
    edges = [
        0,
        1,
        2,
        3,
        (1 << form.fraction) - 1,
        1 << form.fraction,
        one,
        one + 1,
        one - 1,
        infinite - 1,
        infinite,
        top,
    ]
    edges += [form.of_float(v) for v in (2.0, 0.5, 1.5, 2.5, 1024.0, 2048.0, 65504.0, 32767.0, 3.0)]
    edges += [edge | 1 << form.bits - 1 for edge in edges]
    values = rng.integers(0, (1 << form.bits) - 1, (3, len(edges) ** 2 + SPREAD), np.uint64, endpoint=True)
    near = rng.random(values.shape) < 0.5  # exponents beside that of 1, where sums cancel and round
    spread = rng.integers(0, min(40, infinite >> form.fraction) << form.fraction, values.shape, np.uint64)
    values = np.where(
        near,
        (spread + np.uint64(one - (12 << form.fraction)))
        | values >> np.uint64(form.bits - 1) << np.uint64(form.bits - 1),
        values,
    )
    values &= np.uint64((1 << form.bits) - 1)
    values[:2, : len(edges) ** 2] = np.array(list(pairs(edges, edges)), np.uint64).T
    values[2, : len(edges) ** 2 : 2] = rng.choice(np.array(edges, np.uint64), len(range(0, len(edges) ** 2, 2)))
    return values


def paired(seed: int) -> np.ndarray:
    first, last = numbers(F16, seed), numbers(F16, seed + 1)
    order = np.random.default_rng(seed).permutation(first.shape[1])
    return first | last[:, order] << np.uint64(16)


def tied() -> np.ndarray:
    """Pairs of halves: a * b lies in the middle between two halves, and c is too little for a float's bits."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(1 << 10, 1 << 11, (2, 400_000))
    middle = np.where(a * b < 1 << 21, a * b % 1024 == 512, a * b % 2048 == 1024)
    a, b = a[middle], b[middle]
    least = rng.integers(0, 64, len(a)) | rng.integers(0, 2, len(a)) << 15
    halves = np.array([a - 1024 | 18 << 10, b - 1024 | 20 << 10, least], np.uint64)
    return halves | np.roll(halves, 1, 1) << np.uint64(16)


def equal(a: int, b: int) -> bool:
    return a == b


def alike(form: Format):
    """Equal, or NaN both, whatever its bits."""
    return lambda a, b: a == b or (math.isnan(form.value(a)) and math.isnan(form.value(b)))


def alike_halves(a: int, b: int) -> bool:
    return alike(F16)(a & 0xFFFF, b & 0xFFFF) and alike(F16)(a >> 16, b >> 16)


def typed(name: str, value: int) -> int:
    """An operand's bits as a number of the type."""
    bits = int(name[1:])
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits) if name[0] == "s" else value


def integer(ptx: str, name: str, function, result: int = 0, operands: int = 2) -> Operation:
    """An instruction d, a, b, c whose operands are of that type."""
    bits = int(name[1:])
    text = f"{ptx} d, {', '.join('abc'[:operands])};"
    return Operation(
        text, result or bits, (bits,) * operands, lambda *given: function(*(typed(name, v) for v in given))
    )


def truncated(a: int, b: int) -> int:
    """The quotient, towards zero."""
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
    """Of a divisor that is not 0: b | 1, which INT_MIN and -1 are left among."""
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
    """lop3: the table's value where a is 0xF0, b 0xCC and c 0xAA."""

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
    """Between integers of all widths, and halves of registers."""
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
    """It gives all bits on the cards that there are; the manual leaves it open."""
    divided = integer(f"div.{t}", t, lambda a, b: truncated(a, b) if b else -1)
    values = integers(3)[:, :128].copy()
    values[1, ::2] = 0
    assert differences([divided], values, equal) == []


def number(ptx: str, form: Format, function, operands: int) -> Operation:
    return Operation(ptx, form.bits, (form.bits,) * operands, lambda *given: function(form, *given))


def of_numbers(form: Format) -> list[Operation]:
    t = f"f{form.bits}"
    binary = {
        f"add.{t}": exact.total, f"sub.{t}": lambda f, a, b: exact.total(f, a, exact.opposite(f, b)),
        f"mul.{t}": exact.product, f"div.rn.{t}": exact.quotient, f"add.rn.{t}": exact.total,
        f"min.{t}": lambda f, a, b: exact.extreme(f, a, b, False),
        f"max.{t}": lambda f, a, b: exact.extreme(f, a, b, True),
    }  # fmt: skip
    made = [number(f"{ptx} d, a, b;", form, function, 2) for ptx, function in binary.items()]
    made.append(number(f"fma.rn.{t} d, a, b, c;", form, exact.fused, 3))
    made.append(number(f"mad.rn.{t} d, a, b, c;", form, exact.fused, 3))
    made.append(number(f"sqrt.rn.{t} d, a;", form, exact.root, 1))
    made.append(number(f"rcp.rn.{t} d, a;", form, lambda f, a: exact.quotient(f, f.of_float(1.0), a), 1))
    made.append(number(f"neg.{t} d, a;", form, exact.opposite, 1))
    made.append(number(f"abs.{t} d, a;", form, lambda f, a: a & (1 << f.bits - 1) - 1, 1))
    for rounding in ("rni", "rzi", "rmi", "rpi"):
        made.append(number(f"cvt.{rounding}.{t}.{t} d, a;", form, lambda f, a, r=rounding: whole_number(f, a, r), 1))
    return made


def whole_number(form: Format, a: int, rounding: str) -> int:
    made = exact.whole(form, a, rounding)
    return a if made is None else form.rounded(made, bool(a >> form.bits - 1))


def comparisons_of(form: Format) -> list[Operation]:
    made = []
    for name in COMPARISONS:
        for suffix, of_nan in (("", False), ("u", True)):
            expected = lambda a, b, n=name, u=of_nan: compare(form, n, u, a, b)  # noqa: E731
            made.append(Operation(f"setp.{name}{suffix}.f{form.bits} d, a, b;", 1, (form.bits,) * 2, expected))
    is_nan = lambda a, b: math.isnan(form.value(a)) or math.isnan(form.value(b))  # noqa: E731
    made.append(Operation(f"setp.nan.f{form.bits} d, a, b;", 1, (form.bits,) * 2, is_nan))
    made.append(Operation(f"setp.num.f{form.bits} d, a, b;", 1, (form.bits,) * 2, lambda a, b: not is_nan(a, b)))
    return made


def compare(form: Format, name: str, of_nan: bool, a: int, b: int) -> bool:
    x, y = form.value(a), form.value(b)
    return of_nan if math.isnan(x) or math.isnan(y) else getattr(float, f"__{name}__")(x, y)


@pytest.mark.parametrize("form", [F32, F64], ids=["f32", "f64"])
def test_numbers(form):
    assert differences(of_numbers(form), numbers(form, 5), alike(form)) == []


@pytest.mark.parametrize("form", [F16, F32, F64], ids=["f16", "f32", "f64"])
def test_comparisons_of_numbers(form):
    assert differences(comparisons_of(form), numbers(form, 6), equal) == []


def to_integers(form: Format) -> list[Operation]:
    """Saturating; of NaN 0, or the sign alone where 64 bits take part (PTX ISA manual, cvt)."""
    made = []
    for t, rounding in pairs([*TYPES, "u8", "s8"], ("rni", "rzi", "rmi", "rpi")):
        expected = lambda a, t=t, r=rounding: saturated(form, t, r, a)  # noqa: E731
        made.append(Operation(f"cvt.{rounding}.{t}.f{form.bits} d, a;", max(16, int(t[1:])), (form.bits,), expected))
    return made


def saturated(form: Format, t: str, rounding: str, a: int) -> int:
    bits, x = int(t[1:]), form.value(a)
    if math.isnan(x):
        return typed(t, 1 << bits - 1) if form is F64 or bits == 64 else 0
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)
    if math.isinf(x):
        return high if x > 0 else low
    return min(max(int(exact.whole(form, a, rounding)), low), high)


@pytest.mark.parametrize("form", [F16, F32, F64], ids=["f16", "f32", "f64"])
def test_numbers_to_integers(form):
    assert differences(to_integers(form), numbers(form, 7), equal) == []


@pytest.mark.parametrize("form", [F16, F32, F64], ids=["f16", "f32", "f64"])
def test_integers_to_numbers(form):
    operations = []
    for t in TYPES:
        expected = lambda a, t=t: form.rounded(Fraction(typed(t, a)))  # noqa: E731
        operations.append(Operation(f"cvt.rn.f{form.bits}.{t} d, a;", form.bits, (int(t[1:]),), expected))
    assert differences(operations, integers(8), equal) == []


@pytest.mark.parametrize("source", [F16, F32, F64], ids=["f16", "f32", "f64"])
def test_numbers_to_others(source):
    operations, values = [], numbers(source, 9)
    for target in (F16, F32, F64):
        if target is not source:
            rounding = "rn." if target.bits < source.bits else ""
            ptx = f"cvt.{rounding}f{target.bits}.f{source.bits} d, a;"
            operation = Operation(ptx, target.bits, (source.bits,), lambda a, t=target: exact.converted(source, t, a))
            operations += differences([operation], values, alike(target))
    assert operations == []


def both(function, count: int, ptx: str) -> Operation:
    def halves(*given: int) -> int:
        low, high = (function(*(v >> shift & 0xFFFF for v in given)) for shift in (0, 16))
        return low | high << 16

    return Operation(ptx, 32, (32,) * count, halves)


def not_negative(a: int, b: int, c: int) -> int:
    made = exact.fused(F16, a, b, c)
    return made if math.isnan(F16.value(made)) or F16.value(made) > 0 else 0


def test_pairs_of_halves():
    operations = [
        both(lambda a, b: exact.total(F16, a, b), 2, "add.f16x2 d, a, b;"),
        both(lambda a, b: exact.total(F16, a, exact.opposite(F16, b)), 2, "sub.f16x2 d, a, b;"),
        both(lambda a, b: exact.extreme(F16, a, b, True), 2, "max.f16x2 d, a, b;"),
        both(lambda a, b: exact.extreme(F16, a, b, False), 2, "min.f16x2 d, a, b;"),
        both(lambda a, b, c: exact.fused(F16, a, b, c), 3, "fma.rn.f16x2 d, a, b, c;"),
        both(not_negative, 3, "fma.rn.relu.f16x2 d, a, b, c;"),
    ]
    assert differences(operations, paired(10), alike_halves) == []
    assert differences(operations[-2:], tied(), alike_halves) == []


def test_halves_are_compared_and_made_of_floats():
    greater = both(lambda a, b: 0xFFFF * compare(F16, "gt", False, a, b), 2, "set.gt.u32.f16x2 d, a, b;")
    assert differences([greater], paired(11), equal) == []
    packed = Operation(
        "cvt.rn.f16x2.f32 d, a, b;",
        32,
        (32, 32),
        lambda a, b: exact.converted(F32, F16, a) << 16 | exact.converted(F32, F16, b),
    )
    assert differences([packed], numbers(F32, 12), alike_halves) == []


def test_single_halves():
    operations = [
        number("add.f16 d, a, b;", F16, exact.total, 2), number("mul.f16 d, a, b;", F16, exact.product, 2),
        number("sub.f16 d, a, b;", F16, lambda f, a, b: exact.total(f, a, exact.opposite(f, b)), 2),
    ]  # fmt: skip
    assert differences(operations, numbers(F16, 13), alike(F16)) == []
