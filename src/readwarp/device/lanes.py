"""Packed lanes for CUDA kernels: 32-bit registers that hold two numbers (or one), and their operations.

    form    numbers   made for          on each number
    s16x2   2 int16   sm_90 to sm_110   DPX: sum and maximum in one instruction, maximum of three
    half2   2 half    sm_8x, sm_12x     sums on the FMA pipe; integers are exact up to 2048
    int32   1 int32   older ones        and what overflows the others

A kernel written over these operations can be compiled for each form. Values are uint32; the first number of a pair lies
in the low half. Each operation is one line of PTX.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST_HALF = -2043  # score 0 with the least key in half2: so scores up to 510 times 8 are integers up to 2048
Operations = dict[str, tuple[str, int]]  # of each its PTX and its operands


@dataclass(frozen=True, slots=True)
class Form:
    """A number format of lanes."""

    number: type[np.generic]
    pairs: int  # numbers in a register
    keys: int  # a score is multiplied by this and a key added, which tells cells apart when scores are compared
    cells: int  # number of keys: from 0 on; in half2 from -3 to 3, so that all round to the score
    ptx: Operations


@dataclass(frozen=True, slots=True)
class Lanes:
    """The operations of a form, as device functions."""

    pick: Callable[..., Any]  # (a, b, selector): each byte of a (0 to 3) or b (4 to 7) by a digit; + 8: its sign alone
    gained: Callable[..., Any]  # (x, gain, y): max(x + gain, y)
    extended: Callable[..., Any]  # (gap, cost, y): max(gap + cost, y); half2: not below 0
    highest: Callable[..., Any]  # (x, y, floor): the maximum; half2 leaves the floor out
    plus: Callable[..., Any]  # (x, y, one): x + y, not on the ALU; integers: of 32 bits, so no half may leave its range
    scaled: Callable[..., Any]  # (x, factor, y): x * factor + y of 32 bits, whatever they hold
    keyed: Callable[..., Any]  # (x, keys, key): x * keys + key, not on the ALU; integers: see plus
    maximum: Callable[..., Any]  # (x, y)
    maximum3: Callable[..., Any]  # (x, y, z)
    leveled: Callable[..., Any]  # (x): x as `rises` compares it: in half2 without its key, else x
    rises: Callable[..., Any]  # (x, best, one), both leveled: all bits set where x without its key is above best so
    where: Callable[..., Any]  # (mask, x, y): the bits of x where mask is set, of y elsewhere
    uniform: Callable[..., Any]  # (x): what all threads of a warp have alike, below 2^31; the compiler then knows it
    packed: Callable[..., Any]  # (first, second): two int32 as lanes
    first: Callable[..., Any]  # (x): the number in the low half, or the only one, as int32
    second: Callable[..., Any]  # (x): the number in the high half


_SAME = {  # in all forms
    "pick": ("prmt.b32 $0, $1, $2, $3;", 3),
    "scaled": ("mad.lo.s32 $0, $1, $2, $3;", 3),
    "where": ("lop3.b32 $0, $1, $2, $3, 0xCA;", 3),
}
# A product with a 1 that the compiler does not know goes to the FMA pipe.
_INTEGERS = _SAME | {
    "plus": ("mad.lo.s32 $0, $1, $3, $2;", 3),
    "keyed": ("mad.lo.s32 $0, $1, $2, $3;", 3),
    "leveled": ("mov.b32 $0, $1;", 1),
    "uniform": ("mov.b32 $0, $1;", 1),  # no such reduction exists before sm_80, none is needed from sm_90 on
}
FORMS: dict[str, Form] = {
    "s16x2": Form(
        number=np.int16,
        pairs=2,
        keys=32,
        cells=32,
        ptx=_INTEGERS
        | {
            "gained": ("add.s16x2 t, $1, $2; max.s16x2 $0, t, $3;", 3),
            "extended": ("add.s16x2 t, $1, $2; max.s16x2 $0, t, $3;", 3),
            "highest": ("max.s16x2 t, $1, $2; max.s16x2 $0, t, $3;", 3),
            "maximum": ("max.s16x2 $0, $1, $2;", 2),
            "maximum3": ("max.s16x2 t, $1, $2; max.s16x2 $0, t, $3;", 3),
            # x + 32767 - (best | 31) has its sign set; neither is below 0, so nothing is carried to the other half
            "rises": (
                "lop3.b32 t, $2, 0x001F001F, 0x7FFF7FFF, 0x56; mad.lo.s32 t, $1, $3, t; prmt.b32 $0, t, 0, 0xBB99;",
                3,
            ),
            "packed": ("prmt.b32 $0, $1, $2, 0x5410;", 2),
            "first": ("cvt.s32.s16 $0, $1;", 1),
            "second": ("shr.s32 $0, $1, 16;", 1),
        },
    ),
    "half2": Form(
        number=np.float16,
        pairs=2,
        keys=8,
        cells=7,
        ptx=_SAME
        | {
            "gained": ("add.f16x2 t, $1, $2; max.f16x2 $0, t, $3;", 3),
            "extended": ("mov.b32 t, 0x3C003C00; fma.rn.relu.f16x2 t, $1, t, $2; max.f16x2 $0, t, $3;", 3),
            "highest": ("max.f16x2 $0, $1, $2;", 3),
            "plus": ("add.f16x2 $0, $1, $2;", 3),
            "keyed": ("fma.rn.f16x2 $0, $1, $2, $3;", 3),
            "maximum": ("max.f16x2 $0, $1, $2;", 2),
            "maximum3": ("max.f16x2 t, $1, $2; max.f16x2 $0, t, $3;", 3),
            # Beyond 8192 there are only multiples of 8: x + 10240 is rounded to one.
            "leveled": ("mov.b32 t, 0x71007100; add.f16x2 $0, $1, t;", 1),
            "rises": ("set.gt.u32.f16x2 $0, $1, $2;", 3),
            "uniform": ("redux.sync.max.s32 $0, $1, 0xFFFFFFFF;", 1),
            "packed": ("cvt.rn.f32.s32 t, $1; cvt.rn.f32.s32 u, $2; cvt.rn.f16x2.f32 $0, u, t;", 2),
            "first": ("mov.b32 {l, h}, $1; cvt.rni.s32.f16 $0, l;", 1),
            "second": ("mov.b32 {l, h}, $1; cvt.rni.s32.f16 $0, h;", 1),
        },
    ),
    "int32": Form(
        number=np.int32,
        pairs=1,
        keys=32,
        cells=32,
        ptx=_INTEGERS
        | {
            "gained": ("add.s32 t, $1, $2; max.s32 $0, t, $3;", 3),
            "extended": ("add.s32 t, $1, $2; max.s32 $0, t, $3;", 3),
            "highest": ("max.s32 t, $1, $2; max.s32 $0, t, $3;", 3),
            "maximum": ("max.s32 $0, $1, $2;", 2),
            "maximum3": ("max.s32 t, $1, $2; max.s32 $0, t, $3;", 3),
            "rises": ("or.b32 t, $2, 31; set.gt.u32.s32 $0, $1, t;", 3),
            "packed": ("mov.b32 $0, $1;", 2),
            "first": ("mov.b32 $0, $1;", 1),
            "second": ("mov.b32 $0, $1;", 1),
        },
    ),
}

FASTEST = (  # from this compute capability on: the fastest form, then those for scores that overflow the one before
    ((12, 0), ("half2", "s16x2", "int32")),  # there ptxas makes two instructions of each that DPX has
    ((9, 0), ("s16x2", "int32")),
    ((8, 0), ("half2", "int32")),
    ((0, 0), ("int32",)),
)


def form_of(capability: tuple[int, int]) -> str:
    """The fastest form on cards of a compute capability."""
    return forms_of(capability)[0]


def forms_of(capability: tuple[int, int]) -> tuple[str, ...]:
    """The forms for cards of a compute capability."""
    return next(forms for oldest, forms in FASTEST if capability >= oldest)


def pairs_of(form: str) -> int:
    return FORMS[form].pairs


def keys_of(form: str) -> int:
    return FORMS[form].keys


def cells_of(form: str) -> int:
    return FORMS[form].cells


def packed(form: str, first: int, second: int) -> int:
    """The lanes that hold two numbers, made on the host; int32 holds the first alone. OverflowError beyond int16."""
    return int(np.array([first, second], FORMS[form].number).view(np.uint32)[0])


def lanes_of(form: str) -> Lanes:
    """The operations for kernels. t, u, l and h are registers of their own."""
    from numba.core import types

    from readwarp.device.instructions import instruction

    def make(name: str, ptx: str, operands: int) -> Any:
        result = types.int32 if name in ("first", "second") else types.uint32
        return instruction(f"{{ .reg .b32 t, u; .reg .b16 l, h; {ptx} }}", operands, types.uint32, result)

    return Lanes(**{name: make(name, *line) for name, line in FORMS[form].ptx.items()})
