"""An instruction as operations see it, with its operands as values of the requested kinds."""

import re
from collections.abc import Callable

from emulated_card.ptx import BITS, Instruction, UnknownPtxError
from emulated_card.writer import Writer, bits_of

COMPARISONS = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno"}
UNORDERED = {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}
ALL_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", *COMPARISONS, *UNORDERED, "num", "nan")
PAIRS = ("f16x2", "s16x2", "u16x2")
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


class Source:
    """An instruction and its operands, as values of the kinds it needs."""

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
        """The kind of the instruction's last type: i8 to i64, f32, f64, or i1 for predicates."""
        return kind_of(self.type)

    @property
    def is_signed(self) -> bool:
        return self.type.startswith("s")

    @property
    def is_number(self) -> bool:
        return self.type.startswith("f")

    def bits(self, place: int, kind: str = "") -> str:
        """The operand at that place (0 is the destination) as an integer."""
        return self._value(self.instruction.operands[place], kind or f"i{bits_of(self.kind)}")

    def number(self, place: int, kind: str = "") -> str:
        kind = kind or self.kind
        return self.writer.as_number(self.bits(place, f"i{bits_of(kind)}"), kind)

    def constant(self, place: int) -> int | None:
        """The operand, if it is a literal integer."""
        try:
            return int(self.instruction.operands[place].rstrip("U"), 0)
        except ValueError:
            return None


def kind_of(ptx_type: str) -> str:
    if ptx_type not in BITS:
        raise UnknownPtxError(f"the type .{ptx_type} is not known to the emulated card")
    return f"f{BITS[ptx_type]}" if ptx_type[0] == "f" else f"i{BITS[ptx_type]}"
