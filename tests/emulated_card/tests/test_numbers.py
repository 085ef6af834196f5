"""Each PTX instruction on numbers, on the card, compared with exact fractions rounded once (PTX ISA manual, 9.7)."""

import math
import re
from fractions import Fraction
from itertools import product as pairs

import pytest

from emulated_card.operations import OPERATIONS
from emulated_card.ptx import Instruction
from emulated_card.source import Source
from emulated_card.tests import exact_numbers as exact
from emulated_card.tests.exact_numbers import F16, F32, F64, Format
from emulated_card.tests.inline_ptx import Operation, differences
from emulated_card.tests.operands import (
    COMPARISONS,
    TYPES,
    alike,
    alike_halves,
    equal,
    integers,
    numbers,
    paired,
    tied,
    typed,
)
from emulated_card.writer import Writer

pytestmark = pytest.mark.gpu


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
    """Saturating. NaN gives 0, or only the sign if 64 bits are involved (PTX ISA manual, cvt)."""
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


CHOSEN = re.compile(r"select <32 x i1> (%v\d+), <32 x (\w+)> zeroinitializer, <32 x \w+> (%v\d+)")


def test_no_nan_is_left_to_a_processor_to_convert():
    """LLVM's saturating conversion of NaN is 0, but its code for AVX-512 FP16 gives the least int16."""
    for t, form, rounding in pairs([*TYPES, "u8", "s8"], (F16, F32, F64), ("rni", "rzi", "rmi", "rpi")):
        writer = Writer()
        instruction = Instruction(f"cvt.{rounding}.{t}.f{form.bits}", ("d", "a"), "", 1)
        OPERATIONS["cvt"](Source(instruction, writer, lambda operand, kind: "%a"))
        made = dict(line.split(" = ", 1) for line in writer.lines)
        (conversion,) = (text for text in made.values() if "fptosi" in text or "fptoui" in text)
        is_nan, kind, value = CHOSEN.fullmatch(made[conversion.rpartition(" ")[2].rstrip(")")]).groups()
        assert made[is_nan] == f"fcmp uno <32 x {kind}> {value}, {value}", instruction.name


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
