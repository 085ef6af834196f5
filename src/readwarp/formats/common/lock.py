"""One process at a time on an output: a lock file beside it, which the system releases when the process ends."""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from readwarp.errors import UsageError

WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # from file systems that have none


@contextmanager
def locked(output: object) -> Iterator[None]:
    """Keep other processes off `output` (None, stdout, pipes and devices need no lock). Raises UsageError.

    By flock(2), so on network file systems as reliable as their support of it. Where there is none (Lustre mounted
    without `-o flock`), a warning is logged.
    """
    if output is None or str(output) == "-" or (Path(str(output)).exists() and not Path(str(output)).is_file()):
        yield
        return
    place = Path(f"{output}.lock")
    descriptor = _take(place, output)
    try:
        yield
    finally:
        place.unlink(missing_ok=True)
        os.close(descriptor)


def _take(place: Path, output: object) -> int:
    """An open, locked descriptor of the file that has this name now; another process may just have removed it."""
    while True:
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"{output}: cannot be written ({error.strerror})") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if place.exists() and os.fstat(descriptor).st_ino == place.stat().st_ino:
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise UsageError(f"{output}: is being written by another process ({place})") from None
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno in WITHOUT_LOCKS:
                logging.getLogger("readwarp").warning(
                    "%s: its file system has no locks (%s): let no other process write it",
                    output,
                    error.strerror,
                )
                return descriptor
            os.close(descriptor)
            raise UsageError(f"{place}: cannot be locked ({error.strerror})") from error
        os.close(descriptor)
