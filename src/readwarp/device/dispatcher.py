"""How Numba compiles a kernel: as one piece of machine code, with all functions that it calls inside.

By itself, Numba treats each function that a kernel calls like one that Python calls: it optimises it, makes machine
code and wrappers of it, does so again for each integer constant that it is given, and counts references wherever an
array is named. Here a function is a `Part` for those that call it, LLVM code and no more, and an `EntryPoint` for
Python. An entry point gathers the parts below its own, and they are optimised together, once.

This leans on inner parts of Numba; tests/device/test_dispatcher.py names them.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from llvmlite import binding
from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.target_extension import dispatcher_registry, target_registry
from numba.core.typed_passes import AnnotateTypes

CPU = target_registry["cpu"]
CONTEXT = CPUDispatcher.targetdescr.target_context
ENVIRONMENT = "_ZN08NumbaEnv"  # begins the name of each global that points to a function's Python objects
# What an expression of these kinds refers to belongs to its operands; any other may make a new array.
LOOKS = {"getattr", "static_getitem", "getitem", "typed_getitem", "build_tuple", "exhaust_iter", "cast", "phi"}


@register_pass(mutates_CFG=False, analysis_only=True)
class LeaveOutCounts(AnalysisPass):
    """A function that makes no array and returns none counts no references: those of its caller outlive it."""

    _name = "readwarp_leave_out_counts"

    def __init__(self) -> None:  # abstract in Numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if not _makes_references(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _makes_references(state: Any) -> bool:
    """Whether a function may create or return an object whose references are counted."""
    if _is_counted(state.return_type):
        return True
    for block in state.func_ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.SetItem | ir.StaticSetItem):
                if not _is_place(state.calltypes[statement].args[1]):
                    return True
            elif isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                made = statement.value
                is_look = made.op in LOOKS and (made.op != "getitem" or _is_look(state, made))
                if not is_look and _is_counted(state.typemap[statement.target.name]):
                    return True
    return False


def _is_counted(kind: types.Type) -> bool:
    return bool(CONTEXT.data_model_manager[kind].contains_nrt_meminfo())


def _is_look(state: Any, made: Any) -> bool:
    """Whether a[index] is a part of a; with an array as index it is a copy."""
    index = state.typemap[made.index.name]
    return not any(isinstance(part, types.Array) for part in (index if isinstance(index, types.BaseTuple) else [index]))


def _is_place(index: types.Type) -> bool:
    """Whether a[index] = x sets one item; what sets more may make arrays on the way."""
    return all(isinstance(part, types.Integer) for part in (index if isinstance(index, types.BaseTuple) else [index]))


class PartCompiler(CompilerBase):
    """Numba's own passes, and the one above."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(LeaveOutCounts, AnnotateTypes)
        passes.finalize()
        return [passes]


class PartFlags(Flags):
    """Flags that are the same object if they are the same, for they are compared a hundred thousand times."""

    __slots__ = ()
    __hash__ = object.__hash__
    _known: ClassVar[dict[str, "PartFlags"]] = {}

    def __eq__(self, other: object) -> bool:
        return self is other

    def copy(self) -> "PartFlags":
        return self

    @classmethod
    def of_part(cls, flags: Flags) -> "PartFlags":
        """Without wrappers for Python and C, and without machine code."""
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        flags.release_gil = False  # which the wrapper does
        return cls._known.setdefault(repr(flags), cls(flags))


class PartLibrary(JITCodeLibrary):
    """The LLVM code of one function as Numba writes it, to be linked into others."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Nothing: entry points optimise."""

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"  # inlined and left out at will
        self._finalize_dynamic_globals()
        self._finalized = True

    def gather(self) -> dict[Any, None]:
        """The library and those below it, each once."""
        found: dict[Any, None] = {}
        waiting: list[Any] = [self]
        while waiting:
            library = waiting.pop()
            if library not in found:
                found[library] = None
                waiting += library._linking_libraries if isinstance(library, PartLibrary) else ()
        return found

    def _get_module_for_linking(self) -> Any:
        """The code with that of all below it, for a function that Numba compiles in its own way."""
        whole = self.module.clone()
        for library in self.gather():
            if library is not self:
                is_part = isinstance(library, PartLibrary)
                whole.link_in(library.module if is_part else library._get_module_for_linking(), preserve=True)
        return whole

    @property
    def module(self) -> Any:
        """The code of this function alone."""
        self._ensure_finalized()
        return self._final_module


