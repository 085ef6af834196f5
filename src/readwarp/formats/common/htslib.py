"""htslib in child processes: a crash of htslib ends the child, not this process."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

from readwarp.errors import InputError

CRASHED = b"htslib crashed"
CHILD = (sys.executable, "-P", "-m", "readwarp.formats.common.htslib_child")


class HtslibProcess:
    """A process in which htslib reads files."""

    def __init__(self) -> None:
        self.files = 0  # number of open files
        self.numbers = count()  # of the files
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            CHILD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # shielded from the terminal's Ctrl-C
        )

    def ask(
        self, path: Path, reason: str | Callable[[bytes], str] = "damaged, or truncated", **request: object
    ) -> bytes:
        """Send a request; return the answer. Raises InputError with this reason for an error or a crash.

        reason: may also be a function of htslib's messages.
        """
        process, data = self._process, b""
        assert process.stdin is not None and process.stdout is not None
        with self._lock:
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                head = process.stdout.read(9)
                size = int.from_bytes(head[1:], "little")
                data = process.stdout.read(size)
            except BrokenPipeError:
                head = b""
            except BaseException:  # a stop: the pending answer would be taken for the next request's
                process.kill()
                raise
        if head[:1] != b"\0" or len(data) < size:  # it failed, or ended before or within its answer
            raise InputError(path, reason if isinstance(reason, str) else reason(data or CRASHED))
        return data

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
