"""What each arithmetic instruction of PTX computes, on the threads of a warp (PTX ISA manual, section 9.7).

`OPERATIONS` has a function for each base name: it takes a Thread's view of the instruction and gives the value of its
destination, as bits. What is not here is an error that names it; what touches memory, other threads or the flow of
control is in translate.py.
"""

import re
from collections.abc import Callable

from emulated_card.ptx import BITS, Instruction, UnknownPtxError
from emulated_card.writer import WARP, Writer, bits_of, splat, vector

COMPARISONS = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno"}
UNORDERED = {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}
ALL_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", *COMPARISONS, *UNORDERED, "num", "nan")
PAIRS = ("f16x2", "s16x2", "u16x2")
LANES = 2 * WARP  # of packed operations
INTEGER, ANY_INTEGER, NUMBER = r"[us](16|32|64)", r"[us](8|16|32|64)", r"f(16|32|64)"
FORMS = {  # the instructions that are known, by their base name
    "add": rf"add\.({INTEGER}|[us]16x2)|add(\.rn)?\.({NUMBER}|f16x2)",
    "sub": rf"sub\.{INTEGER}|sub(\.rn)?\.({NUMBER}|f16x2)",
    "mul": rf"mul\.(lo|hi)\.{INTEGER}|mul\.wide\.[us](16|32)|mul(\.rn)?\.{NUMBER}",
    "mad": rf"mad\.(lo|hi)\.{INTEGER}|mad\.wide\.[us](16|32)|mad\.rn\.f(32|64)",
    "fma": r"fma\.rn\.f(32|64)|fma\.rn(\.relu)?\.f16x2",
    "div": rf"div\.{INTEGER}|div\.rn\.f(32|64)",
    "rem": rf"rem\.{INTEGER}",
    **{name: rf"{name}\.({INTEGER}|[us]16x2|{NUMBER}|f16x2)" for name in ("min", "max")},
    **{name: rf"{name}\.(b(16|32|64)|pred)" for name in ("and", "or", "xor", "not")},
    **{name: rf"{name}\.(s(16|32|64)|{NUMBER})" for name in ("neg", "abs")},
    "shl": r"shl\.b(16|32|64)",
    "shr": r"shr\.[bus](16|32|64)",
    "shf": r"shf\.[lr]\.wrap\.b32",
    "bfi": r"bfi\.b(32|64)",
    "prmt": r"prmt\.b32",
    "dp4a": r"dp4a\.[us]32\.[us]32",
    "lop3": r"lop3\.b32",
    "setp": rf"setp\.({'|'.join(ALL_COMPARISONS)})(\.(and|or|xor))?\.([bus](16|32|64)|{NUMBER})",
    "set": rf"set\.({'|'.join(ALL_COMPARISONS)})\.u32\.([bus](16|32|64)|{NUMBER})"
    rf"|set\.({'|'.join(ORDERED)})\.u32\.f16x2",
    "selp": r"selp\.([bus](16|32|64)|f(32|64))",
    "cvt": rf"cvt\.{ANY_INTEGER}\.{ANY_INTEGER}|cvt\.rn\.{NUMBER}\.{ANY_INTEGER}|cvt\.r[nzmp]i\.{ANY_INTEGER}\.{NUMBER}"
    r"|cvt\.r[nzmp]i\.(f16\.f16|f32\.f32|f64\.f64)|cvt\.rn\.(f16\.f32|f16\.f64|f32\.f64|f16x2\.f32)"
    r"|cvt\.(f32\.f16|f64\.f16|f64\.f32)",
    "sqrt": r"sqrt\.rn\.f(32|64)",
    "rcp": r"rcp\.rn\.f(32|64)",
    "popc": r"popc\.b(32|64)",
    "clz": r"clz\.b(32|64)",
    "brev": r"brev\.b(32|64)",
}
ROUNDINGS = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


