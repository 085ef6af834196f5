"""Make Numba pass PTX to the driver instead of a linked binary, as soon as numba.cuda is imported."""

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

CODEGEN = "numba.cuda.codegen"


def install() -> None:
    if CODEGEN in sys.modules:
        _patch(sys.modules[CODEGEN])
    else:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Find the module as usual, and patch it once it has been run."""

    def __init__(self) -> None:
        self._is_looking = False

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != CODEGEN or self._is_looking:
            return None
        self._is_looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_looking = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_patch(module: ModuleType) -> None:
            execute(module)
            _patch(module)

        spec.loader.exec_module = execute_and_patch  # type: ignore[method-assign]
        return spec


def _patch(codegen: ModuleType) -> None:
    """A kernel to be loaded is its PTX. For a named card (SASS, linker's report), it is still linked.

    The PTX is among what Numba keeps of a kernel on disk, so that one from there is loaded the same way.
    """
    library: Any = codegen.CUDACodeLibrary
    linked = library.get_cubin

    def get_cubin(self: Any, cc: Any = None) -> Any:
        if cc is not None:
            return linked(self, cc)
        from cuda.core import ObjectCode

        return ObjectCode.from_ptx(self.get_asm_str().encode(), name=self.name)

    library.get_cubin = get_cubin
