"""The decorator that turns functions into kernels for cards, and numba.cuda, taught about our kernels.

Machine code is kept on disk: one file per function, closure, signature and kind of card. numba-cuda's own cache numbers
its files and looks the numbers up in an index. Of two processes that compile at once, such as on two nodes with one
home, both take the next number, and one finds the other's code under it. Our files are named after everything that
distinguishes their code, and state it, so processes read and write them without a lock.
"""

import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numba_cuda
import numpy as np

from readwarp.compiler import kernel_cache
from readwarp.compiler.jit import Kernel, lock, tell
from readwarp.compiler.levels import current_level

FOR_CARDS = {"device": True, "debug": False, "opt": True}  # numba-cuda's options for functions of Numba
REMOVED = ("row_stack",)  # removed from NumPy while numba-cuda still asks for it
FIRST_PASS = "translate_bytecode"  # part of the name of the first pass that numba-cuda reports


@contextmanager
def _older_numpy() -> Iterator[None]:
    """Give NumPy the names that numba-cuda wants, and silence its deprecations, within the block.

    numba-cuda 0.30, the last release, gives kernels its own version of functions that NumPy 2.5 no longer has.
    """
    absent = [name for name in REMOVED if not hasattr(np, name)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"numba\.cuda\.")
        for name in absent:
            setattr(np, name, lambda: None)
        try:
            yield
        finally:
            for name in absent:
                delattr(np, name)


numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]  # scans and last batches are small grids
with lock, _older_numpy():
    import_module("_numba_cuda_redirector")  # Python itself misses it in packages found by PYTHONPATH
    cuda: Any = import_module("numba.cuda")
    from numba.core.target_extension import target_override
    from numba.cuda import types
    from numba.cuda.core import event
    from numba.cuda.core.caching import NullCache
    from numba.cuda.dispatcher import CUDADispatcher, _Kernel
    from numba.cuda.np import arrayobj
    from numba.cuda.serialize import dumps
    from numba.cuda.typing.typeof import typeof_impl

    from readwarp.device.launch import CardKernel

assert arrayobj  # the first compilation would import it otherwise, without the names


def cuda_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel for cards. The functions it calls are `scalar`, or `cuda.jit(device=True)` if only for cards."""
    dispatcher = cuda.jit(function)
    dispatcher._cache = CardCache(function)
    return CardKernel(dispatcher)


class CardCache(NullCache):  # type: ignore[misc]
    """Compiled versions of one function, in numba-cuda's interface. Only the package's functions have any."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Find the kernel, without refreshing the target as Numba's caches do: only compiling needs that."""
        with target_override("cuda"):
            key = self._key(sig, target_context.codegen())
            for content in kernel_cache.contents(self._place(key)) if self._is_kept() else ():
                found, states = pickle.loads(content)
                if found == key:
                    return _Kernel._rebuild(**states)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._is_kept():
            key = self._key(sig, data.codegen)
            kernel_cache.keep_at(self._place(key), dumps((key, data._reduce_states())))

    def _is_kept(self) -> bool:
        return kernel_cache.is_current(self._function.__module__)

    def _key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        """List everything that the code depends on, besides the sources."""
        return *self._own, signature, codegen.magic_tuple(), numba_cuda.__version__

    @cached_property
    def _own(self) -> tuple[int, str, str]:
        """The line, and hashes of the code and of the closure."""
        code = self._function.__code__
        closure = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        return code.co_firstlineno, sha256(code.co_code).hexdigest(), sha256(dumps(closure)).hexdigest()

    def _place(self, key: tuple[Any, ...]) -> Path:
        name = self._function.__qualname__.replace("<locals>.", "")
        folder = kernel_cache.folder_of(self._function.__module__, current_level())
        return folder / f"{name}-{kernel_cache.digest_of(map(repr, key))}.card"


class Passes(event.Listener):  # type: ignore[misc]
    """Listener that reports the kernels numba-cuda compiles; passes of the functions they call are nested in theirs."""

    depth = 0

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.depth == 1 and FIRST_PASS in event.data["name"]:
            tell(event.data["qualname"].replace(".", ":", 1), "", None)

    def on_end(self, event: Any) -> None:
        self.depth -= 1


@cache
def _for_cards(kernel: Kernel) -> Any:
    """Return the function that numba-cuda sees where a kernel for cards calls one for the CPU: compiled again."""
    options = {name: value for name, value in kernel.options.items() if name != "forceinline"}  # NVVM inlines all
    return CUDADispatcher(kernel.py_func, options | FOR_CARDS)


typeof_impl.register(Kernel, lambda kernel, _: types.Dispatcher(_for_cards(kernel)))  # type: ignore[attr-defined]
event.register("numba-cuda:run_pass", Passes())
