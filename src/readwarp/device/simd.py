"""Explicit SIMD in Numba: a type whose values are LLVM vectors of signed integers or floats, for CPU kernels.

A vector is as wide as the registers of the machine's level, `VECTOR_BYTES`, so the lane type determines the number of
lanes: `lanes(np.int8)` is 64 with AVX-512, 32 with AVX2, 16 with SSE or NEON. Kernels are written once: the dtype of
the arrays they load from determines the lane type. A lane never depends on its neighbours, so results do not depend on
the width. `READWARP_VECTOR_BYTES` sets another width (for tests; use it with an empty kernel cache).

Arrays are C-contiguous, and an index counts elements. `add` and `subtract` saturate and are for integers; floats have
`plus` and `fused`, each rounded once, in the order in which a kernel calls them.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model
from numpy.typing import DTypeLike

from readwarp.device.levels import current_level

intrinsic: Any = extending.intrinsic  # by its type, callers would have to pass the typing context
READ, MOST_LOCAL, DATA = 0, 3, 1  # operands of llvm.prefetch
VECTOR_BYTES = int(os.environ.get("READWARP_VECTOR_BYTES") or current_level().vector_bytes)


def lanes(dtype: DTypeLike) -> int:
    """Lanes of that type in one vector."""
    return VECTOR_BYTES // np.dtype(dtype).itemsize


@extending.register_jitable
def empty_vectors(elements: int, dtype: Any) -> np.ndarray:
    """An array of that many elements, its content undefined, aligned for vectors.

    Numba aligns arrays to 32 bytes; every vector of 64 would then take two cache lines.
    """
    spare = np.empty(elements + VECTOR_BYTES, dtype)
    first = -spare.ctypes.data % VECTOR_BYTES // spare.itemsize
    return spare[first : first + elements]


class Lanes(types.Type):
    """The Numba type of one vector of `count` signed integers or floats of `bits` bits."""

    def __init__(self, element: Any) -> None:
        self.is_float = isinstance(element, types.Float)
        self.bits, self.count = element.bitwidth, VECTOR_BYTES * 8 // element.bitwidth
        super().__init__(name=f"Lanes({'float' if self.is_float else 'int'}{self.bits} x {self.count})")

    @property
    def element(self) -> ir.Type:
        if self.is_float:
            return ir.FloatType() if self.bits == 32 else ir.DoubleType()
        return ir.IntType(self.bits)

    @property
    def llvm(self) -> ir.VectorType:
        return ir.VectorType(self.element, self.count)


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lane_type: Lanes) -> None:
        super().__init__(manager, lane_type, lane_type.llvm)  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, target: ir.Type, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), target.as_pointer())


@intrinsic
def load(typing, array, index):
    """array[index : index + lanes] as one vector."""
    lane_type = Lanes(array.dtype)

    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, lane_type.llvm, signature.args[0], *arguments)
        return builder.load(pointer, align=lane_type.bits // 8)

    return lane_type(array, types.intp), codegen


@intrinsic
def load_bytes(typing, array, index, like):
    """array[index : index + lanes] of signed bytes, as integers of the dtype of `like`."""
    lane_type = Lanes(like.dtype)

    def codegen(context, builder, signature, arguments):
        narrow = ir.VectorType(ir.IntType(8), lane_type.count)
        value = builder.load(_pointer(context, builder, narrow, array, *arguments[:2]), align=1)
        return builder.sext(value, lane_type.llvm)

    return lane_type(array, types.intp, like), codegen


@intrinsic
def store(typing, array, index, value):
    """array[index : index + lanes] = value."""

    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, value.llvm, signature.args[0], *arguments[:2])
        builder.store(arguments[2], pointer, align=value.bits // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), codegen


@intrinsic
def splat(typing, array, number):
    """A vector of the array's lane type with the number (the low bits of an integer) in every lane."""
    lane_type = Lanes(array.dtype)

    def codegen(context, builder, signature, arguments):
        element, value = lane_type.element, arguments[1]
        if lane_type.is_float:
            value = context.cast(builder, value, number, array.dtype)
        elif value.type.width > lane_type.bits:
            value = builder.trunc(value, element)
        elif value.type.width < lane_type.bits:
            value = builder.sext(value, element)
        undefined = ir.Constant(lane_type.llvm, ir.Undefined)
        first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), lane_type.count), None)
        return builder.shuffle_vector(first, undefined, zeros)

    return lane_type(array, number), codegen


