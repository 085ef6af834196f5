"""Decorators that turn functions into kernels; the only import of numba.cuda.

`kernel` compiles a loop over arrays for the CPU, `cuda_kernel` a kernel for cards, and `scalar` a rule, of scalars or
arrays, that kernels of both sides call. Machine code is kept on disk: see `kernel_cache`. Numba is imported only when
something has to be compiled.
"""

import time
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from operator import attrgetter
from threading import RLock
from types import ModuleType
from typing import Any

import numpy as np

from readwarp.device import kernel_cache
from readwarp.device.loader import load
from readwarp.device.machine_code import MachineCode
from readwarp.device.signature import key_of, signature_of

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
FOR_CARDS = {"device": True, "debug": False, "opt": True}  # numba-cuda's options for functions of Numba

REMOVED = ("row_stack",)  # removed from NumPy while numba-cuda still asks for it
FIRST_PASS = "translate_bytecode"  # part of the name of the first pass that numba-cuda reports
Listener = Callable[[str, str, float | None], None]  # (kernel, signature, seconds): None before compilation
_listeners: list[Listener] = []
_lock = RLock()


class Kernel:
    """A function compiled for each signature it is called with. Arguments are positional."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self.options = function, options
        self.name = f"{function.__module__}:{function.__qualname__}"
        self.__wrapped__, self.__doc__ = function, function.__doc__
        self.__name__, self.__qualname__, self.__module__ = (
            function.__name__,
            function.__qualname__,
            function.__module__,
        )
        self._by_key: dict[Hashable, Callable[..., Any]] = {}
        self._by_signature: dict[str, Callable[..., Any]] = {}
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._by_key.get(key_of(arguments)) or self._prepare(arguments))(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def __reduce__(self) -> str:
        return self.__qualname__  # pickled like a function

    def _prepare(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the loaded machine code for these arguments."""
        loaded = self._by_key[key_of(arguments)] = self.load(signature_of(arguments))
        return loaded

    def load(self, signature: str) -> Callable[..., Any]:
        """Return the machine code for a signature, which stays loaded."""
        with _lock:
            if signature not in self._by_signature:
                self._by_signature[signature] = load(self.compile(signature), self.name)
            return self._by_signature[signature]

    def compile(self, signature: str) -> MachineCode:
        """Return the machine code for a signature: from the cache, or compiled and put there."""
        with _lock:
            code = kernel_cache.find(self.name, signature)
            if code is None:
                _tell(self.name, signature, None)
                begin = time.perf_counter()
                code = self.make(signature)
                kernel_cache.keep(self.name, signature, code)
                _tell(self.name, signature, time.perf_counter() - begin)
            return code

    def make(self, signature: str) -> MachineCode:
        """Compile the machine code for a signature now."""
        code: MachineCode = _compiler().compile_kernel(self.dispatcher, signature)
        return code

    @property
    def dispatcher(self) -> Any:
        """The function that Numba sees where another kernel calls this one."""
        if self._dispatcher is None:
            self._dispatcher = _compiler().KernelPart(self.py_func, targetoptions={"nopython": True, **self.options})
        return self._dispatcher


def kernel_of(name: str) -> Kernel:
    """Return the kernel of this name, `module:name`."""
    module, _, path = name.partition(":")
    found: Kernel = attrgetter(path)(import_module(module))
    return found


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop over arrays for the CPU; it releases the GIL."""
    return Kernel(function, OPTIONS)


def scalar(function: Callable[..., Any]) -> Any:
    """Compile a rule into the kernels that call it, CPU or CUDA."""
    return Kernel(function, OPTIONS | {"inline": "never"})


@cache
def _compiler() -> ModuleType:
    from readwarp.device import compiler

    compiler.register_kernels(Kernel)
    return compiler


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Tell the listener of each kernel before and after it is compiled within the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _tell(*news: Any) -> None:
    for listener in _listeners:
        listener(*news)


def cuda_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel for cards. Its machine code is kept on disk too: see `card_cache`.

    The functions that kernels call are `scalar`, or `cuda.jit(device=True)` if only a card can run them.
    """
    dispatcher = _cuda().jit(function)
    from readwarp.device.card_cache import CardCache
    from readwarp.device.launch import CardKernel

    dispatcher._cache = CardCache(function)
    return CardKernel(dispatcher)


def __getattr__(name: str) -> Any:
    """Import numba.cuda only when `from readwarp.device.jit import cuda` asks for it."""
    if name == "cuda":
        return _cuda()
    raise AttributeError(name)


@cache
def _cuda() -> Any:
    """Return numba.cuda, taught about our kernels."""
    import numba

    numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]  # scans and last batches are small grids
    with _lock, _older_numpy():
        import_module("_numba_cuda_redirector")  # Python itself misses it in packages found by PYTHONPATH
        from numba import cuda
        from numba.cuda.np import arrayobj

    assert arrayobj  # the first compilation would import it otherwise, without the names
    _register_kernels()
    _listen_to_cards()
    return cuda


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


def _register_kernels() -> None:
    """Let kernels for cards call CPU kernels: numba-cuda compiles those again, for cards."""
    from numba.cuda import types
    from numba.cuda.dispatcher import CUDADispatcher
    from numba.cuda.typing.typeof import typeof_impl

    functions = cache(lambda kernel: CUDADispatcher(kernel.py_func, kernel.options | FOR_CARDS))
    typeof_impl.register(Kernel, lambda kernel, _: types.Dispatcher(functions(kernel)))  # type: ignore[attr-defined]


def _listen_to_cards() -> None:
    """Tell our listeners of the kernels that numba-cuda compiles, but not of the functions that those call."""
    from numba.cuda.core import event

    class Passes(event.Listener):  # type: ignore[misc]
        """Listener to compiler passes; those of functions that a kernel calls are nested in its own."""

        depth = 0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1 and FIRST_PASS in event.data["name"]:
                _tell(event.data["qualname"].replace(".", ":", 1), "", None)

        def on_end(self, event: Any) -> None:
            self.depth -= 1

    event.register("numba-cuda:run_pass", Passes())
