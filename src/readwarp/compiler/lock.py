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
def compiling_alone(folder: Path, waiting: Callable[[str], object]) -> Iterator[None]:
    """Hold the lock of a folder within the block. Another process may have compiled what is needed by then.

    While another process holds it, `waiting` is called repeatedly with the holder ("PID 17 on node3"). Without write
    permission for the folder, or without locks, the block runs all the same: two processes may then compile the same
    kernel, and the last one's file stays.
    """
    try:
        file = os.open(folder / "compiling.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        logger.debug("%s: no lock: %s", folder, error.strerror)
        yield
        return
    try:
        _lock(file, folder, waiting)
        yield
    finally:
        os.close(file)


def _lock(file: int, folder: Path, waiting: Callable[[str], object]) -> None:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(_holder(file))
            time.sleep(PAUSE)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            text = "%s: its file system has no locks (%s): other processes may compile the same kernels meanwhile"
            logger.warning(text, folder, error.strerror)
            return
        else:
            os.ftruncate(file, 0)
            os.pwrite(file, f"PID {os.getpid()} on {socket.gethostname()}".encode(), 0)
            return


def _holder(file: int) -> str:
    return os.pread(file, 200, 0).decode(errors="replace") or "a process that has just begun"
