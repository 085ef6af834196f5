"""Tells which kernel Numba is compiling; kernels that come from the disk cache say nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class Compilation(event.Listener):
    """Counts the kernels compiled. A kernel that calls others nests their events in its own: those are not counted."""

    def __init__(self, started: Callable[[str, int], None]) -> None:
        self.kernels, self._depth, self._started = 0, 0, started

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self.kernels += 1
            self._started(event.data["dispatcher"].py_func.__name__, self.kernels)

    def on_end(self, event: Any) -> None:
        self._depth -= 1


@contextmanager
def watched(started: Callable[[str, int], None]) -> Iterator[Compilation]:
    """While the block runs, `started(name, number)` is called before each kernel is compiled."""
    listener = Compilation(started)
    with event.install_listener("numba:compile", listener):
        yield listener
