"""Lock files that show which cards of a shared machine are taken, so that each process takes its own.

A card has places: files in the temporary folder, each locked by one process for as long as it lives. A process that
wants any card takes the lowest free place of all cards, and so an unused card if there is one, else the least used. The
system releases the locks however a process ends. Files are named after the cards' UUIDs, so that processes that see
different cards (CUDA_VISIBLE_DEVICES) agree on them.
"""

import fcntl
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_PLACES = 1024  # per card; further users are not counted


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of this process on a card; the lock lasts until `release` or the end of the process."""

    card: int  # position among the cards asked for
    others: int  # number of processes that used it before
    lock: int  # file descriptor

    def release(self) -> None:
        os.close(self.lock)


def claim(uuids: Sequence[str], folder: Path | None = None) -> Claim | None:
    """Claim the least used of the cards; None if no lock files can be made in the folder."""
    folder = folder or Path(tempfile.gettempdir())
    for place in range(MAX_PLACES):
        for card, uuid in enumerate(uuids):
            try:
                lock = _lock(folder / f"readwarp-{uuid}.{place}.lock")
            except OSError:
                return None
            if lock is not None:
                return Claim(card, place, lock)
    return None


def _lock(path: Path) -> int | None:
    """Open and lock the file; None if another process, or another claim of this one, has it. Raises OSError.

    A file of another user can be locked without permission to write to it; in folders such as /tmp it cannot even be
    opened with O_CREAT (fs.protected_regular).
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # no link, and no waiting for a pipe
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        file = os.open(path, flags | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    except OSError:
        os.close(file)
        raise
    return file
