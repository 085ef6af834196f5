"""Shortcuts for results that Numba's compiler computes again and again."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from readwarp.compiler import internals
from readwarp.compiler.internals import ir, types

_get_call_type: Any = internals.BaseFunction.get_call_type
_run: Any = internals.PostProcessor.run
_run_pass: Any = internals.InlineClosureLikes.run_pass
_run_rewrites: Any = internals.NopythonRewrites.run_pass
MAKING = {"binop", "inplace_binop", "unary", "call"}  # expressions that may make an array
INLINED = {"reduce", "stencil"}  # functions that call others, which Numba inlines
_signatures: dict[tuple[internals.BaseFunction, tuple[Any, ...]], Any] = {}


@contextmanager
def shortcuts() -> Iterator[None]:
    """Apply the shortcuts to Numba within the block. The caller holds the compiler's lock."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in SHORTCUTS]
    for owner, name, ours in SHORTCUTS:
        setattr(owner, name, ours)
    try:
        yield
    finally:
        for owner, name, numbas in before:
            setattr(owner, name, numbas)


def _recall_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Recall the signature of a builtin function, such as `+`, for some types, which Numba asks for again and again."""
    if kws:
        return _get_call_type(self, context, args, kws)
    key = self, tuple(args)
    if key not in _signatures:
        _signatures[key] = _get_call_type(self, context, args, kws)
    return _signatures[key]


def _run_on_demand(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Compute where variables live on demand: Numba does so after each pass, but only the last and generators ask."""
    if self.func_ir.is_generator:
        _run(self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = internals.canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = internals.VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None
    if emit_dels and getattr(self.func_ir, "ends_of_variables_matter", True):  # see `parts.LeaveOutCounts`
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _inline_closures(self: Any, state: Any) -> bool:
    """Skip the search for inner functions and for lists that become arrays if there are none."""
    code = state.func_id.code
    has_functions = any(isinstance(constant, CodeType) for constant in code.co_consts)
    has_lists = any(True for block in state.func_ir.blocks.values() for _ in block.find_exprs(op="build_list"))
    if has_functions or has_lists or not INLINED.isdisjoint(code.co_names):
        return bool(_run_pass(self, state))
    return False


def _rewrite(self: Any, state: Any) -> bool:
    """Skip the search for array expressions to join if no statement makes an array."""
    made = (each for block in state.func_ir.blocks.values() for each in block.find_insts(ir.Assign))
    if any(isinstance(each.value, ir.Expr) and each.value.op in MAKING and _is_array(state, each) for each in made):
        return bool(_run_rewrites(self, state))
    return False


def _is_array(state: Any, assignment: Any) -> bool:
    return isinstance(state.typemap[assignment.target.name], types.Array)


def _get_counted_meminfos(self: Any, builder: Any, ty: Any, val: Any) -> list[tuple[Any, Any]]:
    """Return the owners of arrays within a value; Numba would take everything else of the value apart too."""
    models = self._context.data_model_manager
    found = [(ty, models[ty].get_nrt_meminfo(builder, val))] if models[ty].has_nrt_meminfo() else []
    for kind, field in models[ty].traverse(builder):
        if models[kind].contains_nrt_meminfo():
            found += self.get_meminfos(builder, kind, field(val))
    return found


SHORTCUTS = (
    (internals.BaseFunction, "get_call_type", _recall_call_type),
    (internals.PostProcessor, "run", _run_on_demand),
    (internals.InlineClosureLikes, "run_pass", _inline_closures),
    (internals.NopythonRewrites, "run_pass", _rewrite),
    (internals.NRTContext, "get_meminfos", _get_counted_meminfos),
)
