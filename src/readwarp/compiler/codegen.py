"""Compile kernels with Numba to machine code for a processor level.

Numba itself would compile each function that a kernel calls to machine code too, with two wrappers, once alone and once
more inside the kernel, and keep it on disk. Here only what Python calls becomes machine code: the functions below it
are typed and lowered, linked into the kernel, and optimised there, once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from readwarp.compiler import vectors
from readwarp.compiler.entry import make_entry
from readwarp.compiler.internals import CPUCodeLibrary, JITCPUCodegen, cpu_target, global_compiler_lock, rtsys
from readwarp.compiler.levels import current_level
from readwarp.compiler.loader import load_extensions
from readwarp.compiler.machine_code import MachineCode
from readwarp.compiler.parts import KernelPart, PartLibrary, parts_of_numba, without_garbage_collection
from readwarp.compiler.shortcuts import shortcuts
from readwarp.compiler.signature import types_of

assert vectors  # registers the operations of `simd`


class CodeLibrary(PartLibrary):
    """The code of a kernel and all its parts, not run in this process."""

    def add_linking_library(self, library: Any) -> None:
        for each in library.gather() if isinstance(library, PartLibrary) else (library,):
            if isinstance(each, PartLibrary):
                self._final_module.link_in(each.module, preserve=True)
            else:  # Numba's runtime
                super().add_linking_library(each)

    def emit(self) -> bytes:
        """Return the object code of the whole."""
        CPUCodeLibrary.finalize(self)  # type: ignore[no-untyped-call]
        return bytes(self._codegen._tm.emit_object(self._final_module))

    def _finalize_specific(self) -> None:
        pass

    def undefined(self) -> list[str]:
        """List the symbols that the optimised module takes from elsewhere."""
        module = self._final_module
        named = [
            each.name for found in (module.functions, module.global_variables) for each in found if each.is_declaration
        ]
        return sorted(name for name in named if not name.startswith("llvm."))


class Codegen(JITCPUCodegen):
    """Code generator for a processor level, without an engine to run the code."""

    _library_class = PartLibrary  # type: ignore[assignment]

    def _add_module(self, module: Any) -> None:
        pass

    def set_env(self, env_name: str, env: Any) -> None:
        pass

    def _get_host_cpu_name(self) -> str:
        return current_level().cpu

    def _get_host_cpu_features(self) -> str:
        return current_level().features


def compile_kernel(part: KernelPart, signature: str) -> MachineCode:
    """Compile for the level of this process. Raises Numba's errors for code that it cannot compile."""
    target = cpu_target.target_context
    with global_compiler_lock, _own_codegen(), without_garbage_collection():
        get_ready()
        kinds = tuple(types_of(signature))
        part.compile(kinds)
        made = part.overloads[kinds]
        library, context = CodeLibrary(_codegen(), made.library.name), made.target_context.subtarget(enable_nrt=True)
        with context.push_code_library(library):  # making Python objects may need more parts
            library.add_ir_module(make_entry(context, made))
        library.add_linking_library(made.library)
        library.add_linking_library(rtsys.library)  # for the wrapper
        load_extensions()  # makes the symbols known to LLVM
        return MachineCode(
            symbol=made.fndesc.llvm_cpython_wrapper_name,
            environment=target.get_env_name(made.fndesc),
            constants=tuple(constant.str for constant in made.environment.consts),
            object_code=library.emit(),
            needs=tuple(library.undefined()),  # by the module that this has optimised
        )


def get_ready() -> None:
    """Load all of Numba's registries, and its runtime, which is no part."""
    target = cpu_target.target_context
    with global_compiler_lock:
        rtsys.initialize(target)
        cpu_target.typing_context.refresh()
        target.refresh()


@contextmanager
def _own_codegen() -> Iterator[None]:
    """Use our code generator in Numba's CPU context within the block. The caller holds the compiler's lock."""
    target = cpu_target.target_context
    codegen = target._internal_codegen
    target._internal_codegen, target.create_cfunc_wrapper = _codegen(), lambda *_: None
    try:
        with parts_of_numba(), shortcuts():
            yield
    finally:
        target._internal_codegen = codegen
        del target.create_cfunc_wrapper


@cache
def _codegen() -> Codegen:
    return Codegen("readwarp")  # type: ignore[no-untyped-call]
