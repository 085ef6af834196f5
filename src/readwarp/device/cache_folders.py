"""In which folders compiled kernels are looked for, and into which one new kernels go.

They are looked for in this order:

1. `kernels` in the installed package: shipped with a wheel, a conda package or an image;
2. the folders that READWARP_KERNELS names, separated by colons: those of a site, filled by `readwarp compile -o`;
3. the user's: READWARP_CACHE, $XDG_CACHE_HOME/readwarp or ~/.cache/readwarp, or one in the temporary folder: those up
   to the first one that can be written, into which new kernels go.

Machine code is executed, so whoever writes it can do all that the user can. Hence a folder, and each file in it, must
belong to the user, to root or to the owner of the package, and nobody else may write to it. In a folder with the sticky
bit, to which all may write, each user has a folder of his own. What is refused is told, once in a process.
"""

import grp
import logging
import os
import pwd
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
NAME = PACKAGE.name
SHIPPED = PACKAGE / "kernels"
SITE, OWN = "READWARP_KERNELS", "READWARP_CACHE"
OTHERS = stat.S_IWGRP | stat.S_IWOTH
logger = logging.getLogger("readwarp")


@cache
def folders() -> tuple[Path, ...]:
    """All to look in, the first one first."""
    return tuple(dict.fromkeys((*shared_folders(), *own_folders())))


@cache
def shared_folders() -> tuple[Path, ...]:
    """Those of the package and of the site that can be trusted; nothing is ever written to them."""
    named = [Path(text) for text in os.environ.get(SITE, "").split(os.pathsep) if text]
    for folder in named:
        if not folder.is_dir():
            _tell(f"{SITE}: {folder} is not a folder")
    return tuple(folder for folder in (SHIPPED, *named) if folder.is_dir() and _is_trusted(folder))


@cache
def shared_levels() -> frozenset[str]:
    """Names of the levels of processors that those have kernels for, made by the compiler that is here."""
    found = (level for folder in shared_folders() for level in (folder / compiler()).glob("*") if level.is_dir())
    return frozenset(level.name for level in found)


@cache
def own_folders() -> tuple[Path, ...]:
    """The user's, to look in: those up to the one that can be written, which need not exist yet."""
    found = list[Path]()
    for folder in _candidates():
        if folder.is_dir() and not _is_trusted(folder):
            continue
        found.append(folder)
        if _is_writable(folder):
            break
    return tuple(found)


@cache
def own_folder() -> Path:
    """The user's, to write to; it is made if it is absent. Raises OSError where there is none."""
    given, candidates = os.environ.get(OWN), _candidates()
    for folder in candidates:
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            is_usable = os.access(folder, os.W_OK | os.X_OK) and _is_trusted(folder)
        except OSError:
            is_usable = False
        if is_usable:
            if given and folder != candidates[0]:
                _tell(f"{OWN}: {given} cannot be used for new kernels, which go to {folder}")
            return folder
    raise OSError(f"no folder for compiled kernels can be written: {', '.join(map(str, candidates))}")


def _candidates() -> list[Path]:
    given, home = os.environ.get(OWN), os.environ.get("XDG_CACHE_HOME")
    found = [Path(given)] if given else []
    with suppress(RuntimeError):  # a user without a name and without HOME, as in some containers
        found.append((Path(home) if home else Path.home() / ".cache") / NAME)
    return [*map(_own_part, found), Path(tempfile.gettempdir()) / _of_user()]


def _own_part(folder: Path) -> Path:
    """The folder, or a part of it where others may write to it too."""
    with suppress(OSError):
        mode = folder.stat().st_mode
        if mode & stat.S_ISVTX and mode & OTHERS:
            return folder / _of_user()
    return folder


def _of_user() -> str:
    return f"{NAME}-{os.getuid()}"


def _is_writable(folder: Path) -> bool:
    """Whether something can be written to it, or it can be made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


@cache
def _is_trusted(folder: Path) -> bool:
    """Tells why not."""
    found = folder.stat()
    # Whoever may write to the package may change readwarp itself.
    problem = problem_of(found, PACKAGE.stat().st_mode & OTHERS if folder == SHIPPED else 0)
    if problem:
        _tell(f"{folder}: kernels in this folder are not used: {problem}")
    return problem is None


def problem_of(found: os.stat_result, granted: int = 0) -> str | None:
    """Why a folder or file must not be trusted; None if it may be. granted: bits of OTHERS that do not matter."""
    if found.st_uid not in {0, os.getuid(), PACKAGE.stat().st_uid}:
        return f"it belongs to {_name_of(found.st_uid)}"
    writers = found.st_mode & OTHERS & ~granted
    if writers & stat.S_IWGRP and _is_private(found.st_gid, found.st_uid):
        writers &= ~stat.S_IWGRP
    if writers:
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):o}; remedy: chmod go-w)"
    return None


def _is_private(group: int, user: int) -> bool:
    """Whether it is the user's own group, in which there is nobody else, as many distributions have it."""
    try:
        members, owner = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    return (owner.pw_gid, owner.pw_name) == (group, members.gr_name) and set(members.gr_mem) <= {owner.pw_name}


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


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


def read(paths: Iterator[Path]) -> Iterator[tuple[Path, bytes]]:
    """The contents of those files that exist and can be trusted; another's in a folder of ours is told."""
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # most often absent
            continue
        with open(descriptor, "rb") as file:
            granted = PACKAGE.stat().st_mode & OTHERS if path.is_relative_to(SHIPPED) else 0
            problem = problem_of(os.fstat(descriptor), granted)
            if problem is None:
                yield path, file.read()
            else:
                _tell(f"{path}: this kernel is not used: {problem}")


@cache
def _tell(message: str) -> None:
    """Once in a process."""
    logger.warning("%s", message)
