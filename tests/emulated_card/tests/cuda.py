"""numba.cuda, imported so that it works with NumPy 2.5, and freeing in the right context."""

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numba
import numpy as np

REMOVED = ("row_stack",)  # removed from NumPy while numba-cuda 0.30 still asks for it

numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
_absent = [name for name in REMOVED if not hasattr(np, name)]
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"numba\.cuda\.")
    for _name in _absent:
        setattr(np, _name, lambda: None)
    import_module("_numba_cuda_redirector")  # Python itself misses it in packages found by PYTHONPATH
    cuda: Any = import_module("numba.cuda")
    import_module("numba.cuda.np.arrayobj")  # the first compilation would import it, without the names
    for _name in _absent:
        delattr(np, _name)


def free_in_context(card: Any) -> None:
    """Make Numba free what it holds of this card in the card's context, whichever is current by then."""
    with card:
        context = cuda.current_context()
        for unused in (context.memory_manager.deallocations, context.deallocations):
            unused.clear = _in_context(context, unused.clear)


def _in_context(context: Any, clear: Callable[[], None]) -> Callable[[], None]:
    def clear_in_context() -> None:
        context.push()
        try:
            clear()
        finally:
            context.pop()

    return clear_in_context
