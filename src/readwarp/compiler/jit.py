"""Decorators that turn functions into kernels.

`kernel` compiles a loop over arrays for the CPU, and `scalar` a rule, of scalars or arrays, that kernels call, those
for cards too (`readwarp.device.cuda_jit`). Machine code is kept on disk: see `kernel_cache`. Numba is imported only
when something has to be compiled: by `codegen`, or by plain Numba where that has moved what `codegen` builds upon.
"""

import logging
import time
from ast import literal_eval
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from threading import RLock
from typing import Any

from readwarp.compiler import kernel_cache
from readwarp.compiler.levels import Level, current_level
from readwarp.compiler.loader import load
from readwarp.compiler.machine_code import MachineCode
from readwarp.compiler.signature import find_named, key_of, signature_of, types_of
from readwarp.errors import ReadwarpError

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
Listener = Callable[[str, str, float | None], None]  # (kernel, signature, seconds): None before compilation
_listeners: list[Listener] = []
lock = RLock()
logger = logging.getLogger("readwarp")


class Kernel:
    """A function compiled for each signature it is called with. Arguments are positional."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self.options = function, options
        self.name = f"{function.__module__}:{function.__qualname__}"
        update_wrapper(self, function)
        self._by_key: dict[Hashable, Callable[..., Any]] = {}
        self._by_signature: dict[str, Callable[..., Any]] = {}
        self._dispatchers: dict[Callable[..., Any], Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        return (self._by_key.get(key_of(arguments)) or self._prepare(arguments))(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # pickled like a function

    def _prepare(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the loaded machine code for these arguments."""
        loaded = self._by_key[key_of(arguments)] = self.load(signature_of(arguments))
        return loaded

    def load(self, signature: str) -> Callable[..., Any]:
        """Return the machine code for a signature, which stays loaded."""
        with lock:
            if signature not in self._by_signature:
                try:
                    self._by_signature[signature] = load(self.compile(signature), self.name)
                except ReadwarpError:
                    raise
                except Exception as error:
                    self._by_signature[signature] = self._compile_plainly(signature, error)
            return self._by_signature[signature]

    def compile(self, signature: str) -> MachineCode:
        """Return the machine code for a signature: from the cache, or compiled and put there."""
        return obtain(self.name, signature, current_level(), lambda: self.make(signature))

    def make(self, signature: str) -> MachineCode:
        """Compile the machine code for a signature now."""
        from readwarp.compiler.codegen import compile_kernel

        return compile_kernel(self.dispatcher, signature)

    def _compile_plainly(self, signature: str, reason: Exception) -> Callable[..., Any]:
        """Compile by plain Numba, which takes longer and is not kept. Raises the reason for it if Numba fails too."""
        global _dispatcher_of
        ours, _dispatcher_of = _dispatcher_of, _plain_dispatcher
        try:
            made: Callable[..., Any] = self.dispatcher.compile(tuple(types_of(signature)))
        except Exception:
            raise reason from None
        finally:
            _dispatcher_of = ours
        _warn_of_plain_numba(reason)
        return made

    @property
    def dispatcher(self) -> Any:
        """The function that Numba sees where another kernel calls this one."""
        if _dispatcher_of not in self._dispatchers:
            self._dispatchers[_dispatcher_of] = _dispatcher_of(self)
        return self._dispatchers[_dispatcher_of]

    @property
    def _numba_type_(self) -> Any:
        from numba import types

        return types.Dispatcher(self.dispatcher)


def obtain(name: str, signature: str, level: Level, make: Callable[[], MachineCode]) -> MachineCode:
    """Return the machine code of a kernel: from the cache, or made and put there, by one thread at a time."""
    with lock:
        code = kernel_cache.find(name, signature, level)
        if code is None:
            _tell(name, signature, None)
            begin = time.perf_counter()
            code = make()
            kernel_cache.keep(name, signature, code, level)
            _tell(name, signature, time.perf_counter() - begin)
        return code


def kernel_of(name: str) -> Any:
    """Return the kernel of this name: `module:name`, or `module:factory(options)` for one that a factory makes."""
    name, _, options = name.removesuffix(")").partition("(")
    given = (find_named(text) if ":" in text else literal_eval(text) for text in options.split(",") if text)
    found = find_named(name)
    return found(*given) if options else found


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop over arrays for the CPU; it releases the GIL."""
    return Kernel(function, OPTIONS)


def scalar(function: Callable[..., Any]) -> Any:
    """Compile a rule into the kernels that call it, CPU or CUDA."""
    return Kernel(function, OPTIONS | {"inline": "never"})


def _own_dispatcher(kernel: Kernel) -> Any:
    from readwarp.compiler.parts import KernelPart

    return KernelPart(kernel.py_func, targetoptions={"nopython": True, **kernel.options})


def _plain_dispatcher(kernel: Kernel) -> Any:
    from numba import njit

    from readwarp.compiler import vectors

    assert vectors  # registers the operations of `simd`
    return njit(**kernel.options)(kernel.py_func)


_dispatcher_of = _own_dispatcher  # while plain Numba compiles, the other one
_plain_reasons: list[Exception] = []


def _warn_of_plain_numba(reason: Exception) -> None:
    """Warn once per process."""
    if not _plain_reasons:
        from textwrap import shorten

        from numba import __version__ as numba

        text = "Numba %s lacks what readwarp builds upon (%s): each run compiles its kernels again, which is slow"
        logger.warning(text, numba, shorten(str(reason), 300))
    _plain_reasons.append(reason)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Tell the listener of each kernel before and after it is compiled within the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _tell(*news: Any) -> None:
    """Tell the listeners."""
    for listener in _listeners:
        listener(*news)
