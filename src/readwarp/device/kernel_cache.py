"""Where compiled kernels are kept: a folder for each module, named after the content of what its kernels depend on.

That is the module and all of the package that it imports, however far: Numba itself does not notice an edit in an
imported module, and a changed help text or report recompiles nothing. What has not been used for long is removed when
something new is compiled.
"""

import hashlib
import os
import re
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

import numba
from numba.core.caching import CacheImpl, UserProvidedCacheLocator

PACKAGE = Path(__file__).resolve().parent.parent
NAME = PACKAGE.name
IMPORT = re.compile(rf"^[ \t]*(?:from ({NAME}[\w.]*) import (\([^)]*\)|[^\n]*)|import ({NAME}[\w.]*))", re.MULTILINE)
# What the code depends on beside its source: Numba knows the CPU, but neither itself nor the width of our vectors.
SURROUNDINGS = f"{numba.__version__} {os.environ.get('READWARP_VECTOR_BYTES', '')}"
LATEST, UNUSED = 3, 30  # versions of a module that are kept in any case; days after which a further one is removed


@cache
def cache_folder() -> Path:
    """$READWARP_CACHE, else $XDG_CACHE_HOME or ~/.cache, else the temporary folder when that cannot be written."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    given = os.environ.get("READWARP_CACHE")
    folders = [home / NAME, Path(tempfile.gettempdir()) / f"{NAME}-{os.getuid()}"]
    if given:
        folders.insert(0, Path(given))
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise OSError(f"no folder for compiled kernels can be written: {', '.join(map(str, folders))}")


def folder_of(module: str) -> Path:
    """The folder of what is compiled of a module of the package, made if it is not there."""
    return _folder(f"{module}-{key_of(module)}")


def package_folder() -> Path:
    """The folder of what depends on the whole package but its commands and reports."""
    return _folder(f"{NAME}-{_package_key()}")


@cache
def _folder(name: str) -> Path:
    folder = cache_folder() / name
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        prune(folder)
    os.utime(folder)
    return folder


def prune(newest: Path) -> None:
    """Remove versions of the same module that nothing has used for long, but the latest ones."""
    module, limit = newest.name.rpartition("-")[0], time.time() - UNUSED * 24 * 3600
    others = [path for path in newest.parent.glob(f"{module}-*") if path.name.rpartition("-")[0] == module]
    by_use = sorted((path.stat().st_mtime, path) for path in others if path != newest)
    for used, path in by_use[:-LATEST]:
        if used < limit:
            shutil.rmtree(path, ignore_errors=True)  # another process may be at it too


@cache
def key_of(module: str) -> str:
    """Of the sources that the module depends on, 16 hexadecimal digits."""
    digest = hashlib.sha256(SURROUNDINGS.encode())
    for name in sorted(dependencies(module)):
        digest.update(name.encode())
        digest.update(_source(name).encode())
    return digest.hexdigest()[:16]


@cache
def _package_key() -> str:
    digest = hashlib.sha256(SURROUNDINGS.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "report"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kernels_kept() -> int:
    """How many compiled kernels there are of the package as it is."""
    folders = (path for path in cache_folder().glob(f"{NAME}.*-*") if path.is_dir())
    current = (path for path in folders if path.name.rpartition("-")[2] == key_of(path.name.rpartition("-")[0]))
    return sum(1 for folder in current for _ in folder.glob("*.nbi"))


def dependencies(module: str) -> set[str]:
    """The module and all of the package that it imports, however far, but the package's own door."""
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
    return path.read_text() if path is not None else ""


@cache
def _path(module: str) -> Path | None:
    """Of a module's source; none where a name is no module."""
    base = PACKAGE.parent.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


class KernelLocator(UserProvidedCacheLocator):
    """Where Numba and numba-cuda look for the kernels of this package, and how they know that they are current."""

    def __init__(self, py_func, py_file):
        self._py_file, self._lineno, self._module = py_file, py_func.__code__.co_firstlineno, py_func.__module__
        self._cache_path = str(folder_of(py_func.__module__))

    def get_source_stamp(self):
        return key_of(self._module)

    @classmethod
    def from_function(cls, py_func, py_file):
        if py_func.__module__.partition(".")[0] != NAME:
            return None
        return super().from_function(py_func, py_file)


def install() -> None:
    """Kernels of the package are kept like this from now on, and those of others below `package_folder`."""
    numba.config.CACHE_DIR = str(package_folder())  # type: ignore[attr-defined]
    CacheImpl._locator_classes.insert(0, KernelLocator)


def install_for_cards() -> None:
    """The same for numba-cuda, whose cache is a copy of Numba's."""
    from numba.cuda.core.caching import CacheImpl as OfCards

    if KernelLocator not in OfCards._locator_classes:
        OfCards._locator_classes.insert(0, KernelLocator)
