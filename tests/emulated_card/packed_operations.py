"""Instructions on two 16-bit numbers in a register."""

from emulated_card.source import Source
from emulated_card.writer import WARP, vector

LANES = 2 * WARP  # of packed operations


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
