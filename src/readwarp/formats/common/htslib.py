"""htslib in child processes: what it crashes on ends the child, not this process."""

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


class Child:
    """A process in which htslib reads files."""

    def __init__(self) -> None:
        self.files = 0  # open ones
        self._lock, self._numbers = threading.Lock(), count()
        self._process = subprocess.Popen(
            CHILD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # out of reach of the terminal's Ctrl-C
        )

    def next_number(self) -> int:
        return next(self._numbers)

    def ask(
        self, path: Path, reason: str | Callable[[bytes], str] = "damaged, or truncated", **request: object
    ) -> bytes:
        """Its answer. Raises InputError with this reason for an error, and where it crashed.

        reason: or what makes it of htslib's messages.
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
            except BaseException:  # a stop: the answer that still comes would be taken for that to the next request
                process.kill()
                raise
        if head[:1] != b"\0" or len(data) < size:  # it failed, or has ended before or within its answer
            raise InputError(path, reason if isinstance(reason, str) else reason(data or CRASHED))
        return data

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