class Source:
    """An instruction and its operands, as values of the kinds that it asks for."""

    def __init__(self, instruction: Instruction, writer: Writer, value: Callable[[str, str], str]) -> None:
        """value(operand, kind): its bits as that kind of integer, or as a predicate (i1)."""
        self.instruction, self.writer, self._value = instruction, writer, value
        self.parts = instruction.parts
        self.type = self.parts[-1]
        if not re.fullmatch(FORMS[instruction.base], instruction.name):
            raise self.unknown()

    def unknown(self) -> UnknownPtxError:
        return UnknownPtxError(
            f"line {self.instruction.line}: {self.instruction.name} is not known to the emulated card"
        )

    @property
    def kind(self) -> str:
        """Of the instruction's last type: i8 to i64, f32, f64, or i1 of predicates."""
        return kind_of(self.type)

    @property
    def is_signed(self) -> bool:
        return self.type.startswith("s")

    @property
    def is_number(self) -> bool:
        return self.type.startswith("f")

    def bits(self, place: int, kind: str = "") -> str:
        """The operand at that place, 0 being the destination, as an integer."""
        return self._value(self.instruction.operands[place], kind or f"i{bits_of(self.kind)}")

    def number(self, place: int, kind: str = "") -> str:
        kind = kind or self.kind
        return self.writer.as_number(self.bits(place, f"i{bits_of(kind)}"), kind)

    def constant(self, place: int) -> int | None:
        """The operand where it is a literal integer."""
        try:
            return int(self.instruction.operands[place].rstrip("U"), 0)
        except ValueError:
            return None


def kind_of(ptx_type: str) -> str:
    if ptx_type not in BITS:
        raise UnknownPtxError(f"the type .{ptx_type} is not known to the emulated card")
    return f"f{BITS[ptx_type]}" if ptx_type[0] == "f" else f"i{BITS[ptx_type]}"


def arithmetic(operation: str) -> Callable[[Source], str]:
    def made(s: Source) -> str:
        if s.type in PAIRS or PAIRS[0] in s.parts:
            return packed(s, operation)
        if s.is_number:
            rounded = s.writer.two(f"f{operation}", s.kind, s.number(1), s.number(2))
            return s.writer.as_bits(rounded, s.kind)
        return s.writer.two(operation, s.kind, s.bits(1), s.bits(2))

    return made


def multiplied(s: Source) -> str:
    if s.is_number:
        return s.writer.as_bits(s.writer.two("fmul", s.kind, s.number(1), s.number(2)), s.kind)
    return product(s)


def product(s: Source) -> str:
    """Of the first two operands: its lower half, its upper half, or all of it."""
    w, half = s.writer, s.kind
    if s.parts[1] == "lo":
        return w.two("mul", half, s.bits(1), s.bits(2))
    whole = f"i{2 * bits_of(half)}"
    a, b = (w.resized(s.bits(place), half, whole, s.is_signed) for place in (1, 2))
    made = w.two("mul", whole, a, b)
    if s.parts[1] == "wide":
        return made
    return w.resized(w.two("lshr", whole, made, splat(whole, bits_of(half))), whole, half)


def multiplied_and_added(s: Source) -> str:
    if s.is_number:
        return fused(s)
    kind = f"i{2 * bits_of(s.kind)}" if s.parts[1] == "wide" else s.kind
    return s.writer.two("add", kind, product(s), s.bits(3, kind))


def fused(s: Source) -> str:
    if PAIRS[0] in s.parts:
        return fused_halves(s)
    made = s.writer.intrinsic("fma", s.kind, *(s.number(place) for place in (1, 2, 3)))
    return s.writer.as_bits(made, s.kind)


def divided(s: Source) -> str:
    """Integers: a division by 0 gives all bits (unspecified in PTX), and the host must not trap on it."""
    w, kind, is_remainder = s.writer, s.kind, s.instruction.base == "rem"
    if s.is_number:
        return w.as_bits(w.two("fdiv", kind, s.number(1), s.number(2)), kind)
    a, b, letter = s.bits(1), s.bits(2), "s" if s.is_signed else "u"
    is_zero = w.compare("eq", kind, b, splat(kind, 0))
    safe, negated = w.select(kind, is_zero, splat(kind, 1), b), ""
    if s.is_signed:  # the least number divided by -1 traps too
        is_minus = w.compare("eq", kind, b, splat(kind, -1))
        safe, negated = w.select(kind, is_minus, splat(kind, 1), safe), is_minus
    made = w.two(f"{letter}{'rem' if is_remainder else 'div'}", kind, a, safe)
    if negated:
        other = splat(kind, 0) if is_remainder else w.two("sub", kind, splat(kind, 0), a)
        made = w.select(kind, negated, other, made)
    return w.select(kind, is_zero, a if is_remainder else splat(kind, -1), made)