class EntryLibrary(JITCodeLibrary):
    """The code of an entry point and of all parts below it, optimised together."""

    def add_linking_library(self, library: Any) -> None:
        for each in library.gather() if isinstance(library, PartLibrary) else (library,):
            if isinstance(each, PartLibrary):
                self._final_module.link_in(each.module, preserve=True)
            else:
                super().add_linking_library(each)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Nothing before all parts are there."""


class _PartFunctionCompiler(_FunctionCompiler):
    def _customize_flags(self, flags: Any) -> PartFlags:
        return PartFlags.of_part(flags)

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        made = super()._compile_core(args, return_type)._replace(entry_point=object())
        CONTEXT.insert_user_function(made.entry_point, made.fndesc, [made.library])
        return made


class LibraryPart(CPUDispatcher):
    """A function of Numba's own, for those that call it."""

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None, **_: Any) -> None:
        super().__init__(py_func, locals or {}, targetoptions or {}, PartCompiler)
        self._compiler = _PartFunctionCompiler(py_func, self.targetdescr, self.targetoptions, self.locals, PartCompiler)

    def add_overload(self, cres: Any) -> None:
        """Python cannot call it, so the dispatcher in C need not know."""
        self.overloads[tuple(cres.signature.args)] = cres


class Part(LibraryPart):
    """A function of ours, for those that call it; integer constants are integers to it."""

    def get_call_template(self, args: Sequence[Any], kws: dict[str, Any]) -> Any:
        args, kws = [types.unliteral(kind) for kind in args], {name: types.unliteral(kws[name]) for name in kws}
        with _making_parts():
            return super().get_call_template(args, kws)


@contextmanager
def _making_parts() -> Iterator[None]:
    """Inside, what Numba compiles becomes parts. Holds the compiler's lock."""
    with global_compiler_lock:
        codegen = CONTEXT.codegen()
        rtsys.initialize(CONTEXT)  # Numba's own library, which it would otherwise compile now
        before = codegen._library_class, dispatcher_registry[CPU]
        codegen._library_class = PartLibrary
        dispatcher_registry.update({CPU: LibraryPart})
        try:
            yield
        finally:
            codegen._library_class = before[0]
            dispatcher_registry.update({CPU: before[1]})


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """A compilation makes millions of objects that stay until its end; to look through them takes a sixth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _EntryFunctionCompiler(_FunctionCompiler):
    part: Part

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        with _without_garbage_collection():
            with _making_parts():
                self.part.compile(args)
            return self._make_callable(self.part.overloads[args])

    def _make_callable(self, part: Any) -> Any:
        """The part with its machine code, as a function of Python."""
        codegen, context = CONTEXT.codegen(), part.target_context.subtarget(enable_nrt=True)
        library = EntryLibrary(codegen, part.library.name)
        library.enable_object_caching()
        context.create_cpython_wrapper(library, part.fndesc, part.environment, part.call_helper, release_gil=True)
        library.add_linking_library(part.library)
        function = context.get_executable(library, part.fndesc, part.environment)
        for variable in library._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                codegen.set_env(variable.name, lookup_environment(variable.name))
        CONTEXT.insert_user_function(function, part.fndesc, [library])
        return part._replace(entry_point=function, library=library, metadata={})


class EntryPoint(CPUDispatcher):
    """A function of ours, for Python; those compiled by Numba that call it get its part."""

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None, **_: Any) -> None:
        super().__init__(py_func, locals or {}, targetoptions or {})
        self.part = Part(py_func, locals, targetoptions)
        self._compiler = _EntryFunctionCompiler(
            py_func, self.targetdescr, self.targetoptions, self.locals, PartCompiler
        )
        self._compiler.part = self.part

    def get_call_template(self, args: Sequence[Any], kws: dict[str, Any]) -> Any:
        return self.part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.part.get_overload(sig)
