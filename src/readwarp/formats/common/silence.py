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

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Keep htslib's messages on errors, which are raised too, and on missing indexes off stderr."""
        with self._lock:
            if self._users == 0:
                self._verbosity = pysam.set_verbosity(0)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    pysam.set_verbosity(self._verbosity)


quiet_htslib = Silence()
