"""The decorator that turns functions into kernels for cards, their compiler, and numba.cuda, taught about our kernels.

This is all that readwarp takes from numba-cuda: it compiles. Machine code is kept beside that for the CPU
(`compiler.kernel_cache`), and what loads and launches it is `cuda_driver`.
"""

import re
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from cuda.core import Linker, LinkerOptions, ObjectCode
from numba.core.compiler_lock import global_compiler_lock

from readwarp.compiler.jit import Kernel, lock
from readwarp.compiler.levels import Level
from readwarp.compiler.machine_code import MachineCode
from readwarp.compiler.signature import types_of
from readwarp.device.launch import CardKernel

FOR_CARDS = {"device": True, "debug": False, "opt": True}  # numba-cuda's options for functions of Numba
# Of functions that NumPy 2.5 no longer has, numba-cuda 0.30, the last release, gives kernels its own version.
ABSENT = [name for name in ("row_stack",) if not hasattr(np, name)]

with lock, warnings.catch_warnings():
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"numba\.cuda\.")
    for name in ABSENT:
        setattr(np, name, lambda: None)
    try:
        import_module("_numba_cuda_redirector")  # Python itself misses it in packages found by PYTHONPATH
        cuda: Any = import_module("numba.cuda")
        dispatcher: Any = import_module("numba.cuda.dispatcher")
        from numba.cuda import types
        from numba.cuda.typing.typeof import typeof_impl

        import_module("numba.cuda.np.arrayobj")  # the first compilation would import it otherwise, without the names
    finally:
        for name in ABSENT:
            delattr(np, name)


def cuda_kernel(function: Callable[..., Any]) -> CardKernel:
    """Compile a kernel for cards. The functions it calls are `scalar`, or `cuda.jit(device=True)` if only for cards."""
    return CardKernel(function, compile_kernel)


def compile_kernel(function: Callable[..., Any], signature: str, level: Level) -> MachineCode:
    """Compile a kernel for a level of cards: PTX, a zero and machine code, of which the driver takes what it can use.

    No card is needed. Raises errors of numba-cuda and of NVIDIA's linker.
    """
    *number, suffix = re.fullmatch(r"sm_(\d+)(\d)(a?)", level.cpu).groups()  # type: ignore[union-attr]
    capability = tuple(map(int, number))
    with global_compiler_lock:
        ask = dispatcher.get_current_device  # by which functions that it calls are compiled
        dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
        try:
            cc = *capability, suffix
            ptx, _ = cuda.compile(function, tuple(types_of(signature)), device=False, abi="numba", cc=cc)
        finally:
            dispatcher.get_current_device = ask
    entry = re.search(r"\.entry\s+(\w+)", ptx)
    assert entry
    options = LinkerOptions(arch=level.cpu)
    linked = Linker(ObjectCode.from_ptx(ptx.encode()), options=options).link("cubin").code
    return MachineCode(entry[1], "", (), (), b"\0".join((ptx.encode(), linked)))


@cache
def _for_cards(kernel: Kernel) -> Any:
    """Return the function that numba-cuda sees where a kernel for cards calls one for the CPU: compiled again."""
    options = {name: value for name, value in kernel.options.items() if name != "forceinline"}  # NVVM inlines all
    return dispatcher.CUDADispatcher(kernel.py_func, options | FOR_CARDS)


typeof_impl.register(Kernel, lambda kernel, _: types.Dispatcher(_for_cards(kernel)))  # type: ignore[attr-defined]
