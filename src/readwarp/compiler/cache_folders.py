"""Folders in which compiled kernels are looked up, and the one that takes new kernels.

Kernels are looked up in this order:

1. `kernels` in the installed package: shipped with a wheel, a conda package or an image;
2. the folders in READWARP_KERNELS, separated by colons: those of a site, filled by `readwarp compile -o`;
3. the user's: READWARP_CACHE, $XDG_CACHE_HOME/readwarp or ~/.cache/readwarp, or one in the temporary folder, up to
   the first that can be written, which takes new kernels.

Machine code is executed, so whoever writes it can do all that the user can. Hence each folder on the way to a file, and
the file, must pass `trust`. In a folder with the sticky bit, which all may write, each user has a subfolder. A refusal
is reported once per process.
"""

import logging
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from readwarp.compiler.trust import OTHERS, PACKAGE, DistrustError, make_folder, read_trusted, real_folder

NAME = PACKAGE.name
SHIPPED = PACKAGE / "kernels"
SITE, OWN = "READWARP_KERNELS", "READWARP_CACHE"
logger = logging.getLogger("readwarp")


@cache
def folders() -> tuple[Path, ...]:
    """Return all folders to look in, in order."""
    return tuple(dict.fromkeys((*shared_folders(), *own_folders())))


@cache
def shared_folders() -> tuple[Path, ...]:
    """Return the trusted folders of the package and of the site; nothing is ever written to them."""
    named = [Path(text) for text in os.environ.get(SITE, "").split(os.pathsep) if text]
    for folder in named:
        if not folder.is_dir():
            _tell(f"{SITE}: {folder} is not a folder")
    return tuple(folder for folder in (SHIPPED, *named) if folder.is_dir() and _is_trusted(folder))


@cache
def shared_levels() -> frozenset[str]:
    """Return names of the processor levels for which those have kernels made by the compiler installed here."""
    found = (level for folder in shared_folders() for level in (folder / compiler()).glob("*") if level.is_dir())
    return frozenset(level.name for level in found)


@cache
def own_folders() -> tuple[Path, ...]:
    """Return the user's folders to look in, up to the one that can be written, which need not exist yet."""
    found = list[Path]()
    for folder in filter(_is_trusted, _candidates()):
        found.append(folder)
        if _is_writable(folder):
            break
    return tuple(found)


@cache
def own_folder() -> Path:
    """Return the user's folder to write to, made if absent. Raises OSError if there is none."""
    given, candidates = os.environ.get(OWN), _candidates()
    for folder in candidates:
        try:
            found = make_folder(folder)
        except DistrustError as error:
            _tell_distrust(folder, error)
            continue
        except OSError:
            continue
        if os.access(found, os.W_OK | os.X_OK):
            if given and folder != candidates[0]:
                _tell(f"{OWN}: {given} cannot be used for new kernels, which go to {found}")
            return found
    raise OSError(f"no folder for compiled kernels can be written: {', '.join(map(str, candidates))}")


def _candidates() -> list[Path]:
    given, home = os.environ.get(OWN), os.environ.get("XDG_CACHE_HOME")
    found = [Path(given)] if given else []
    with suppress(RuntimeError):  # a user without a name or HOME, as in some containers
        found.append((Path(home) if home else Path.home() / ".cache") / NAME)
    return [*map(_own_part, found), Path(tempfile.gettempdir()) / _of_user()]


def _own_part(folder: Path) -> Path:
    """Return the folder, or a subfolder of it if others may write to it too."""
    with suppress(OSError):
        mode = folder.stat().st_mode
        if mode & stat.S_ISVTX and mode & OTHERS:
            return folder / _of_user()
    return folder


def _of_user() -> str:
    return f"{NAME}-{os.getuid()}"


def _is_writable(folder: Path) -> bool:
    """Return whether the folder can be written to or made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


@cache
def _is_trusted(folder: Path) -> bool:
    """Return whether the folder, as far as it exists, can be trusted; if not, report why."""
    try:
        real_folder(folder)
    except DistrustError as error:
        _tell_distrust(folder, error)
        return False
    except OSError:
        pass
    return True


def _tell_distrust(folder: Path, error: DistrustError) -> None:
    what = "it" if error.place == folder else error.place
    _tell(f"{folder}: kernels in this folder are not used: {what} {error.reason}")


@cache
def compiler() -> str:
    """Return the compiler of this installation without importing it: Numba, llvmlite and Python."""
    versions = (f"{name}-{release_of(name)}" for name in ("numba", "llvmlite"))
    return "-".join((*versions, sys.implementation.cache_tag + sys.abiflags))


def release_of(name: str) -> str:
    """Return a library's version from its _version.py: the metadata of its distribution take longer to find."""
    spec = find_spec(name)
    if spec is not None and spec.origin is not None:
        with suppress(OSError):
            text = Path(spec.origin).with_name("_version.py").read_text()
            match = re.search(r"""version"?\s*[:=]\s*["'](.+?)["']""", text)
            if match:
                return match[1]
    from importlib.metadata import version

    return version(name)


def read(paths: Iterator[Path]) -> Iterator[tuple[Path, bytes]]:
    """Yield the contents of files that exist and can be trusted; report another user's file in a folder of ours."""
    for path in paths:
        try:
            yield path, read_trusted(path)
        except DistrustError as error:
            _tell(f"{path}: this kernel is not used: {'it' if error.place == path else error.place} {error.reason}")
        except OSError:  # usually absent
            continue


@cache
def _tell(message: str) -> None:
    """Report a message once per process."""
    logger.warning("%s", message)