def _call(builder: Any, name: str, kind: Lanes, arguments: Sequence[Any]) -> Any:
    """Call an intrinsic function of LLVM whose arguments and result are vectors of one kind."""
    function_type = ir.FunctionType(kind.llvm, [kind.llvm] * len(arguments))
    symbol = f"llvm.{name}.v{kind.count}{'f' if kind.is_float else 'i'}{kind.bits}"
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, symbol), arguments)


def _binary(name: str) -> Any:
    """The operation of two vectors that LLVM calls by that name."""

    def operation(typing: Any, a: Any, b: Any) -> Any:
        return a(a, b), lambda context, builder, signature, arguments: _call(builder, name, a, arguments)

    return intrinsic(operation)


maximum = _binary("smax")
add = _binary("sadd.sat")
subtract = _binary("ssub.sat")


@intrinsic
def plus(typing, a, b):
    """a + b; integers wrap around."""

    def codegen(context, builder, signature, arguments):
        return (builder.fadd if a.is_float else builder.add)(*arguments)

    return a(a, b), codegen


@intrinsic
def fused(typing, a, b, c):
    """a * b + c of floats, rounded once."""
    return a(a, b, c), lambda context, builder, signature, arguments: _call(builder, "fma", a, arguments)


def _select(comparison: str) -> Any:
    def operation(typing: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            mask = builder.icmp_signed(comparison, arguments[0], arguments[1])
            return builder.select(mask, arguments[2], arguments[3])

        return yes(a, b, yes, no), codegen

    return intrinsic(operation)


where_equal = _select("==")  # (a, b, yes, no): yes in the lanes where a == b, no elsewhere
where_greater = _select(">")


@intrinsic
def store_greater(typing, array, index, a, b):
    """One bit per lane, set where a > b, into a uint8 array at byte `index` (lane 0 is the lowest bit)."""
    width = max(8, a.count)

    def codegen(context, builder, signature, arguments):
        mask = builder.icmp_signed(">", arguments[2], arguments[3])
        bits = builder.bitcast(mask, ir.IntType(a.count))
        if width > a.count:
            bits = builder.zext(bits, ir.IntType(width))
        pointer = _pointer(context, builder, ir.IntType(width), signature.args[0], *arguments[:2])
        builder.store(bits, pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, a, b), codegen


@intrinsic
def load_eight(typing, array, index):
    """array[index : index + 8] of a uint8 array as one uint64, the first byte lowest."""

    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, ir.IntType(64), signature.args[0], *arguments)
        return builder.load(pointer, align=1)

    return types.uint64(array, types.intp), codegen


@intrinsic
def store_eight(typing, array, index, value):
    """The bytes of a uint64, the lowest first, to array[index : index + 8] of an array of bytes."""

    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, ir.IntType(64), signature.args[0], *arguments[:2])
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), codegen


@intrinsic
def prefetch(typing, array, index):
    """Bring array[index] into the cache; never faults (LLVM language reference, llvm.prefetch)."""

    def codegen(context, builder, signature, arguments):
        word, pointer = ir.IntType(32), _pointer(context, builder, ir.IntType(8), array, *arguments)
        function_type = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [pointer, word(READ), word(MOST_LOCAL), word(DATA)])
        return context.get_dummy_value()

    return types.void(array, index), codegen


@intrinsic
def store_transposed(typing, out, place, source, starts):
    """out[place + k * lanes + lane] = source[starts[lane] + k] for k in range(lanes), in arrays of one dtype."""
    lane_type = Lanes(source.dtype)
    count = lane_type.count

    def codegen(context, builder, signature, arguments):
        index = ir.IntType(64)
        starts_at = context.make_array(starts)(context, builder, arguments[3]).data
        rows = []
        for lane in range(count):
            start = builder.load(builder.gep(starts_at, [index(lane)]))
            pointer = _pointer(context, builder, lane_type.llvm, source, arguments[2], start)
            rows.append(builder.load(pointer, align=lane_type.bits // 8))
        halves = [[k // 2 + first + count * (k % 2) for k in range(count)] for first in (0, count // 2)]
        masks = [ir.Constant(ir.VectorType(ir.IntType(32), count), half) for half in halves]
        for _ in range(count.bit_length() - 1):  # rows half a square apart interleave, log2(lanes) times
            pairs = zip(rows[: count // 2], rows[count // 2 :], strict=True)
            rows = [builder.shuffle_vector(a, b, mask) for a, b in pairs for mask in masks]
        for k, row in enumerate(rows):
            at = builder.add(arguments[1], index(k * count))
            builder.store(
                row, _pointer(context, builder, lane_type.llvm, out, arguments[0], at), align=lane_type.bits // 8
            )
        return context.get_dummy_value()

    return types.void(out, types.intp, source, starts), codegen
