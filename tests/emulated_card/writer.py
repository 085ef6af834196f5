"""LLVM IR over the 32 threads of a warp: every value is a vector of WARP elements, one for each thread.

Kinds name the element: i1, i8 ... i64 of integers, f16, f32 and f64 of numbers. PTX registers are untyped bits, so
values rest as integers and are looked at as numbers where an instruction says so.
"""

from dataclasses import dataclass, field
from itertools import count

WARP = 32
FULL = 0xFFFFFFFF
NUMBERS = {"f16": "half", "f32": "float", "f64": "double"}
INDEX = "<" + ", ".join(f"i32 {i}" for i in range(WARP)) + ">"  # of each thread in its warp


def bits_of(kind: str) -> int:
    return int(kind[1:])


def element(kind: str) -> str:
    return NUMBERS.get(kind, kind)


def vector(kind: str, width: int = WARP) -> str:
    return f"<{width} x {element(kind)}>"


def splat(kind: str, value: int) -> str:
    """A constant integer in all threads; it wraps to the kind."""
    wrapped = value & ((1 << bits_of(kind)) - 1)
    return f"splat ({kind} {wrapped})" if kind != "i1" else f"splat (i1 {'true' if wrapped else 'false'})"


@dataclass(slots=True)
class Writer:
    """The lines of a function's body, with fresh names, and the intrinsics that they call."""

    lines: list[str] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)
    fresh: "count[int]" = field(default_factory=count)

    def name(self) -> str:
        return f"%v{next(self.fresh)}"

    def put(self, line: str) -> None:
        self.lines.append(line)

    def made(self, expression: str) -> str:
        name = self.name()
        self.put(f"{name} = {expression}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def called(self, function: str, result: str, *arguments: tuple[str, str]) -> str:
        """A call of an intrinsic or of a function of checks.c or execute.c, by (type, value)."""
        types, given = ", ".join(t for t, _ in arguments), ", ".join(f"{t} {v}" for t, v in arguments)
        self.declared[function] = f"declare {result} @{function}({types})"
        if result == "void":
            self.put(f"call void @{function}({given})")
            return ""
        return self.made(f"call {result} @{function}({given})")

    # Operations on vectors; `operation` is LLVM's name with its flags.

    def two(self, operation: str, kind: str, a: str, b: str) -> str:
        return self.made(f"{operation} {vector(kind)} {a}, {b}")

    def compare(self, predicate: str, kind: str, a: str, b: str) -> str:
        what = "fcmp" if kind in NUMBERS else "icmp"
        return self.made(f"{what} {predicate} {vector(kind)} {a}, {b}")

    def select(self, kind: str, condition: str, a: str, b: str) -> str:
        return self.made(f"select {vector('i1')} {condition}, {vector(kind)} {a}, {vector(kind)} {b}")

    def cast(self, operation: str, source: str, value: str, target: str) -> str:
        return self.made(f"{operation} {vector(source)} {value} to {vector(target)}")

    def resized(self, value: str, source: str, target: str, is_signed: bool = False) -> str:
        """An integer with more or fewer bits."""
        before, after = bits_of(source), bits_of(target)
        if before == after:
            return value
        return self.cast("trunc" if after < before else "sext" if is_signed else "zext", source, value, target)

    def as_number(self, value: str, kind: str) -> str:
        """Bits seen as a number of that kind."""
        return self.cast("bitcast", f"i{bits_of(kind)}", value, kind)

    def as_bits(self, value: str, kind: str) -> str:
        return self.cast("bitcast", kind, value, f"i{bits_of(kind)}") if kind in NUMBERS else value

    def intrinsic(self, name: str, kind: str, *values: str) -> str:
        """A call of an LLVM intrinsic on vectors of one kind."""
        suffix = f"v{WARP}{kind}"
        return self.called(f"llvm.{name}.{suffix}", vector(kind), *((vector(kind), value) for value in values))

    def spread(self, kind: str, value: str) -> str:
        """A number in all threads, as a vector."""
        one = self.made(f"insertelement {vector(kind)} poison, {element(kind)} {value}, i32 0")
        return self.made(f"shufflevector {vector(kind)} {one}, {vector(kind)} poison, <{WARP} x i32> zeroinitializer")

    def mask_bits(self, value: str) -> str:
        """A vector of i1 as the bits of an i32."""
        return self.made(f"bitcast {vector('i1')} {value} to i32")

    def mask_vector(self, value: str) -> str:
        return self.made(f"bitcast i32 {value} to {vector('i1')}")

    def field(self, base: str, offset: int, kind: str) -> str:
        """A scalar of a structure of card.h, by its offset."""
        return self.made(f"load {kind}, ptr {self.place(base, offset)}")

    def place(self, base: str, offset: int) -> str:
        return self.made(f"getelementptr i8, ptr {base}, i64 {offset}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.put(f"br i1 {condition}, label %{yes}, label %{no}")
