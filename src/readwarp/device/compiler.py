"""Kernels compiled by Numba to machine code for a level of processors: the only place that knows Numba's compiler.

Numba's own way would compile each function that a kernel calls to machine code too, with two wrappers, once by itself
and once more inside the kernel, and keep it on disk. Here only what Python calls becomes machine code: the functions
below it are typed and lowered, linked into the kernel, and optimized there, once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numba.core import compiler, types
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typing.typeof import typeof_impl
from numba.np.numpy_support import from_dtype

from readwarp.device import vectors
from readwarp.device.levels import current_level
from readwarp.device.loader import load_extensions
from readwarp.device.machine_code import MachineCode
from readwarp.device.signature import class_of

assert vectors  # registers the operations of `simd`


class Library(CPUCodeLibrary):
    """Code that is not run in this process. What kernels call is optimized as a part of them, not by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_specific(self) -> None:
        pass

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def emit(self) -> bytes:
        """The object code of the whole."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        super()._optimize_final_module()  # type: ignore[no-untyped-call]
        return bytes(self._codegen._tm.emit_object(self._final_module))

    def undefined(self) -> list[str]:
        """Symbols that the optimized module takes from elsewhere."""
        module = self._final_module
        named = [
            each.name for found in (module.functions, module.global_variables) for each in found if each.is_declaration
        ]
        return sorted(name for name in named if not name.startswith("llvm."))


class Codegen(JITCPUCodegen):
    """Makes code for a level of processors, without an engine that would run it."""

    _library_class = Library  # type: ignore[assignment]

    def _add_module(self, module: Any) -> None:
        pass

    def set_env(self, env_name: str, env: Any) -> None:
        pass

    def _get_host_cpu_name(self) -> str:
        return current_level().cpu

    def _get_host_cpu_features(self) -> str:
        return current_level().features


class RuleDispatcher(CPUDispatcher):
    """A function that kernels call: compiled without machine code or wrappers."""

    def __init__(self, py_func: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(py_func, targetoptions={"nopython": True, **options})
        self._compiler._customize_flags = _without_code  # type: ignore[attr-defined]

    def add_overload(self, cres: Any) -> None:
        """Numba finds the code to link by the function that Python would call; here that is only a mark."""
        compiled = cres._replace(entry_point=object())
        self.overloads[tuple(compiled.signature.args)] = compiled
        self.targetctx.insert_user_function(compiled.entry_point, compiled.fndesc, [compiled.library])


def _without_code(flags: Any) -> Any:
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    return flags


def compile_kernel(function: Callable[..., Any], options: dict[str, Any], signature: str) -> MachineCode:
    """Compile for the level of this process. Raises Numba's errors for what it cannot compile."""
    with global_compiler_lock, _own_codegen():
        flags: Any = compiler.Flags()
        cpu_target.options.parse_as_flags(flags, {"nopython": True, **options})
        flags.no_cfunc_wrapper = flags.no_compile = True
        typing, target = cpu_target.typing_context, cpu_target.target_context
        typing.refresh()
        target.refresh()
        arguments = tuple(types_of(signature))
        made = compiler.compile_extra(typing, target, function, arguments, None, flags, {})
        load_extensions()  # so that LLVM knows the symbols
        object_code = made.library.emit()
        constants = tuple(constant.str for constant in made.environment.consts)
        return MachineCode(
            symbol=made.fndesc.llvm_cpython_wrapper_name,
            environment=target.get_env_name(made.fndesc),
            constants=constants,
            needs=tuple(made.library.undefined()),
            object_code=object_code,
        )


@contextmanager
def _own_codegen() -> Iterator[None]:
    """While the block runs, Numba's context for CPUs makes code in our way. The compiler's lock is held."""
    target = cpu_target.target_context
    codegen = target._internal_codegen
    target._internal_codegen, target.create_cfunc_wrapper = _codegen(), lambda *_: None
    try:
        yield
    finally:
        target._internal_codegen = codegen
        del target.create_cfunc_wrapper


@cache
def _codegen() -> Codegen:
    return Codegen("readwarp")  # type: ignore[no-untyped-call]


def types_of(signature: str) -> list[Any]:
    """Numba's types of a signature."""
    found, rest = _parse_list(signature)
    if rest:
        raise ValueError(f"not a signature of a kernel: {signature}")
    return found


def _parse_list(text: str) -> tuple[list[Any], str]:
    """Types up to the end or a closing bracket, and the text from there on."""
    found = []
    while text and text[0] != ")":
        kind, text = _parse(text.removeprefix(","))
        found.append(kind)
    return found, text


def _parse(text: str) -> tuple[Any, str]:
    """The first type of the text, and the rest of the text."""
    name = text[: min((text.find(mark) for mark in "(,)[" if mark in text), default=len(text))]
    rest = text[len(name) :]
    if rest.startswith("("):
        parts, rest = _parse_list(rest[1:])
        return types.BaseTuple.from_types(parts, class_of(name) if name else tuple), rest[1:]
    number = from_dtype(np.dtype(name))
    if not rest.startswith("["):
        return number, rest
    axes, _, rest = rest[1:].partition("]")
    layout = rest[:1] if rest[:1] in ("F", "A") else "C"
    array: Any = types.Array
    return array(number, axes.count(":"), layout), rest.removeprefix(layout)


def register_kernels(kind: type) -> None:
    """Where a kernel names an instance of this class, it is a function to Numba: its `dispatcher`."""
    typeof_impl.register(kind, lambda kernel, _: types.Dispatcher(kernel.dispatcher))
