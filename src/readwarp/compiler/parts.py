"""Parts of a kernel: its own function and those below it, each a `KernelPart` of LLVM code and no more.

Numba itself treats each function that a kernel calls like one that Python calls: it optimises it, makes wrappers,
compiles it again for each integer constant that it is given, and counts references wherever an array is named. A part
does none of this. The kernel gathers its parts, and they are optimised together, once.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from llvmlite import binding

from readwarp.compiler import internals
from readwarp.compiler.internals import cpu_target, ir, types
from readwarp.compiler.lowering import PartLower

CPU = internals.target_registry["cpu"]
# The referent of an expression of these kinds belongs to its operands; any other may make a new array.
LOOKS = {"getattr", "static_getitem", "typed_getitem", "build_tuple", "exhaust_iter", "cast", "phi"}


@internals.register_pass(mutates_CFG=False, analysis_only=True)
class LeaveOutCounts(internals.AnalysisPass):
    """A pass that drops reference counts in functions that make and return no arrays: the caller's outlive them."""

    _name = "readwarp_leave_out_counts"

    def __init__(self) -> None:  # abstract in Numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if not _makes_references(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
            state.func_ir.ends_of_variables_matter = False
        return False


def _makes_references(state: Any) -> bool:
    """Return whether a function may create or return a reference-counted object."""
    if _is_counted(state.return_type):
        return True
    for block in state.func_ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.SetItem | ir.StaticSetItem):
                if not _is_plain(*state.calltypes[statement].args[1:]):
                    return True
            elif isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                made = statement.value
                if not _is_look(state, made) and _is_counted(state.typemap[statement.target.name]):
                    return True
    return False


def _is_counted(kind: types.Type) -> bool:
    return bool(cpu_target.target_context.data_model_manager[kind].contains_nrt_meminfo())


def _is_look(state: Any, made: Any) -> bool:
    """Return whether an expression's referent belongs to its operands: a[index] does, but not for an array index."""
    if made.op == "call":  # of a named-tuple class
        return isinstance(state.typemap[made.func.name], types.NamedTupleClass)
    if made.op != "getitem":
        return made.op in LOOKS
    index = state.typemap[made.index.name]
    return not any(isinstance(part, types.Array) for part in (index if isinstance(index, types.BaseTuple) else [index]))


def _is_plain(index: types.Type, value: types.Type) -> bool:
    """Return whether a[index] = value sets one item, or several to one number; copying arrays may make others."""
    parts: Any = index if isinstance(index, types.BaseTuple) else [index]
    number = isinstance(value, types.Number | types.Boolean)
    return all(isinstance(part, types.Integer) or (number and isinstance(part, types.SliceType)) for part in parts)


@internals.register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(internals.NativeLowering):
    _name = "readwarp_lowering"

    def __init__(self) -> None:  # abstract in Numba
        super().__init__()

    @property
    def lowering_class(self) -> type[PartLower]:
        return PartLower


class PartCompiler(internals.CompilerBase):
    """Numba's own passes, and the one above."""

    def define_pipelines(self) -> list[Any]:
        passes = internals.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(LeaveOutCounts, internals.NoPythonSupportedFeatureValidation)
        lowering = internals.NativeLowering
        passes.passes = [(PartLowering if step is lowering else step, text) for step, text in passes.passes]
        passes.finalize()
        return [passes]


class PartFlags(internals.Flags):
    """Flags interned by value, since they are compared a hundred thousand times."""

    __slots__ = ()
    __hash__ = object.__hash__
    _known: ClassVar[dict[str, "PartFlags"]] = {}

    def __eq__(self, other: object) -> bool:
        return self is other

    def copy(self) -> "PartFlags":
        return self

    @classmethod
    def of_part(cls, flags: internals.Flags) -> "PartFlags":
        """Return the flags without wrappers for Python and C, and without machine code."""
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        flags.release_gil = False  # the wrapper does it
        return cls._known.setdefault(str(flags.values()), cls(flags))


class PartLibrary(internals.CPUCodeLibrary):
    """The LLVM code of one function as Numba writes it, to be linked into others."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Do nothing: the kernel is optimised as a whole."""

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"  # may be inlined and dropped
        self._finalize_dynamic_globals()
        self._finalized = True

    def gather(self) -> dict[Any, None]:
        """Return the library and those below it, each once."""
        found: dict[Any, None] = {}
        waiting: list[Any] = [self]
        while waiting:
            library = waiting.pop()
            if library not in found:
                found[library] = None
                waiting += library._linking_libraries if isinstance(library, PartLibrary) else ()
        return found

    def _get_module_for_linking(self) -> Any:
        """Return the code, all parts below it included, for a function that Numba compiles in its own way."""
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


class _PartFunctionCompiler(internals._FunctionCompiler):
    def _customize_flags(self, flags: Any) -> PartFlags:
        return PartFlags.of_part(flags)

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        made = super()._compile_core(args, return_type)._replace(entry_point=object())
        cpu_target.target_context.insert_user_function(made.entry_point, made.fndesc, [made.library])
        return made


class LibraryPart(internals.CPUDispatcher):
    """A function of Numba's own that kernels call."""

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None, **_: Any) -> None:
        super().__init__(py_func, locals or {}, targetoptions or {}, PartCompiler)
        self._compiler = _PartFunctionCompiler(py_func, self.targetdescr, self.targetoptions, self.locals, PartCompiler)

    def add_overload(self, cres: Any) -> None:
        """Register an overload; Python cannot call it, so the dispatcher in C need not know."""
        self.overloads[tuple(cres.signature.args)] = cres


class KernelPart(LibraryPart):
    """A function of ours; integer constants are integers to it."""

    def get_call_template(self, args: Sequence[Any], kws: dict[str, Any]) -> Any:
        args, kws = [types.unliteral(kind) for kind in args], {name: types.unliteral(kws[name]) for name in kws}
        return super().get_call_template(args, kws)


@contextmanager
def parts_of_numba() -> Iterator[None]:
    """Turn Numba's functions compiled in the block into parts. The caller holds the compiler's lock."""
    before = internals.dispatcher_registry[CPU]
    internals.dispatcher_registry.update({CPU: LibraryPart})
    try:
        yield
    finally:
        internals.dispatcher_registry.update({CPU: before})


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Suspend garbage collection: a compilation makes millions of lasting objects, and scanning them adds a sixth."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
