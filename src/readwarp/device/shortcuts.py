"""What Numba's compiler works out again and again, worked out once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.transforms import canonicalize_cfg
from numba.core.types.functions import BaseFunction

_get_call_type: Any = BaseFunction.get_call_type
_run: Any = PostProcessor.run
_signatures: dict[tuple[BaseFunction, tuple[Any, ...]], Any] = {}


@contextmanager
def shortcuts() -> Iterator[None]:
    """Inside, Numba takes them. The compiler's lock is held."""
    BaseFunction.get_call_type, PostProcessor.run = _recall_call_type, _run_on_demand  # type: ignore[method-assign]
    try:
        yield
    finally:
        BaseFunction.get_call_type, PostProcessor.run = _get_call_type, _run  # type: ignore[method-assign]


def _recall_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a builtin function, such as `+`, for some types; Numba asks for most of them many times."""
    if kws:
        return _get_call_type(self, context, args, kws)
    key = self, tuple(args)
    if key not in _signatures:
        _signatures[key] = _get_call_type(self, context, args, kws)
    return _signatures[key]


def _run_on_demand(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """After each of its passes Numba finds where variables live, but only its last pass and generators ask."""
    if self.func_ir.is_generator:
        _run(self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)
