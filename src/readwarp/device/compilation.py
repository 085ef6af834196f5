"""Reports which kernel is being compiled; kernels that come from the disk cache are not reported."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

FIRST_PASS = "translate_bytecode"  # part of the name of the first pass that numba-cuda reports
Listener = Callable[[str, str, float | None], object]  # kernel, signature, seconds; None: it begins
_listeners: list[Listener] = []


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """While the block runs, tell the listener of each kernel before and after it is compiled."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(kernel: str, signature: str, seconds: float | None) -> None:
    """Those who listen; seconds: None before it is compiled."""
    for listener in tuple(_listeners):
        listener(kernel, signature, seconds)


class Compilation:
    """Counts compiled kernels."""

    def __init__(self, started: Callable[[str, int], None]) -> None:
        self.kernels, self._started = 0, started

    def hear(self, kernel: str, signature: str, seconds: float | None) -> None:
        if seconds is None:
            self.kernels += 1
            self._started(kernel.rpartition(":")[2], self.kernels)


@contextmanager
def watch(started: Callable[[str, int], None]) -> Iterator[Compilation]:
    """While the block runs, call `started(name, number)` before each kernel is compiled."""
    compilation = Compilation(started)
    with listen(compilation.hear):
        yield compilation


@cache
def listen_to_cards() -> None:
    """Tell of what numba-cuda compiles too, from now on: kernels, but not the functions that they call."""
    from numba.cuda.core import event

    class OfCards:
        """Numba's events; those of functions that a kernel calls are nested in its own."""

        depth = 0

        def notify(self, event: Any) -> None:
            self.depth += -1 if event.is_end else 1
            if self.depth == 1 and event.is_start and FIRST_PASS in event.data["name"]:
                tell(event.data["qualname"], "", None)

    event.Listener.register(OfCards)
    event.register("numba-cuda:run_pass", OfCards())
