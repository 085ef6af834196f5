"""Binary floating-point numbers as bits, computed exactly and rounded once to the nearest, ties to even (IEEE 754)."""

import math
import struct
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    bits: int
    fraction: int  # bits after the point
    code: str  # of struct, for floats and for unsigned integers
    unsigned: str

    @property
    def least(self) -> int:
        """Exponent of the lowest bit of a subnormal."""
        return 2 - (1 << self.bits - self.fraction - 2) - self.fraction

    @property
    def largest(self) -> Fraction:
        return Fraction((1 << self.fraction + 1) - 1) * Fraction(2) ** (
            (1 << self.bits - self.fraction - 2) - 1 - self.fraction
        )

    def value(self, bits: int) -> float:
        return struct.unpack(self.code, struct.pack(self.unsigned, bits))[0]

    def of_float(self, number: float) -> int:
        """The bits of a number that the format has, or of an infinity or NaN."""
        if math.isnan(number):
            return (1 << self.bits - 1) - 1
        return struct.unpack(self.unsigned, struct.pack(self.code, number))[0]

    def rounded(self, exact: Fraction, is_negative: bool = False) -> int:
        """The rounded number. is_negative: the sign if it is 0."""
        if exact == 0:
            return is_negative << self.bits - 1
        size = abs(exact)
        exponent = max(self.least, _exponent(size) - self.fraction)
        units = round(size / Fraction(2) ** exponent)  # of a Fraction: half to even
        if units * Fraction(2) ** exponent > self.largest:
            return self.of_float(-math.inf if exact < 0 else math.inf)
        return self.of_float(math.copysign(math.ldexp(units, exponent), -1 if exact < 0 else 1))


F16, F32, F64 = Format(16, 10, "<e", "<H"), Format(32, 23, "<f", "<I"), Format(64, 52, "<d", "<Q")


def _exponent(size: Fraction) -> int:
    """The exponent e of the highest bit: 2 ** e <= size."""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if Fraction(2) ** guess <= size else guess - 1


def fused(form: Format, a: int, b: int, c: int) -> int:
    """a * b + c."""
    x, y, z = map(form.value, (a, b, c))
    if not all(map(math.isfinite, (x, y, z))):
        return form.of_float(_unbounded(x, y, z))
    product = Fraction(x) * Fraction(y)
    sign = math.copysign(1, x) * math.copysign(1, y)
    is_negative = not product and not z and sign < 0 and math.copysign(1, z) < 0
    return form.rounded(product + Fraction(z), is_negative)


def _unbounded(x: float, y: float, z: float) -> float:
    """The result if an operand is infinite or NaN: the size of finite ones does not matter, unless it is 0."""
    sized = [v if math.isinf(v) or math.isnan(v) or v == 0 else math.copysign(1, v) for v in (x, y, z)]
    return sized[0] * sized[1] + sized[2]


def total(form: Format, a: int, b: int) -> int:
    return fused(form, a, form.of_float(1.0), b)


def opposite(form: Format, a: int) -> int:
    return a ^ 1 << form.bits - 1


def product(form: Format, a: int, b: int) -> int:
    sign = (a ^ b) & 1 << form.bits - 1
    return fused(form, a, b, sign)


def quotient(form: Format, a: int, b: int) -> int:
    x, y = form.value(a), form.value(b)
    sign = math.copysign(1, x) * math.copysign(1, y)
    if math.isnan(x) or math.isnan(y) or (math.isinf(x) and math.isinf(y)) or x == y == 0:
        return form.of_float(math.nan)
    if math.isinf(x) or y == 0:
        return form.of_float(sign * math.inf)
    return form.rounded(Fraction(x) / Fraction(y) if math.isfinite(y) else Fraction(0), sign < 0)


def root(form: Format, a: int) -> int:
    x = form.value(a)
    if math.isnan(x) or x < 0:
        return form.of_float(math.nan)
    if x == 0 or math.isinf(x):
        return a
    size = Fraction(x)
    shift = 2 * (form.fraction + 60 + abs(_exponent(size)))
    units = math.isqrt(size.numerator * (1 << shift) // size.denominator)
    inexact = Fraction(units) ** 2 != size * (1 << shift)
    return form.rounded(Fraction(2 * units + inexact, 2 << shift // 2))  # a bit that is lost stays in sight


def extreme(form: Format, a: int, b: int, is_max: bool) -> int:
    """The one that is not NaN; +0 is above -0."""
    x, y = form.value(a), form.value(b)
    if math.isnan(x) or math.isnan(y):
        return b if math.isnan(x) else a
    first, last = (x, math.copysign(1, x)), (y, math.copysign(1, y))
    return a if (first > last) == is_max or first == last else b


def converted(source: Format, target: Format, a: int) -> int:
    x = source.value(a)
    if not math.isfinite(x):
        return target.of_float(x)
    return target.rounded(Fraction(x), math.copysign(1, x) < 0)


def whole(source: Format, a: int, rounding: str) -> Fraction | None:
    """Rounded to an integer by rni, rzi, rmi or rpi; None if it is not finite."""
    x = source.value(a)
    if not math.isfinite(x):
        return None
    rounders = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    return Fraction(rounders[rounding](Fraction(x)))
