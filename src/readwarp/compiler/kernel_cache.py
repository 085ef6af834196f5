"""Cache of compiled kernels: a folder per module, named after a hash of everything that its kernels depend on.

That is the module and everything it imports from the package, directly or not, and the processor level: nothing about
the machine, the user or the package's location. A changed help text or report recompiles nothing. Kernels are at
COMPILER/LEVEL/MODULE-KEY in each of `cache_folders`, as machine code that calls functions of Numba and Python, or as
that of a card. A file gets its name when complete, and counts if its checksum is right.
Old versions are removed when a new one is made. The package may be replaced while a process runs: kernels whose sources
are newer than the process are compiled for it alone.
"""

import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from readwarp.compiler import cache_folders
from readwarp.compiler.cache_folders import NAME, compiler
from readwarp.compiler.levels import Level, current_level
from readwarp.compiler.machine_code import MachineCode, from_bytes, sealed, to_bytes, unsealed
from readwarp.compiler.trust import PACKAGE, make_folder
from readwarp.system.scratch import private_file

IMPORT = re.compile(rf"^[ \t]*(?:from ({NAME}[\w.]*) import (\([^)]*\)|[^\n]*)|import ({NAME}[\w.]*))", re.MULTILINE)
# Modules of the package that store kernels but do not make them.
ONLY_KEEP = {f"{NAME}.compiler.{name}" for name in ("kernel_cache", "cache_folders", "trust", "loader")}
LATEST, UNUSED = 3, 30  # versions of a module that are always kept; days without use after which others are removed
logger = logging.getLogger("readwarp")
DAY = 24 * 3600
STARTED = time.time()


def find(kernel: str, signature: str, level: Level | None = None) -> MachineCode | None:
    """Find the machine code of a kernel for a signature and a level (None: the current one), in any folder."""
    if not _is_kept(kernel):
        return None
    return next(map(from_bytes, contents(place_of(kernel, signature, level))), None)


def contents(place: Path) -> Iterator[bytes]:
    """Yield the contents at `place` in each folder, in order, skipping damaged files."""
    for path, data in cache_folders.read(folder / place for folder in cache_folders.folders()):
        content = unsealed(data, place.name)
        if content is not None:
            _mark_as_used(path.parent)
            yield content


def save(kernel: str, signature: str, code: MachineCode, root: Path | None = None) -> None:
    """Save machine code in `root` (None: the user's folder). Raises OSError."""
    write(place_of(kernel, signature), to_bytes(code), root)


def keep(kernel: str, signature: str, code: MachineCode, level: Level) -> None:
    """Save machine code in the user's folder, if possible."""
    try:
        if _is_kept(kernel):
            write(place_of(kernel, signature, level), to_bytes(code))
    except OSError as error:
        _tell_not_kept(str(error))


def _is_kept(kernel: str) -> bool:
    """Return whether a kernel is kept on disk: its module must know it by its name, unlike a lambda."""
    module, _, name = kernel.partition(":")
    return "<" not in name and _is_current(module)


@cache
def _is_current(module: str) -> bool:
    """Return whether it is the package's, and its key's sources are those that this process runs."""
    if _path(module) is None:
        return False
    key_of(module, current_level())  # read them before they are checked
    return all(map(_is_older, dependencies(module)))


@cache
def _is_older(module: str) -> bool:
    """Return whether a module's source is older than this process; times in the future are of another clock."""
    path = _path(module)
    return path is None or not STARTED < path.stat().st_ctime <= time.time()


@cache
def _tell_not_kept(reason: str) -> None:
    logger.warning("compiled kernels cannot be saved, so each run compiles them again: %s", reason)


def write(place: Path, content: bytes, root: Path | None = None) -> None:
    """Write a file at `place` in `root` (None: the user's folder), readable by all, and never seen half-written.

    Raises OSError.
    """
    path = made(place.parent, root) / place.name
    with private_file(path, 0o600) as private:
        private.path.chmod(0o644)
        private.path.write_bytes(sealed(content, place.name))
        private.path.replace(path)


def place_of(kernel: str, signature: str, level: Level | None = None) -> Path:
    """Return the file of a kernel within each folder of `cache_folders`. level: None: the current one."""
    module, _, name = kernel.partition(":")
    name, bracket, options = name.partition("(")
    return folder_of(module, level or current_level()) / f"{name}-{digest_of([bracket, options, signature])}.kernel"


@cache
def folder_of(module: str, level: Level) -> Path:
    """Return the folder of a module's kernels within each folder of `cache_folders`."""
    return Path(compiler(), level.name, f"{module}-{key_of(module, level)}")


@cache
def made(folder: Path, root: Path | None = None) -> Path:
    """Make a folder within `root` (None: the user's folder), to write to. Raises OSError."""
    path = (root or cache_folders.own_folder()) / folder
    is_new = not path.exists()
    path = make_folder(path)
    if is_new:
        prune(path)
    _mark_as_used(path)
    return path


@cache
def _mark_as_used(folder: Path) -> None:
    with suppress(OSError):  # of an unwritable folder
        if folder.stat().st_mtime < time.time() - DAY:
            os.utime(folder)


def prune(newest: Path) -> None:
    """Remove versions of the same module, except the LATEST, that have not been used for UNUSED days."""
    limit = time.time() - UNUSED * DAY
    with suppress(OSError):  # another process may remove them too
        others = [path for path in newest.parent.iterdir() if _module_of(path) == _module_of(newest)]
        by_use = sorted((path.stat().st_mtime, path) for path in others if path != newest)
        for used, path in by_use[:-LATEST]:
            if used < limit:
                shutil.rmtree(path, ignore_errors=True)


def _module_of(folder: Path) -> str:
    return folder.name.rpartition("-")[0]


@cache
def key_of(module: str, level: Level) -> str:
    """Hash the sources that the module depends on, and the level: 16 hexadecimal digits."""
    width = os.environ.get("READWARP_VECTOR_BYTES") or level.vector_bytes
    sources = (name + _source(name) for name in sorted(dependencies(module)))
    return digest_of((f"{level.cpu} {level.features} {width}", *sources))


def digest_of(texts: Iterable[str]) -> str:
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


@cache
def dependencies(module: str) -> set[str]:
    """Return the module and all it imports from the package, directly or not, except `readwarp` and ONLY_KEEP."""
    found, waiting = {module}, [module]
    while waiting:
        new = _imports(waiting.pop()) - found - ONLY_KEEP
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
    """Return a module's source file; None if there is no such module."""
    base = PACKAGE.parent.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def count_kernels() -> int:
    """Count the compiled kernels of the package's current version and level, in all folders."""
    level = Path(compiler(), current_level().name)
    found = {path for root in cache_folders.folders() for path in (root / level).glob(f"{NAME}.*-*")}
    current = (path for path in found if path.name == folder_of(_module_of(path), current_level()).name)
    return len({(path.name, kernel.name) for path in current for kernel in path.glob("*.kernel")})
