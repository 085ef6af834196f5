"""Instructions on the bits and bytes of registers."""

from collections.abc import Callable

from emulated_card.source import Source
from emulated_card.writer import WARP, bits_of, splat, vector


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
    """bfi d, a, b, place, length: put bits of a into b."""
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
    """lop3: a bit of a table, selected by one bit of each operand."""
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


def counted(name: str) -> Callable[[Source], str]:
    """popc and clz give 32 bits, brev the bits of its operand."""

    def made(s: Source) -> str:
        values: tuple[tuple[str, str], ...] = ((vector(s.kind), s.bits(1)),)
        if name == "ctlz":
            values += (("i1", "false"),)
        made = s.writer.called(f"llvm.{name}.v{WARP}{s.kind}", vector(s.kind), *values)
        return made if name == "bitreverse" else s.writer.resized(made, s.kind, "i32")

    return made
