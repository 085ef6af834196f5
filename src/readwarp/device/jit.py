"""The only place with options of Numba, and the only import of numba.cuda.

`kernel` compiles a loop over arrays for the CPU, `cuda_kernel` a kernel for cards, and `scalar` a rule, of scalars or
arrays, that kernels of both sides call. Compiled code is kept on disk: see `kernel_cache`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba.extending import typeof_impl

from readwarp.device import numba_cache, vectors
from readwarp.device.compilation import listen, listen_to_cards
from readwarp.device.dispatcher import EntryPoint

OPTIONS: dict[str, Any] = {"nopython": True, "nogil": True, "error_model": "numpy", "fastmath": False}

numba_cache.install()
listen()
assert vectors  # registers the operations of `simd`


@typeof_impl.register(tuple)
def _typeof_tuple(value: tuple[Any, ...], context: Any) -> Any:
    """In a batch, a read-only array has the type of any other array, so that one compilation serves all batches.

    Kernels do not write to their inputs. If one wrote to a mapped file, the system would stop it.
    """
    parts = [typeof_impl(part, context) for part in value]
    if hasattr(value, "_fields"):
        parts = [part.copy(readonly=False) if isinstance(part, numba.types.Array) else part for part in parts]
    return None if None in parts else numba.types.BaseTuple.from_types(parts, type(value))


numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]  # scans and last batches are small grids


def kernel(function: Callable[..., Any]) -> Any:
    """A loop over arrays, compiled for the CPU; releases the GIL."""
    made = EntryPoint(function, None, OPTIONS)
    made.enable_caching()
    return made


def scalar(function: Callable[..., Any]) -> Any:
    """A rule, compiled into the kernels that call it, CPU or CUDA."""
    return kernel(function)


def cuda_kernel(function: Callable[..., Any]) -> Any:
    """A kernel for cards. Its machine code is kept on disk too, by compute capability and CUDA version.

    The functions that kernels call are `scalar`, or `cuda.jit(device=True)` if only a card can run them.
    """
    from numba import cuda

    numba_cache.install_for_cards()
    listen_to_cards()
    _load_one_at_a_time()
    jit: Any = cuda.jit
    return jit(cache=True, extensions=[PlainTuples()])(function)


class PlainTuples:
    """Passes batches to kernels as plain tuples: numba-cuda takes their len for the number of fields, not of rows."""

    def prepare_args(self, kind: Any, value: Any, **_: Any) -> tuple[Any, Any]:
        return kind, tuple(value) if isinstance(value, tuple) else value


@cache
def _load_one_at_a_time() -> None:
    """Have one thread load a kernel onto a card while others wait to launch it: numba-cuda 0.30 has no lock there.

    The lock is that of compilation, which loads too. A kernel that is already loaded is found without it.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.cuda.codegen import CUDACodeLibrary
    from numba.cuda.cudadrv.devices import get_context

    load: Any = CUDACodeLibrary.get_cufunc

    def get_cufunc(library: Any) -> Any:
        loaded = library._cufunc_cache.get(get_context().device.id)
        if loaded is None:
            with global_compiler_lock:
                loaded = load(library)
        return loaded

    CUDACodeLibrary.get_cufunc = get_cufunc  # type: ignore[method-assign]


def __getattr__(name: str) -> Any:
    """`from readwarp.device.jit import cuda` imports numba.cuda only when it is needed."""
    if name == "cuda":
        from numba import cuda

        return cuda
    raise AttributeError(name)