def extreme(s: Source) -> str:
    """min and max; of numbers the one that is not NaN, and +0 above -0."""
    w, is_max = s.writer, s.instruction.base == "max"
    if s.type in PAIRS:
        return packed(s, s.instruction.base)
    if not s.is_number:
        return w.intrinsic(f"{'s' if s.is_signed else 'u'}{s.instruction.base}", s.kind, s.bits(1), s.bits(2))
    return extreme_number(w, s.kind, s.bits(1), s.bits(2), is_max)


def extreme_number(w: Writer, kind: str, a: str, b: str, is_max: bool) -> str:
    bits, x, y = f"i{bits_of(kind)}", w.as_number(a, kind), w.as_number(b, kind)
    same = w.two("and" if is_max else "or", bits, a, b)  # of equal numbers; of zeros the signs decide
    made = w.select(bits, w.compare("oeq", kind, x, y), same, b)
    made = w.select(bits, w.compare("ogt" if is_max else "olt", kind, x, y), a, made)
    return w.select(bits, w.compare("uno", kind, y, y), a, made)


def logic(s: Source) -> str:
    return s.writer.two(s.instruction.base, s.kind, s.bits(1), s.bits(2))


def inverted(s: Source) -> str:
    return s.writer.two("xor", s.kind, s.bits(1), splat(s.kind, -1))


def negated(s: Source) -> str:
    if s.is_number:
        return s.writer.as_bits(s.writer.made(f"fneg {vector(s.kind)} {s.number(1)}"), s.kind)
    return s.writer.two("sub", s.kind, splat(s.kind, 0), s.bits(1))


def absolute(s: Source) -> str:
    if s.is_number:
        return s.writer.as_bits(s.writer.intrinsic("fabs", s.kind, s.number(1)), s.kind)
    value = s.bits(1)
    return s.writer.intrinsic("smax", s.kind, value, s.writer.two("sub", s.kind, splat(s.kind, 0), value))


def shifted(s: Source) -> str:
    """By 32 bits of amount, clamped to the width."""
    w, kind, width = s.writer, s.kind, bits_of(s.kind)
    value, is_right = s.bits(1), s.instruction.base == "shr"
    operation = "shl" if not is_right else "ashr" if s.is_signed else "lshr"
    constant = s.constant(2)
    if constant is not None and 0 <= constant < width:
        return w.two(operation, kind, value, splat(kind, constant))
    amount = s.bits(2, "i32")
    within = w.compare("ult", "i32", amount, splat("i32", width))
    least = w.select("i32", within, amount, splat("i32", width - 1))
    made = w.two(operation, kind, value, w.resized(least, "i32", kind))
    return made if operation == "ashr" else w.select(kind, within, made, splat(kind, 0))


def funnel(s: Source) -> str:
    """shf: the lower operand first."""
    name = "fshr" if s.parts[1] == "r" else "fshl"
    return s.writer.intrinsic(name, "i32", s.bits(2), s.bits(1), s.bits(3))


def field_mask(s: Source, place: str, length: str) -> str:
    """`length` set bits from `place` on; both below 256, as the instruction takes them."""
    w, kind, width = s.writer, s.kind, bits_of(s.kind)
    is_all = w.compare("uge", kind, length, splat(kind, width))
    ones = w.two("shl", kind, splat(kind, 1), w.select(kind, is_all, splat(kind, 0), length))
    ones = w.select(kind, is_all, splat(kind, -1), w.two("sub", kind, ones, splat(kind, 1)))
    return within_width(s, "shl", ones, place)


def within_width(s: Source, operation: str, value: str, amount: str) -> str:
    w, kind, width = s.writer, s.kind, bits_of(s.kind)
    is_within = w.compare("ult", kind, amount, splat(kind, width))
    made = w.two(operation, kind, value, w.select(kind, is_within, amount, splat(kind, 0)))
    return w.select(kind, is_within, made, splat(kind, 0))


