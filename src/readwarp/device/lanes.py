"""Packed lanes for CUDA kernels: 32-bit registers that hold two numbers (or one), and the operations on them.

    form    numbers   made for          on each number
    s16x2   2 int16   sm_90 to sm_103   DPX: sum and maximum in one instruction, maximum of three
    half2   2 half    sm_8x, sm_110 on  sums on the FMA pipe; integers are exact up to 2048
    int32   1 int32   older cards       and for what overflows the others

A kernel written with these operations can be compiled for each form. Values are uint32; the first number of a pair is
in the low half. Each operation is one line of PTX. Everything that distinguishes a form is in one entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class LaneOperations:
    """Operations of a form, as device functions."""

    pick: Callable[..., Any]  # (a, b, selector): a digit picks a byte of a (0 to 3) or b (4 to 7); + 8: only its sign
    gained: Callable[..., Any]  # (x, gain, y): max(x + gain, y)
    extended: Callable[..., Any]  # (gap, cost, y): max(gap + cost, y); half2: not below 0
    highest: Callable[..., Any]  # (x, y, floor): the maximum; half2 ignores the floor
    plus: Callable[..., Any]  # (x, y, one): x + y, off the ALU; integers: 32 bits wide, so no half may leave its range
    scaled: Callable[..., Any]  # (x, factor, y): x * factor + y in 32 bits, in all forms
    keyed: Callable[..., Any]  # (x, keys, key): x * keys + key, off the ALU; integers: see plus
    maximum: Callable[..., Any]  # (x, y)
    maximum3: Callable[..., Any]  # (x, y, z)
    leveled: Callable[..., Any]  # (x): x for `rises`: in half2 without its key, else x
    rises: Callable[..., Any]  # (x, best, one), both leveled: all bits set where x, without its key, is above best
    where: Callable[..., Any]  # (mask, x, y): the bits of x where mask is set, of y elsewhere
    uniform: Callable[..., Any]  # (x): x, equal in all threads of a warp; tells the compiler so; below 2^31
    packed: Callable[..., Any]  # (first, second): two int32 as lanes
    first: Callable[..., Any]  # (x): the number in the low half, or the only one, as int32
    second: Callable[..., Any]  # (x): the number in the high half


@dataclass(frozen=True, slots=True, eq=False)
class LaneForm:
    """The number format of a register, and its operations."""

    name: str
    number: type  # NumPy's type of a number in a register
    since: tuple[int, int]  # first compute capability with its instructions
    factor: int  # scores are multiplied by this for comparison; the key, which is smaller, tells cells apart
    keys: int  # number of keys: 0 to 31; in half2 -3 to 3, so that all round to the score
    lowest: int  # score 0 with the lowest key; in half2 so low that scores up to 510, times 8, end at 2048
    byte: int  # digits of `pick` that make a number of byte 0
    ptx: dict[str, tuple[str, int]]  # instructions and number of operands of each operation

    def __str__(self) -> str:
        return f"{__name__}:{self.name.upper()}"  # where it is found

    @property
    def numbers(self) -> int:
        """Numbers per register, 1 or 2."""
        return 4 // np.dtype(self.number).itemsize

    @property
    def is_float(self) -> bool:
        return issubclass(self.number, np.floating)

    def packed(self, first: int, second: int) -> int:
        """Pack two numbers into a register, or the first in int32. Raises OverflowError beyond int16."""
        return int(np.array([first, second], self.number).view(np.uint32)[0])

    def lanes(self) -> LaneOperations:
        """Return the operations for kernels. Their PTX may use registers t, u, l and h."""
        from numba.core import types

        from readwarp.device.instructions import instruction

        def operation(name: str, ptx: str, operands: int) -> Any:
            result = types.int32 if name in ("first", "second") else types.uint32
            return instruction(f"{{ .reg .b32 t, u; .reg .b16 l, h; {ptx} }}", operands, types.uint32, result)

        return LaneOperations(**{name: operation(name, *line) for name, line in (_SAME | self.ptx).items()})


_SAME = {  # operations common to all forms
    "pick": ("prmt.b32 $0, $1, $2, $3;", 3),
    "scaled": ("mad.lo.s32 $0, $1, $2, $3;", 3),
    "where": ("lop3.b32 $0, $1, $2, $3, 0xCA;", 3),
}


def _integers(kind: str) -> dict[str, tuple[str, int]]:
    """Return the integer operations. A product with 1 runs on the FMA pipe if the compiler cannot know that it is 1."""
    return {
        "gained": (f"add.{kind} t, $1, $2; max.{kind} $0, t, $3;", 3),
        "extended": (f"add.{kind} t, $1, $2; max.{kind} $0, t, $3;", 3),
        "highest": (f"max.{kind} t, $1, $2; max.{kind} $0, t, $3;", 3),
        "plus": ("mad.lo.s32 $0, $1, $3, $2;", 3),
        "keyed": ("mad.lo.s32 $0, $1, $2, $3;", 3),
        "maximum": (f"max.{kind} $0, $1, $2;", 2),
        "maximum3": (f"max.{kind} t, $1, $2; max.{kind} $0, t, $3;", 3),
        "leveled": ("mov.b32 $0, $1;", 1),
        "uniform": ("mov.b32 $0, $1;", 1),  # the reduction does not exist before sm_80 and is useless from sm_90 on
    }


S16X2 = LaneForm(
    "s16x2",
    number=np.int16,
    since=(9, 0),
    factor=32,
    keys=32,
    lowest=0,
    byte=0x80,
    ptx={
        **_integers("s16x2"),
        # x + 32767 - (best | 31) has its sign set; neither is below 0, so nothing carries into the other half
        "rises": (
            "lop3.b32 t, $2, 0x001F001F, 0x7FFF7FFF, 0x56; mad.lo.s32 t, $1, $3, t; prmt.b32 $0, t, 0, 0xBB99;",
            3,
        ),
        "packed": ("prmt.b32 $0, $1, $2, 0x5410;", 2),
        "first": ("cvt.s32.s16 $0, $1;", 1),
        "second": ("shr.s32 $0, $1, 16;", 1),
    },
)
HALF2 = LaneForm(
    "half2",
    number=np.float16,
    since=(8, 0),
    factor=8,
    keys=7,
    lowest=-2043,
    byte=0x08,
    ptx={
        "gained": ("add.f16x2 t, $1, $2; max.f16x2 $0, t, $3;", 3),
        "extended": ("mov.b32 t, 0x3C003C00; fma.rn.relu.f16x2 t, $1, t, $2; max.f16x2 $0, t, $3;", 3),
        "highest": ("max.f16x2 $0, $1, $2;", 3),
        "plus": ("add.f16x2 $0, $1, $2;", 3),
        "keyed": ("fma.rn.f16x2 $0, $1, $2, $3;", 3),
        "maximum": ("max.f16x2 $0, $1, $2;", 2),
        "maximum3": ("max.f16x2 t, $1, $2; max.f16x2 $0, t, $3;", 3),
        # Beyond 8192 only multiples of 8 remain: x + 10240 is rounded to one.
        "leveled": ("mov.b32 t, 0x71007100; add.f16x2 $0, $1, t;", 1),
        "rises": ("set.gt.u32.f16x2 $0, $1, $2;", 3),
        "uniform": ("redux.sync.max.s32 $0, $1, 0xFFFFFFFF;", 1),
        "packed": ("cvt.rn.f32.s32 t, $1; cvt.rn.f32.s32 u, $2; cvt.rn.f16x2.f32 $0, u, t;", 2),
        "first": ("mov.b32 {l, h}, $1; cvt.rni.s32.f16 $0, l;", 1),
        "second": ("mov.b32 {l, h}, $1; cvt.rni.s32.f16 $0, h;", 1),
    },
)
INT32 = LaneForm(
    "int32",
    number=np.int32,
    since=(0, 0),
    factor=32,
    keys=32,
    lowest=0,
    byte=0x8880,
    ptx={
        **_integers("s32"),
        "rises": ("or.b32 t, $2, 31; set.gt.u32.s32 $0, $1, t;", 3),
        "packed": ("mov.b32 $0, $1;", 2),
        "first": ("mov.b32 $0, $1;", 1),
        "second": ("mov.b32 $0, $1;", 1),
    },
)
FORMS = (S16X2, HALF2, INT32)
BY_CAPABILITY = (  # each from this one on; from 11.0 on, ptxas makes several instructions of each DPX instruction
    ((11, 0), (HALF2, S16X2, INT32)),
    (S16X2.since, (S16X2, INT32)),
    (HALF2.since, (HALF2, INT32)),
    (INT32.since, (INT32,)),
)


def form_of(capability: tuple[int, int]) -> LaneForm:
    """Return the fastest form on cards of a compute capability."""
    return forms_of(capability)[0]


def forms_of(capability: tuple[int, int]) -> tuple[LaneForm, ...]:
    """List the forms for a compute capability: the fastest, then those for scores that overflow the one before."""
    return next(forms for since, forms in BY_CAPABILITY if capability >= since)
