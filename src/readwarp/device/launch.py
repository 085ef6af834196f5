"""Launches of kernels for cards, with one driver call.

A launch takes 8 us of the interpreter; numba-cuda's, which inspects each array anew, takes 40 to 100. The parameters
are numba-cuda's: batches and tuples are flattened, and an array becomes two unused pointers, the number of items, their
size, the address, the shape and the strides.
"""

import ctypes
import struct
import threading
from collections.abc import Callable, Hashable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from readwarp.compiler import jit
from readwarp.compiler.levels import Level, card_level, current_level
from readwarp.compiler.machine_code import MachineCode
from readwarp.compiler.signature import signature_of
from readwarp.device import cuda_driver
from readwarp.device.card_array import CardArray

Compiler = Callable[[Callable[..., Any], str, Level], MachineCode]  # of a function for a signature and a level
MOST = 512  # parameters of a kernel: 4 KB
CODES: dict[type, str] = {  # struct codes, 8 bytes each
    **{int: "q", np.int8: "b7x", np.int16: "h6x", np.int32: "i4x", np.int64: "q", bool: "?7x"},
    **{np.uint8: "B7x", np.uint16: "H6x", np.uint32: "I4x", np.uint64: "Q"},
    **{float: "d", np.float32: "f4x", np.float64: "d"},
}


class Loaded(NamedTuple):
    """A kernel for some argument types, loaded on a card."""

    handle: int
    layout: struct.Struct  # layout of its parameters


class Parameters(threading.local):
    """A thread's buffer of parameters, one every 8 bytes, for the driver to copy."""

    def __init__(self) -> None:
        self.values = (ctypes.c_uint64 * MOST)()
        first = ctypes.addressof(self.values)
        self._places = (ctypes.c_uint64 * MOST)(*range(first, first + 8 * MOST, 8))
        self.address = ctypes.addressof(self._places)  # of the driver's array: the address of each


_parameters = Parameters()


class CardKernel:
    """A kernel for cards, compiled for each signature: `kernel[blocks, threads per block, stream](arguments)`.

    Arguments are CardArrays, numbers, and tuples of them. Raises the driver's error.
    """

    def __init__(self, function: Callable[..., Any], compiler: Compiler) -> None:
        self.py_func, self.compiler, self.name = function, compiler, f"{function.__module__}:{function.__qualname__}"
        self._loaded: dict[Hashable, Loaded] = {}

    def __getitem__(self, where: tuple[int, int, cuda_driver.Stream]) -> Callable[..., None]:
        return partial(self.launch, where)

    def launch(self, where: tuple[int, int, cuda_driver.Stream], *arguments: Any) -> None:
        kinds, values = list[Any](), list[Any]()
        _flatten(arguments, kinds, values)
        blocks, threads, stream = where
        key = stream.device, *kinds
        loaded = self._loaded.get(key) or self._load(key, arguments)
        loaded.layout.pack_into(_parameters.values, 0, *values)
        cuda_driver.launch(loaded.handle, blocks, threads, stream.handle, _parameters.address)

    def _load(self, key: tuple[Any, ...], arguments: tuple[Any, ...]) -> Loaded:
        """Compile it for these types, or read it from disk, and load it: one thread at a time."""
        with jit.lock:
            if key not in self._loaded:
                layout, signature = struct.Struct("<" + "".join(_codes(arguments))), signature_of(arguments)
                level = card_level(cuda_driver.capability_of(key[0]))
                code = jit.obtain(self.name, signature, level, lambda: self.make(signature, level))
                self._loaded[key] = Loaded(cuda_driver.load(code), layout)
            return self._loaded[key]

    def make(self, signature: str, level: Level | None = None) -> MachineCode:
        """Compile the machine code for a signature now. level: of cards; None: the current one."""
        return self.compiler(self.py_func, signature, level or current_level())


def kernel_factory(factory: Callable[..., CardKernel]) -> Callable[..., CardKernel]:
    """Make each kernel of a factory once, and name it by its options: numbers, and objects that `str` names."""

    @cache
    def make(*options: Any) -> CardKernel:
        made = factory(*options)
        made.name = f"{factory.__module__}:{factory.__qualname__}({','.join(map(str, options))})"
        return made

    return make


def _flatten(arguments: tuple[Any, ...], kinds: list[Any], values: list[Any]) -> None:
    """Append the types and the parameters of the arguments."""
    for given in arguments:
        kind = type(given)
        if kind is CardArray:
            kinds += given.dtype, len(given.shape)
            values += given.parameters
        elif isinstance(given, tuple):
            kinds += kind, len(given)
            _flatten(given, kinds, values)
        else:
            kinds.append(kind)
            values.append(given)


def _codes(arguments: tuple[Any, ...]) -> Iterator[str]:
    """Yield the struct codes of the parameters. Raises TypeError for arguments that kernels do not take."""
    for given in arguments:
        if isinstance(given, CardArray):
            yield "QQqqQ" + "qq" * given.ndim
        elif isinstance(given, tuple):
            yield from _codes(given)
        elif type(given) in CODES:
            yield CODES[type(given)]
        else:
            raise TypeError(f"kernels for cards take arrays of a card, numbers and tuples, not {type(given).__name__}")