def inserted(s: Source) -> str:
    """bfi d, a, b, place, length: bits of a into b."""
    w, kind = s.writer, s.kind
    place, length = (w.resized(w.two("and", "i32", s.bits(n, "i32"), splat("i32", 255)), "i32", kind) for n in (3, 4))
    mask = field_mask(s, place, length)
    moved = w.two("and", kind, within_width(s, "shl", s.bits(1), place), mask)
    return w.two("or", kind, moved, w.two("and", kind, s.bits(2), w.two("xor", kind, mask, splat(kind, -1))))


def permuted(s: Source) -> str:
    """prmt: four of the eight bytes of (b, a), or their signs."""
    w, kind = s.writer, "i32"
    a, b, selector, made = s.bits(1), s.bits(2), s.bits(3), ""
    for byte in range(4):
        digit = w.two("lshr", kind, selector, splat(kind, 4 * byte))
        is_other = w.compare("ne", kind, w.two("and", kind, digit, splat(kind, 4)), splat(kind, 0))
        is_sign = w.compare("ne", kind, w.two("and", kind, digit, splat(kind, 8)), splat(kind, 0))
        place = w.two("shl", kind, w.two("and", kind, digit, splat(kind, 3)), splat(kind, 3))
        left = w.two("shl", kind, w.select(kind, is_other, b, a), w.two("sub", kind, splat(kind, 24), place))
        taken = w.select(kind, is_sign, w.two("ashr", kind, left, splat(kind, 31)), left)
        taken = w.two("and", kind, taken, splat(kind, 0xFF000000))
        taken = w.two("lshr", kind, taken, splat(kind, 24 - 8 * byte))
        made = w.two("or", kind, made, taken) if made else taken
    return made


def dotted(s: Source) -> str:
    """dp4a: products of four bytes, and a sum."""
    w, total = s.writer, s.bits(3, "i32")
    shifts = {place: "ashr" if s.parts[place][0] == "s" else "lshr" for place in (1, 2)}
    operands = {place: s.bits(place, "i32") for place in (1, 2)}
    for byte in range(4):
        a, b = (
            w.two(shifts[p], "i32", w.two("shl", "i32", operands[p], splat("i32", 24 - 8 * byte)), splat("i32", 24))
            for p in (1, 2)
        )
        total = w.two("add", "i32", total, w.two("mul", "i32", a, b))
    return total


def logic3(s: Source) -> str:
    """lop3: the bit of a table, by one bit of each operand."""
    w, table, made = s.writer, s.constant(4), splat("i32", 0)
    if table is None:
        raise s.unknown()
    operands = [s.bits(place, "i32") for place in (1, 2, 3)]
    others = [w.two("xor", "i32", each, splat("i32", -1)) for each in operands]
    for row in range(8):
        if table >> row & 1:
            a, b, c = (operands[i] if row >> (2 - i) & 1 else others[i] for i in range(3))
            made = w.two("or", "i32", made, w.two("and", "i32", a, w.two("and", "i32", b, c)))
    return made


def compared(s: Source, predicate: str, place: int = 1) -> str:
    if s.is_number:
        return s.writer.compare((ORDERED | UNORDERED)[predicate], s.kind, s.number(place), s.number(place + 1))
    name = COMPARISONS.get(predicate, predicate)
    if name in ("lt", "le", "gt", "ge"):
        name = ("s" if s.is_signed else "u") + name
    return s.writer.compare(name, s.kind, s.bits(place), s.bits(place + 1))


def predicate(s: Source) -> str:
    """setp, alone or joined with another predicate."""
    made = compared(s, s.parts[1])
    if len(s.parts) == 3:
        return made
    return s.writer.two(s.parts[2], "i1", made, s.bits(3, "i1"))


def comparison_bits(s: Source) -> str:
    """set: all bits where it holds."""
    w = s.writer
    if s.type == "f16x2":
        a, b = halves(s, 1), halves(s, 2)
        flags = w.made(f"fcmp {ORDERED[s.parts[1]]} {vector('f16', LANES)} {a}, {b}")
        wide = w.made(f"sext {vector('i1', LANES)} {flags} to {vector('i16', LANES)}")
        return w.made(f"bitcast {vector('i16', LANES)} {wide} to {vector('i32')}")
    return w.cast("sext", "i1", compared(s, s.parts[1]), "i32")


def selected(s: Source) -> str:
    kind = f"i{bits_of(s.kind)}"
    return s.writer.select(kind, s.bits(3, "i1"), s.bits(1), s.bits(2))


