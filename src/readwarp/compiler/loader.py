"""Load machine code of kernels as callables without Numba, whose import takes longer than many a job.

LLVM's linker loads an object. The functions it calls lie in Numba's small extension modules, which are loaded alone,
from their files. See docs/decisions/0007-kernels-that-ship.md.
"""

import builtins
import ctypes
import pickle
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from readwarp.compiler.levels import check_runs_here, current_level
from readwarp.compiler.machine_code import MachineCode

_lock = Lock()


def load(code: MachineCode, name: str) -> Callable[..., Any]:
    """Return the function for Python to call. Raises ImportError if the code needs what this Numba lacks."""
    with _lock:
        extensions = load_extensions()
        unknown = (symbol for symbol in code.needs if llvm.address_of_symbol(symbol) is None)
        absent = [symbol for symbol in unknown if not hasattr(ctypes.pythonapi, symbol)]
        if absent:  # LLVM would end the process
            raise ImportError(f"kernel {name}: not in this version of Numba: {', '.join(absent)}")
        engine = _engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.object_code))
        engine.finalize_object()
        address = engine.get_function_address(code.symbol)
        environment = extensions["_dynfunc"].Environment({"__name__": __name__})
        environment.consts.extend(map(np.dtype, code.constants))
        place = engine.get_global_value_address(code.environment)
        ctypes.c_void_p.from_address(place).value = id(environment)  # the function keeps it alive
    module = sys.modules[__name__]
    made: Callable[..., Any] = extensions["_dynfunc"].make_function(module, name, "", address, environment, None)
    return made


@cache
def load_extensions() -> dict[str, ModuleType]:
    """Load Numba's modules of C functions, by name, and make these functions known to LLVM."""
    extensions = {name: _extension(name) for name in ("_helperlib", "_dynfunc", "core.runtime._nrt_python")}
    helpers, functions, runtime = (extensions[name].c_helpers for name in extensions)
    symbols: dict[str, int] = {"_Py_NoneStruct": id(None)}
    symbols |= {f"PyExc_{name}": id(value) for name, value in vars(builtins).items() if isinstance(value, type)}
    symbols |= helpers  # including mathematical functions, which go by their own names
    symbols |= {f"numba_{name}": address for name, address in (helpers | functions).items()}
    symbols |= {name if name.startswith("_") else f"NRT_{name}": address for name, address in runtime.items()}
    if "numba" not in sys.modules:  # its own would import it
        symbols["numba_unpickle"] = ctypes.cast(_unpickle, ctypes.c_void_p).value or 0
    for symbol, address in symbols.items():
        llvm.add_symbol(symbol, address)
    return extensions


def _extension(name: str) -> ModuleType:
    """Load one of Numba's compiled modules, without the package around it."""
    full = f"numba.{name}"
    if full in sys.modules:
        return sys.modules[full]
    package = PathFinder.find_spec("numba")
    assert package is not None and package.submodule_search_locations, "Numba is not installed"
    base = Path(package.submodule_search_locations[0]).joinpath(*name.split("."))
    found = (base.with_name(base.name + suffix) for suffix in EXTENSION_SUFFIXES)
    spec = spec_from_file_location(full, next(path for path in found if path.exists()))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_constants: dict[int, Any] = {}  # by address; the code stays in place


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _unpickle(address: int, size: int, _: int) -> Any:
    """Return a named-tuple class or an exception held by the code. It is as trusted as the code itself."""
    if address not in _constants:
        _constants[address] = pickle.loads(ctypes.string_at(address, size))
    return _constants[address]


@cache
def _engine() -> Any:
    check_runs_here(current_level())
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
