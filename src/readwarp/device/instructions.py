"""PTX instructions as device functions; see section 9.7 of the PTX ISA manual."""

from typing import Any

from llvmlite import ir
from numba.core import types

from readwarp.device.cuda_jit import cuda

intrinsic = cuda.extending.intrinsic


def instruction(ptx: str, operands: int, given: Any = types.int32, result: Any = types.int32) -> Any:
    """Make a device function of one to three 32-bit operands $1, $2, $3 of one type, with result $0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        assembly = ir.InlineAsm(ir.FunctionType(word, [word] * operands), ptx, "=r" + ",r" * operands)
        return builder.call(assembly, arguments)

    typings = (
        lambda typing, a: (result(given), code),
        lambda typing, a, b: (result(given, given), code),
        lambda typing, a, b, c: (result(given, given, given), code),
    )
    made = intrinsic(typings[operands - 1])
    # With a random identifier, kernels that use it would never be found in the disk cache.
    made._set_uuid(f"readwarp {result}: {ptx}")
    return made


# Four of the eight bytes of (low, high), chosen by the lowest four nibbles of a selector; + 8: only the byte's sign.
permute_bytes = instruction("prmt.b32 $0, $1, $2, $3;", 3)

# The sum of the products of four signed bytes and of a number.
dot = instruction("dp4a.s32.s32 $0, $1, $2, $3;", 3)

multiply_add = instruction("mad.lo.s32 $0, $1, $2, $3;", 3)

# Nibbles shifted right by one; the lowest nibble of the other operand enters at the left.
push_nibble = instruction("shf.r.wrap.b32 $0, $1, $2, 4;", 2)


@cuda.jit(device=True)
def highest_of(value):
    """Return the highest value in the warp; all threads take part."""
    for distance in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, distance))
    return value


@cuda.jit(device=True)
def shuffle_up(value):
    """Return the value of the previous thread; all threads of the warp take part."""
    return cuda.shfl_up_sync(0xFFFFFFFF, value, 1)