def converted(s: Source) -> str:
    """cvt.TO.FROM, to the bits of TO."""
    w, to, source = s.writer, s.parts[-2], s.parts[-1]
    if to == "f16x2":
        both = [w.cast("fptrunc", "f32", s.number(place, "f32"), "f16") for place in (1, 2)]
        high, low = (w.resized(w.as_bits(each, "f16"), "i16", "i32") for each in both)
        return w.two("or", "i32", w.two("shl", "i32", high, splat("i32", 16)), low)
    kind, given = kind_of(to), kind_of(source)
    if source[0] != "f" and to[0] != "f":
        return w.resized(s.bits(1, given), given, kind, source[0] == "s")
    if source[0] != "f":
        made = w.cast("sitofp" if source[0] == "s" else "uitofp", given, s.bits(1, given), kind)
        return w.as_bits(made, kind)
    value = s.number(1, given)
    rounding = next((name for part, name in ROUNDINGS.items() if part in s.parts), None)
    if rounding:
        value = w.intrinsic(rounding, given, value)
    if to[0] != "f":
        name = f"llvm.fpto{'s' if to[0] == 's' else 'u'}i.sat.v{WARP}{kind}.v{WARP}{given}"
        made = w.called(name, vector(kind), (vector(given), value))  # 0 of NaN
        if given != "f64" and kind != "i64":
            return made
        return w.select(kind, w.compare("uno", given, value, value), splat(kind, 1 << bits_of(kind) - 1), made)
    if bits_of(kind) != bits_of(given):
        value = w.cast("fptrunc" if bits_of(kind) < bits_of(given) else "fpext", given, value, kind)
    return w.as_bits(value, kind)


def rooted(s: Source) -> str:
    return s.writer.as_bits(s.writer.intrinsic("sqrt", s.kind, s.number(1)), s.kind)


def inverse(s: Source) -> str:
    w, one = s.writer, splat(f"i{bits_of(s.kind)}", {"f32": 0x3F800000, "f64": 0x3FF0000000000000}[s.kind])
    return w.as_bits(w.two("fdiv", s.kind, w.as_number(one, s.kind), s.number(1)), s.kind)


def counted(name: str) -> Callable[[Source], str]:
    """popc and clz give 32 bits; brev what it takes."""

    def made(s: Source) -> str:
        values: tuple[tuple[str, str], ...] = ((vector(s.kind), s.bits(1)),)
        if name == "ctlz":
            values += (("i1", "false"),)
        made = s.writer.called(f"llvm.{name}.v{WARP}{s.kind}", vector(s.kind), *values)
        return made if name == "bitreverse" else s.writer.resized(made, s.kind, "i32")

    return made


# Two numbers in 32 bits.


def halves(s: Source, place: int, kind: str = "f16") -> str:
    return s.writer.made(f"bitcast {vector('i32')} {s.bits(place, 'i32')} to {vector(kind, LANES)}")


def joined(s: Source, kind: str, value: str) -> str:
    return s.writer.made(f"bitcast {vector(kind, LANES)} {value} to {vector('i32')}")


def packed(s: Source, operation: str) -> str:
    """add, sub, min and max on pairs."""
    w = s.writer
    if s.type in ("s16x2", "u16x2"):
        a, b, kind = halves(s, 1, "i16"), halves(s, 2, "i16"), vector("i16", LANES)
        if operation in ("add", "sub"):
            return joined(s, "i16", w.made(f"{operation} {kind} {a}, {b}"))
        name = f"llvm.{s.type[0]}{operation}.v{LANES}i16"
        return joined(s, "i16", w.called(name, kind, (kind, a), (kind, b)))
    if operation in ("min", "max"):
        return joined(s, "i16", extreme_halves(s, operation == "max"))
    wide = [w.made(f"fpext {vector('f16', LANES)} {halves(s, n)} to {vector('f32', LANES)}") for n in (1, 2)]
    # A sum of two halves, rounded to float and then to half, is the one rounded once: 24 >= 2 * 11 + 2 bits.
    made = w.made(f"f{operation} {vector('f32', LANES)} {wide[0]}, {wide[1]}")
    return joined(s, "f16", w.made(f"fptrunc {vector('f32', LANES)} {made} to {vector('f16', LANES)}"))


