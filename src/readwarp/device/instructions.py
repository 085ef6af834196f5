"""Single PTX instructions as device functions of int32, each with a twin in Python for the simulator.

Names say what they do; the instruction and its place in the PTX ISA manual (section 9.7) stand beside them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from readwarp.device.backend import is_simulated
from readwarp.device.jit import cuda


def _instruction(template: str, twin: Callable[..., Any]) -> Any:
    """A device function of as many int32 as the template has operands $1, $2, ..., giving $0."""
    if is_simulated():
        return cuda.jit(device=True)(twin)
    from llvmlite import ir
    from numba.core import types
    from numba.cuda.extending import intrinsic

    i32, operands = ir.IntType(32), template.count("$") - 1
    assembly = ir.InlineAsm(ir.FunctionType(i32, [i32] * operands), template, ",".join(["=r", *["r"] * operands]))

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.call(assembly, arguments)

    signature = types.int32(*[types.int32] * operands)
    if operands == 2:
        return intrinsic(lambda typing, a, b: (signature, code))
    return intrinsic(lambda typing, a, b, c: (signature, code))


def _signed(bits: int) -> Any:
    return np.uint32(bits & 0xFFFFFFFF).astype(np.int32)


def _permuted(low: Any, high: Any, selector: Any) -> Any:
    octet = (int(low) & 0xFFFFFFFF) | (int(high) & 0xFFFFFFFF) << 32
    digits = [int(selector) >> (4 * k) & 15 for k in range(4)]
    chosen = [octet >> (8 * (digit & 7)) & 255 for digit in digits]
    signs = [255 * (byte >> 7) if digit & 8 else byte for byte, digit in zip(chosen, digits, strict=True)]
    return _signed(sum(byte << (8 * k) for k, byte in enumerate(signs)))


def _dotted(left: Any, right: Any, total: Any) -> Any:
    products = np.array([left, right], np.int32).view(np.int8).reshape(2, 4).astype(np.int64).prod(axis=0)
    return _signed(int(total) + int(products.sum()))


# Four of the eight bytes of (low, high), named by the lowest four nibbles of the selector; + 8: its sign alone. prmt
permuted = _instruction("prmt.b32 $0, $1, $2, $3;", _permuted)

# The sum of the products of four signed bytes, and a number. dp4a
dotted = _instruction("dp4a.s32.s32 $0, $1, $2, $3;", _dotted)

# A product and a sum. mad.lo
scaled = _instruction("mad.lo.s32 $0, $1, $2, $3;", lambda a, b, c: _signed(int(a) * int(b) + int(c)))

# Nibbles pushed to the right by one; the lowest of `following` comes in. shf.r
nibble_pushed = _instruction(
    "shf.r.wrap.b32 $0, $1, $2, 4;",
    lambda nibbles, following: _signed((int(nibbles) & 0xFFFFFFFF) >> 4 | (int(following) & 15) << 28),
)
