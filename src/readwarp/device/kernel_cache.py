"""Where compiled kernels are kept: a folder for each module, named after a hash of all that its kernels depend on.

That is the module and all that it imports from the package, directly or not; Numba itself does not notice an edit in an
imported module. A changed help text or report recompiles nothing. Old versions are removed when a new one is made.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from readwarp.device.machine_code import MachineCode, from_bytes, to_bytes

PACKAGE = Path(__file__).resolve().parent.parent
NAME = PACKAGE.name
NO_KERNELS = ("cli", "report", "run")  # rooms that change often and compile nothing
IMPORT = re.compile(rf"^[ \t]*(?:from ({NAME}[\w.]*) import (\([^)]*\)|[^\n]*)|import ({NAME}[\w.]*))", re.MULTILINE)
# What the code depends on besides its source
VERSIONS = (version("numba"), version("llvmlite"), sys.implementation.cache_tag)
SURROUNDINGS = " ".join((*VERSIONS, os.environ.get("READWARP_VECTOR_BYTES", "")))
LATEST, UNUSED = 3, 30  # versions of a module that are always kept; days without use after which others are removed


def cache_roots() -> list[Path]:
    """$READWARP_CACHE, $XDG_CACHE_HOME or ~/.cache, the temporary folder: the first writable one is used."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    roots = [home / NAME, Path(tempfile.gettempdir()) / f"{NAME}-{os.getuid()}"]
    given = os.environ.get("READWARP_CACHE")
    return [Path(given), *roots] if given else roots


def folder_of(module: str) -> Path:
    """Where the kernels of a module are kept. Raises OSError if no folder is writable."""
    return _folder(f"{module}-{key_of(module)}")


def package_folder() -> Path:
    """Where to keep what depends on the whole package except NO_KERNELS. Raises OSError."""
    return _folder(f"{NAME}-{_package_key()}")


@cache
def _folder(name: str) -> Path:
    for root in cache_roots():
        folder, is_new = root / name, not (root / name).exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)  # marks it as used
        except OSError:  # such as for a folder of another user
            continue
        if os.access(folder, os.W_OK):
            if is_new:
                prune(folder)
            return folder
    raise OSError(f"no folder for compiled kernels is writable: {', '.join(map(str, cache_roots()))}")


def prune(newest: Path) -> None:
    """Remove versions of the same module, except the LATEST ones, that nothing has used for UNUSED days."""
    limit = time.time() - UNUSED * 24 * 3600
    with suppress(OSError):  # another process removes them too
        others = [path for path in newest.parent.iterdir() if _module_of(path) == _module_of(newest)]
        by_use = sorted((path.stat().st_mtime, path) for path in others if path != newest)
        for used, path in by_use[:-LATEST]:
            if used < limit:
                shutil.rmtree(path, ignore_errors=True)


def _module_of(folder: Path) -> str:
    return folder.name.rpartition("-")[0]


@cache
def key_of(module: str) -> str:
    """A hash of the sources that the module depends on, 16 hexadecimal digits."""
    return _hash(name + _source(name) for name in sorted(dependencies(module)))


@cache
def _package_key() -> str:
    paths = (path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] not in NO_KERNELS)
    return _hash(path.read_text("utf-8") for path in paths)


def _hash(sources: Iterable[str]) -> str:
    return hashlib.sha256("".join((SURROUNDINGS, *sources)).encode()).hexdigest()[:16]


def count_kernels() -> int:
    """Number of compiled kernels of the current version of the package."""
    folders = [path for path in package_folder().parent.glob(f"{NAME}.*-*") if path.is_dir()]
    current = (path for path in folders if path.name == f"{_module_of(path)}-{key_of(_module_of(path))}")
    return sum(1 for folder in current for _ in folder.glob("*.kernel"))


def dependencies(module: str) -> set[str]:
    """The module and all that it imports from the package, directly or not, except `readwarp` itself."""
    found, waiting = {module}, [module]
    while waiting:
        new = _imports(waiting.pop()) - found
        found |= new
        waiting += new
    return found


@cache
def _imports(module: str) -> set[str]:
    found = set()
    for origin, names, plain in IMPORT.findall(_source(module)):
        found.add(origin or plain)
        within = (f"{origin}.{name}" for name in re.findall(r"\w+", re.sub("#.*", "", names)))
        found.update(name for name in within if _path(name) is not None)
    return found - {NAME}


@cache
def _source(module: str) -> str:
    path = _path(module)
    return path.read_text("utf-8") if path is not None else ""


@cache
def _path(module: str) -> Path | None:
    """A module's source file; None if there is no module of that name."""
    base = PACKAGE.parent.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


@cache
def install_for_cards() -> None:
    """Have numba-cuda keep the kernels of this package in the same folders, and all others below `package_folder`."""
    import numba
    from numba.core.caching import UserProvidedCacheLocator
    from numba.cuda.core.caching import CacheImpl

    class KernelLocator(UserProvidedCacheLocator):
        """Tells numba-cuda where the kernels of this package are, and whether they are current."""

        def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
            self._py_file, self._lineno, self._module = py_file, py_func.__code__.co_firstlineno, py_func.__module__
            self._cache_path = str(folder_of(py_func.__module__))

        def get_source_stamp(self) -> str:
            return key_of(self._module)

        @classmethod
        def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Any:
            is_ours = py_func.__module__.startswith(f"{NAME}.")
            return super().from_function(py_func, py_file) if is_ours else None  # type: ignore[no-untyped-call]

    numba.config.CACHE_DIR = str(package_folder())  # type: ignore[attr-defined]
    CacheImpl._locator_classes.insert(0, KernelLocator)


def find(kernel: str, signature: str) -> MachineCode | None:
    """The machine code of a kernel (`module:name`) for a signature, if it is in the cache."""
    path = _path_of(kernel, signature)
    try:
        return from_bytes(path.read_bytes()) if path is not None else None
    except OSError:
        return None


def save(kernel: str, signature: str, code: MachineCode) -> None:
    """Keep machine code; a file appears as a whole or not at all."""
    path = _path_of(kernel, signature)
    if path is not None:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as out:
            out.write(to_bytes(code))
        Path(out.name).replace(path)


def _path_of(kernel: str, signature: str) -> Path | None:
    """None for what has no name of its own in a module of the package, such as a user's function or a lambda."""
    module, _, name = kernel.partition(":")
    if _path(module) is None or "<" in name:
        return None
    return folder_of(module) / f"{name}-{hashlib.sha256(signature.encode()).hexdigest()[:16]}.kernel"
