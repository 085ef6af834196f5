"""Private files and folders that end with their process; after a kill, the next process of their kind removes them.

Each is locked by its process (flock(2)), so whoever gets the lock knows that it was abandoned: PIDs recur, and those of
other hosts mean nothing. Without locks, nothing is removed.
"""

import fcntl
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from readwarp.system.stopping import held_back

PREFIX = "readwarp-scratch-"
TOKEN = "[0-9a-f]{16}"
OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Private:
    """A file or folder that `make` makes at a new path, removed by `close`, or when this object or the process ends."""

    def __init__(self, folder: Path, prefix: str, make: Callable[[Path], object]) -> None:
        """Make and lock it. make: raises OSError, as does this."""
        _remove_abandoned(folder, re.compile(re.escape(prefix) + TOKEN))
        with held_back():
            while True:
                self.path = folder / f"{prefix}{secrets.token_hex(8)}"
                make(self.path)
                try:
                    descriptor = _open(self.path)
                except FileNotFoundError:  # taken for abandoned before that
                    continue
                with suppress(OSError):  # no locks here
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                if os.fstat(descriptor).st_nlink:  # not taken for abandoned before it was locked
                    break
                os.close(descriptor)
            self.close = weakref.finalize(self, _end, self.path, descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ScratchFolder(Private):
    """A folder in the temporary folder for files that other programs read or write."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.gettempdir()), PREFIX, lambda path: path.mkdir(0o700))


def private_file(path: Path, mode: int = 0o666) -> Private:
    """Make an empty file beside `path`, to be filled and renamed. mode: less the user's umask."""
    return Private(path.parent, f".{path.name}.", lambda made: made.touch(mode, exist_ok=False))


def _open(path: Path) -> int:
    return os.open(path, OPEN | (os.O_RDONLY if path.is_dir() else os.O_RDWR))  # NFS locks only writable files


def _remove_abandoned(folder: Path, name: re.Pattern[str]) -> None:
    abandoned: list[Path] = []
    with suppress(OSError):  # a folder that is writable but not readable
        abandoned = [path for path in folder.iterdir() if name.fullmatch(path.name)]
    for path in abandoned:
        with suppress(OSError):  # in use, or gone
            if path.lstat().st_uid != os.getuid():
                continue
            descriptor = _open(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(descriptor)


def _remove(path: Path) -> None:
    with held_back(), suppress(OSError):  # the next process finds what stays
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _end(path: Path, descriptor: int) -> None:
    with held_back():
        _remove(path)
        os.close(descriptor)
