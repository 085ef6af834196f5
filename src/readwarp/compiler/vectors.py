"""The code of `simd`: a Numba type of LLVM vectors, and the operations on it in LLVM.

Whatever compiles kernels imports this module first. It uses what Numba documents for extensions, and no more.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model

from readwarp.compiler import simd
from readwarp.compiler.simd import VECTOR_BYTES, Operation

READ, MOST_LOCAL, DATA = 0, 3, 1  # operands of llvm.prefetch (LLVM language reference)
extending.register_jitable(simd.empty_vectors)


def code_of(operation: Operation) -> Callable[[Any], Any]:
    """Return the decorator for the function that types an operation and generates its code."""

    def register(function: Any) -> Any:
        @extending.type_callable(operation)
        def typer_of(context: Any) -> Callable[..., Any]:
            return wraps(partial(function, context))(lambda *arguments: function(context, *arguments)[0])

        @extending.lower_builtin(operation, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return function(None, *signature.args)[1](context, builder, signature, arguments)

        return function

    return register


class LaneVector(types.Type):
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


@register_model(LaneVector)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lane_type: LaneVector) -> None:
        super().__init__(manager, lane_type, lane_type.llvm)  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, target: ir.Type, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), target.as_pointer())


@code_of(simd.load)
def _load(typing, array, index):
    lane_type = LaneVector(array.dtype)

    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, lane_type.llvm, signature.args[0], *arguments)
        return builder.load(pointer, align=lane_type.bits // 8)

    return lane_type(array, types.intp), codegen


@code_of(simd.load_bytes)
def _load_bytes(typing, array, index, like):
    lane_type = LaneVector(like.dtype)

    def codegen(context, builder, signature, arguments):
        narrow = ir.VectorType(ir.IntType(8), lane_type.count)
        value = builder.load(_pointer(context, builder, narrow, array, *arguments[:2]), align=1)
        return builder.sext(value, lane_type.llvm)

    return lane_type(array, types.intp, like), codegen


@code_of(simd.store)
def _store(typing, array, index, value):
    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, value.llvm, signature.args[0], *arguments[:2])
        builder.store(arguments[2], pointer, align=value.bits // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), codegen


@code_of(simd.splat)
def _splat(typing, array, number):
    lane_type = LaneVector(array.dtype)

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


def _call(builder: Any, name: str, kind: LaneVector, arguments: Sequence[Any]) -> Any:
    """Call an intrinsic function of LLVM whose arguments and result are vectors of one kind."""
    function_type = ir.FunctionType(kind.llvm, [kind.llvm] * len(arguments))
    symbol = f"llvm.{name}.v{kind.count}{'f' if kind.is_float else 'i'}{kind.bits}"
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, symbol), arguments)


def _register_binary(operation: Operation, name: str) -> None:
    """Register an operation on two vectors that LLVM calls by that name."""

    def code(typing: Any, a: Any, b: Any) -> Any:
        return a(a, b), lambda context, builder, signature, arguments: _call(builder, name, a, arguments)

    code_of(operation)(code)


_register_binary(simd.maximum, "smax")
_register_binary(simd.add, "sadd.sat")
_register_binary(simd.subtract, "ssub.sat")


@code_of(simd.plus)
def _plus(typing, a, b):
    def codegen(context, builder, signature, arguments):
        return (builder.fadd if a.is_float else builder.add)(*arguments)

    return a(a, b), codegen


@code_of(simd.fused)
def _fused(typing, a, b, c):
    return a(a, b, c), lambda context, builder, signature, arguments: _call(builder, "fma", a, arguments)


def _register_selection(operation: Operation, comparison: str) -> None:
    """Register a selection: yes in the lanes where the comparison holds, no elsewhere."""

    def code(typing: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            compare = builder.fcmp_ordered if a.is_float else builder.icmp_signed
            mask = compare(comparison, arguments[0], arguments[1])
            return builder.select(mask, arguments[2], arguments[3])

        return yes(a, b, yes, no), codegen

    code_of(operation)(code)


_register_selection(simd.where_equal, "==")
_register_selection(simd.where_greater, ">")


@code_of(simd.store_greater)
def _store_greater(typing, array, index, a, b):
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


@code_of(simd.load_eight)
def _load_eight(typing, array, index):
    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, ir.IntType(64), signature.args[0], *arguments)
        return builder.load(pointer, align=1)

    return types.uint64(array, types.intp), codegen


@code_of(simd.store_eight)
def _store_eight(typing, array, index, value):
    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, ir.IntType(64), signature.args[0], *arguments[:2])
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), codegen


@code_of(simd.prefetch)
def _prefetch(typing, array, index):
    def codegen(context, builder, signature, arguments):
        word, pointer = ir.IntType(32), _pointer(context, builder, ir.IntType(8), array, *arguments)
        function_type = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [pointer, word(READ), word(MOST_LOCAL), word(DATA)])
        return context.get_dummy_value()

    return types.void(array, index), codegen


@code_of(simd.fetch_add)
def _fetch_add(typing, array, index, number):
    def codegen(context, builder, signature, arguments):
        element = context.get_value_type(array.dtype)
        pointer = _pointer(context, builder, element, array, *arguments[:2])
        added = context.cast(builder, arguments[2], number, array.dtype)
        return builder.atomic_rmw("add", pointer, added, "monotonic")

    return array.dtype(array, index, number), codegen


@code_of(simd.call)
def _call_at(typing, address, arguments):
    def codegen(context, builder, signature, given):
        numbers = cgutils.unpack_tuple(builder, given[1])
        kind = ir.FunctionType(ir.IntType(32), [number.type for number in numbers])
        return builder.call(builder.inttoptr(given[0], kind.as_pointer()), numbers)

    return types.uint32(types.int64, types.UniTuple(types.int64, len(arguments))), codegen


@code_of(simd.store_transposed)
def _store_transposed(typing, out, place, source, starts):
    lane_type = LaneVector(source.dtype)
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
