"""Where compiled kernels are kept: a folder for each module, named after a hash of all that its kernels depend on.

That is the module and all that it imports from the package, directly or not, and the level of processors: nothing about
the machine, the user or the place of the package. A changed help text or report recompiles nothing. In each of
`cache_folders` they are at COMPILER/LEVEL/MODULE-KEY, as machine code calls functions of Numba and Python. Old versions
are removed when a new one is made.
"""

import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from readwarp.device import cache_folders
from readwarp.device.cache_folders import NAME, PACKAGE
from readwarp.device.levels import current_level
from readwarp.device.machine_code import MachineCode, from_bytes, to_bytes

NO_KERNELS = ("cli", "report", "run")  # rooms that change often and compile nothing
IMPORT = re.compile(rf"^[ \t]*(?:from ({NAME}[\w.]*) import (\([^)]*\)|[^\n]*)|import ({NAME}[\w.]*))", re.MULTILINE)
LATEST, UNUSED = 3, 30  # versions of a module that are always kept; days without use after which others are removed
DAY = 24 * 3600


def find(kernel: str, signature: str) -> MachineCode | None:
    """The machine code of a kernel (`module:name`) for a signature and the current level, if a folder has it."""
    module, _, name = kernel.partition(":")
    if not _is_kept(module, name):
        return None
    file = _version_of(module) / _file_name(name, signature)
    for path, content in cache_folders.read(folder / file for folder in cache_folders.folders()):
        _mark_as_used(path.parent)
        code = from_bytes(content)
        if code is not None:
            return code
    return None


def save(kernel: str, signature: str, code: MachineCode) -> None:
    """Keep machine code; a file appears as a whole or not at all."""
    module, _, name = kernel.partition(":")
    if _is_kept(module, name):
        path = folder_of(module) / _file_name(name, signature)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        partial.write_bytes(to_bytes(code))
        partial.replace(path)


def _is_kept(module: str, name: str) -> bool:
    """Not what has no name of its own in a module of the package, such as a user's function or a lambda."""
    return _path(module) is not None and "<" not in name


def _file_name(name: str, signature: str) -> str:
    return f"{name}-{hashlib.sha256(signature.encode()).hexdigest()[:16]}.kernel"


def folder_of(module: str) -> Path:
    """Where new kernels of a module go, for the current level. Raises OSError if no folder can be written."""
    return _made(_version_of(module))


def package_folder() -> Path:
    """Where to keep what depends on the whole package except NO_KERNELS. Raises OSError."""
    return _made(Path(compiler(), current_level().name, f"{NAME}-{_package_key()}"))


@cache
def _version_of(module: str) -> Path:
    """The folder of a module's kernels within a folder of `cache_folders`."""
    return Path(compiler(), current_level().name, f"{module}-{key_of(module)}")


@cache
def _made(version: Path) -> Path:
    folder = cache_folders.own_folder() / version
    is_new = not folder.exists()
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if is_new:
        prune(folder)
    _mark_as_used(folder)
    return folder


@cache
def _mark_as_used(folder: Path) -> None:
    with suppress(OSError):  # of a folder that cannot be written
        if folder.stat().st_mtime < time.time() - DAY:
            os.utime(folder)


def prune(newest: Path) -> None:
    """Remove versions of the same module, except the LATEST ones, that nothing has used for UNUSED days."""
    limit = time.time() - UNUSED * DAY
    with suppress(OSError):  # another process removes them too
        others = [path for path in newest.parent.iterdir() if _module_of(path) == _module_of(newest)]
        by_use = sorted((path.stat().st_mtime, path) for path in others if path != newest)
        for used, path in by_use[:-LATEST]:
            if used < limit:
                shutil.rmtree(path, ignore_errors=True)


def _module_of(folder: Path) -> str:
    return folder.name.rpartition("-")[0]


@cache
def compiler() -> str:
    """What compiles here, without importing it: Numba, llvmlite and Python."""
    versions = (f"{name}-{_release_of(name)}" for name in ("numba", "llvmlite"))
    return "-".join((*versions, sys.implementation.cache_tag + sys.abiflags))


def _release_of(name: str) -> str:
    """The version of a library, from its _version.py: the metadata of its distribution take longer to find."""
    spec = find_spec(name)
    if spec is not None and spec.origin is not None:
        with suppress(OSError):
            text = Path(spec.origin).with_name("_version.py").read_text()
            match = re.search(r"""version"?\s*[:=]\s*["'](.+?)["']""", text)
            if match:
                return match[1]
    from importlib.metadata import version

    return version(name)


@cache
def key_of(module: str) -> str:
    """A hash of the sources that the module depends on and of the level, 16 hexadecimal digits."""
    return _hash(name + _source(name) for name in sorted(dependencies(module)))


@cache
def _package_key() -> str:
    paths = (path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] not in NO_KERNELS)
    return _hash(path.read_text("utf-8") for path in paths)


def _hash(sources: Iterable[str]) -> str:
    level = current_level()
    surroundings = f"{level.cpu} {level.features} {os.environ.get('READWARP_VECTOR_BYTES') or level.vector_bytes}"
    return hashlib.sha256("".join((surroundings, *sources)).encode()).hexdigest()[:16]


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


def count_kernels() -> int:
    """Number of files with compiled kernels for the current version of the package, in all folders."""
    level = Path(compiler(), current_level().name)
    found = {path for root in cache_folders.folders() for path in (root / level).glob(f"{NAME}.*-*")}
    current = (path for path in found if path.name == _version_of(_module_of(path)).name)
    return len({(path.name, kernel.name) for path in current for kernel in path.glob("*.kernel")})
