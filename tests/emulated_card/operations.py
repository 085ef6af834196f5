"""What each arithmetic instruction of PTX computes, on the threads of a warp (PTX ISA manual, section 9.7).

`OPERATIONS` has a function for each base name: it takes a Thread's view of the instruction and gives the value of its
destination, as bits. What is not here is an error that names it; what touches memory, other threads or the flow of
control is in translate.py.
"""

from collections.abc import Callable

from emulated_card.bit_operations import counted, dotted, funnel, inserted, logic3, permuted, shifted
from emulated_card.packed_operations import LANES, fused_halves, halves, packed
from emulated_card.source import COMPARISONS, ORDERED, PAIRS, UNORDERED, Source, kind_of
from emulated_card.writer import WARP, Writer, bits_of, splat, vector

ROUNDINGS = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


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
    """The product of the first two operands: its lower half, its upper half, or all of it."""
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
    """Integer division. By 0 it gives all bits (unspecified in PTX), and the host must not trap."""
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
    """min and max. Of two numbers, the one that is not NaN; +0 is above -0."""
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
    """set: all bits if the comparison holds."""
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
        is_nan = w.compare("uno", given, value, value)  # LLVM says 0 of NaN, but with AVX-512 FP16 gives another number
        value = w.select(given, is_nan, "zeroinitializer", value)
        name = f"llvm.fpto{'s' if to[0] == 's' else 'u'}i.sat.v{WARP}{kind}.v{WARP}{given}"
        made = w.called(name, vector(kind), (vector(given), value))
        if given != "f64" and kind != "i64":
            return made
        return w.select(kind, is_nan, splat(kind, 1 << bits_of(kind) - 1), made)
    if bits_of(kind) != bits_of(given):
        value = w.cast("fptrunc" if bits_of(kind) < bits_of(given) else "fpext", given, value, kind)
    return w.as_bits(value, kind)


def rooted(s: Source) -> str:
    return s.writer.as_bits(s.writer.intrinsic("sqrt", s.kind, s.number(1)), s.kind)


def inverse(s: Source) -> str:
    w, one = s.writer, splat(f"i{bits_of(s.kind)}", {"f32": 0x3F800000, "f64": 0x3FF0000000000000}[s.kind])
    return w.as_bits(w.two("fdiv", s.kind, w.as_number(one, s.kind), s.number(1)), s.kind)


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
