"""Prefetching (CPU only), so that a look-up in a large table does not wait for memory."""

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

intrinsic: Any = extending.intrinsic  # its type says that the typing context is an argument of the caller
READ, MOST_LOCAL, DATA = 0, 3, 1  # operands of llvm.prefetch


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Bring array[index] into the cache; never faults (LLVM language reference, llvm.prefetch)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [place.type, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [place, word(READ), word(MOST_LOCAL), word(DATA)])
        return context.get_dummy_value()

    return types.void(array, index), code