def extreme_halves(s: Source, is_max: bool) -> str:
    w, bits, kind, flags = s.writer, vector("i16", LANES), vector("f16", LANES), vector("i1", LANES)
    a, b = (halves(s, place, "i16") for place in (1, 2))
    x, y = (w.made(f"bitcast {bits} {each} to {kind}") for each in (a, b))
    same = w.made(f"{'and' if is_max else 'or'} {bits} {a}, {b}")
    made = w.made(f"select {flags} {w.made(f'fcmp oeq {kind} {x}, {y}')}, {bits} {same}, {bits} {b}")
    above = w.made(f"fcmp {'ogt' if is_max else 'olt'} {kind} {x}, {y}")
    made = w.made(f"select {flags} {above}, {bits} {a}, {bits} {made}")
    return w.made(f"select {flags} {w.made(f'fcmp uno {kind} {y}, {y}')}, {bits} {a}, {bits} {made}")


def fused_halves(s: Source) -> str:
    """fma.f16x2, rounded once.

    The product of two halves is exact in a float; the sum is rounded to odd there (Boldo and Melquiond 2008), from
    which rounding to half gives what one rounding of the exact sum would.
    """
    w, kind, bits, flags = s.writer, vector("f32", LANES), vector("i32", LANES), vector("i1", LANES)
    a, b, c = (w.made(f"fpext {vector('f16', LANES)} {halves(s, n)} to {kind}") for n in (1, 2, 3))
    p = w.made(f"fmul {kind} {a}, {b}")
    total = w.made(f"fadd {kind} {p}, {c}")
    # What the sum lost, exactly (Knuth's TwoSum).
    q = w.made(f"fsub {kind} {total}, {p}")
    lost_c = w.made(f"fsub {kind} {c}, {q}")
    lost_p = w.made(f"fsub {kind} {p}, {w.made(f'fsub {kind} {total}, {q}')}")
    lost = w.made(f"fadd {kind} {lost_p}, {lost_c}")
    whole, error = (w.made(f"bitcast {kind} {each} to {bits}") for each in (total, lost))
    is_lost = w.made(f"fcmp one {kind} {lost}, zeroinitializer")
    is_even = w.made(f"icmp eq {bits} {w.made(f'and {bits} {whole}, splat (i32 1)')}, zeroinitializer")
    is_moved = w.made(f"and {flags} {is_lost}, {is_even}")
    differ = w.made(f"icmp slt {bits} {w.made(f'xor {bits} {whole}, {error}')}, zeroinitializer")
    step = w.made(f"select {flags} {differ}, {bits} splat (i32 -1), {bits} splat (i32 1)")
    odd = w.made(f"add {bits} {whole}, {step}")
    chosen = w.made(f"bitcast {bits} {w.made(f'select {flags} {is_moved}, {bits} {odd}, {bits} {whole}')} to {kind}")
    made = w.made(f"fptrunc {kind} {chosen} to {vector('f16', LANES)}")
    if "relu" in s.parts:
        above = w.made(f"fcmp ugt {vector('f16', LANES)} {made}, zeroinitializer")  # NaN stays
        made = w.made(f"select {flags} {above}, {vector('f16', LANES)} {made}, {vector('f16', LANES)} zeroinitializer")
    return joined(s, "f16", made)


OPERATIONS: dict[str, Callable[[Source], str]] = {
    "add": arithmetic("add"),
    "sub": arithmetic("sub"),
    "mul": multiplied,
    "mad": multiplied_and_added,
    "fma": fused,
    "div": divided,
    "rem": divided,
    "min": extreme,
    "max": extreme,
    "and": logic,
    "or": logic,
    "xor": logic,
    "not": inverted,
    "neg": negated,
    "abs": absolute,
    "shl": shifted,
    "shr": shifted,
    "shf": funnel,
    "bfi": inserted,
    "prmt": permuted,
    "dp4a": dotted,
    "lop3": logic3,
    "setp": predicate,
    "set": comparison_bits,
    "selp": selected,
    "cvt": converted,
    "sqrt": rooted,
    "rcp": inverse,
    "popc": counted("ctpop"),
    "clz": counted("ctlz"),
    "brev": counted("bitreverse"),
}
