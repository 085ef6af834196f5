"""A lock for processes that need the same kernels: one compiles them while the others wait.

The lock is flock(2) on a file in the folder for new kernels. The system releases it however a process ends, even by
kill -9. Nodes that share the folder share the lock if their file system has locks, as NFS does.
"""

import fcntl
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENOLCK, ENOSYS, EOPNOTSUPP
from pathlib import Path

NO_LOCKS = {ENOLCK, ENOSYS, EOPNOTSUPP}  # errors of file systems without locks
PAUSE = 0.2  # seconds between two attempts
logger = logging.getLogger("readwarp")


@contextmanager
def compiling_alone(folder: Path, waiting: Callable[[str, float], object]) -> Iterator[bool]:
    """Hold the lock of a folder; yield whether another process held it before and may have compiled what is needed.

    While another process holds it, `waiting` is called repeatedly with the holder ("PID 17 on node3") and the seconds
    so far. Without write permission for the folder, or without locks, the block runs all the same: two processes may
    then compile the same kernel, and the last one's file stays.
    """
    try:
        file = os.open(folder / "compiling.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        logger.debug("%s: no lock: %s", folder, error.strerror)
        yield False
        return
    try:
        yield _lock(file, folder, waiting)
    finally:
        os.close(file)


def _lock(file: int, folder: Path, waiting: Callable[[str, float], object]) -> bool:
    started, has_waited = time.monotonic(), False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            has_waited = True
            waiting(_holder(file), time.monotonic() - started)
            time.sleep(PAUSE)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            text = "%s: its file system has no locks (%s): other processes may compile the same kernels meanwhile"
            logger.warning(text, folder, error.strerror)
            return has_waited
        else:
            os.ftruncate(file, 0)
            os.pwrite(file, f"PID {os.getpid()} on {socket.gethostname()}".encode(), 0)
            return has_waited


def _holder(file: int) -> str:
    return os.pread(file, 200, 0).decode(errors="replace") or "a process that has just begun"
