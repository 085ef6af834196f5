"""The function of a kernel that Python calls: it unpacks Python's objects and packs the result.

Types are not checked again, since a kernel is called by the types of its arguments (`jit.Kernel`). Numba's own entry
checks every argument and every field of a tuple, which is a fifth of a kernel's code.
"""

from typing import Any

from llvmlite import ir

from readwarp.compiler.internals import PyCallWrapper, cgutils, types


def make_entry(context: Any, made: Any) -> Any:
    """Make the LLVM module that calls Numba's code of a kernel."""
    module, kernel = context.create_module("entry"), made.fndesc
    kind = context.call_conv.get_function_type(kernel.restype, kernel.argtypes)
    function = ir.Function(module, kind, kernel.llvm_func_name)
    KernelEntry(context, module, function, kernel, made.environment, made.call_helper, release_gil=True).build()
    return module


class KernelEntry(PyCallWrapper):
    """Numba's wrapper without type checks. It releases Python's GIL while the kernel runs."""

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        environment, self.api, self.builder = self.get_env(api, builder), api, builder
        self.borrowed: list[Any] = []  # owners of the argument arrays
        values = [self.value_of(kind, api.tuple_getitem(args, k)) for k, kind in enumerate(self.fndesc.argtypes)]
        number_too_large = cgutils.is_not_null(builder, api.err_occurred())
        with builder.if_then(number_too_large, likely=False):
            self.give_back()
            builder.ret(api.get_null_object())
        thread = api.save_thread()
        status, result = self.context.call_conv.call_function(
            builder, self.func, self.fndesc.restype, self.fndesc.argtypes, values, attrs=("noinline",)
        )
        api.restore_thread(thread)
        self.give_back()
        with builder.if_then(status.is_ok, likely=True):
            builder.ret(api.from_native_return(self.fndesc.restype, result, environment))
        self.context.call_conv.raise_error(builder, api, status)
        builder.ret(api.get_null_object())

    def value_of(self, kind: Any, given: Any) -> Any:
        """Convert a Python object to the kernel's argument."""
        if isinstance(kind, types.Array):
            fields = cgutils.alloca_once(self.builder, self.context.get_value_type(kind))
            self.api.nrt_adapt_ndarray_from_python(given, self.builder.bitcast(fields, self.api.voidptr))
            array = self.builder.load(fields)
            self.borrowed.append(self.context.data_model_manager[kind].get(self.builder, array, "meminfo"))
            return array
        if isinstance(kind, types.BaseTuple):
            parts: Any = kind
            values = [self.value_of(part, self.api.tuple_getitem(given, k)) for k, part in enumerate(parts)]
            return self.context.make_tuple(self.builder, kind, values)
        if kind == types.int64:
            return self.api.long_as_longlong(given)
        if kind == types.float64:
            return self.api.float_as_double(given)
        return self.api.to_native_value(kind, given).value

    def give_back(self) -> None:
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t])
        release = cgutils.get_or_insert_function(self.module, kind, "NRT_decref")
        for owner in self.borrowed:
            self.builder.call(release, [owner])
