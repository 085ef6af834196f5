"""Silence htslib: its messages on stderr repeat what InputError says.

Its verbosity is per process, and threads overlap, so the last one that wants silence ends it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pysam


class Silence:
    """Number of blocks that want silence, and the verbosity before the first one."""

    def __init__(self) -> None:
        self._lock, self._users, self._verbosity = threading.Lock(), 0, 0

    def begin(self) -> None:
        with self._lock:
            if self._users == 0:
                self._verbosity = pysam.set_verbosity(0)
            self._users += 1

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                pysam.set_verbosity(self._verbosity)


SILENCE = Silence()


@contextmanager
def quiet_htslib() -> Iterator[None]:
    """Keep htslib's messages on errors, which are raised too, and on missing indexes off stderr."""
    SILENCE.begin()
    try:
        yield
    finally:
        SILENCE.end()
