"""Reports which kernel Numba is compiling; kernels that come from the disk cache are not reported.

Numba tells of its compilations from its import on, which comes with the first one (`listen`, `listen_to_cards`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

FIRST_PASS = "translate_bytecode"  # part of the name of the first pass that numba-cuda reports


class Compilation:
    """Counts compiled kernels, but not the functions that they call, whose events are nested in theirs."""

    def __init__(self, started: Callable[[str, int], None]) -> None:
        self.kernels, self._depth, self._started = 0, 0, started

    def notify(self, event: Any) -> None:
        """An event of Numba or numba-cuda."""
        if event.is_end:
            self._depth -= 1
            return
        self._depth += 1
        name = _kernel_of(event.data)
        if self._depth == 1 and name:
            self.kernels += 1
            self._started(name, self.kernels)


def _kernel_of(data: dict[str, Any]) -> str | None:
    """The kernel whose compilation begins: Numba reports a compilation as a whole, numba-cuda each of its passes."""
    if "dispatcher" in data:
        return str(data["dispatcher"].py_func.__name__)
    return data["qualname"].rpartition(".")[2] if FIRST_PASS in data["name"] else None


_watching: list[Compilation] = []


@contextmanager
def watch(started: Callable[[str, int], None]) -> Iterator[Compilation]:
    """While the block runs, call `started(name, number)` before each kernel is compiled."""
    compilation = Compilation(started)
    _watching.append(compilation)
    try:
        yield compilation
    finally:
        _watching.remove(compilation)


class _Listeners:
    """All who watch, to Numba."""

    def notify(self, event: Any) -> None:
        for compilation in tuple(_watching):
            compilation.notify(event)


@cache
def listen() -> None:
    """Hear of Numba's compilations from now on."""
    from numba.core import event

    event.Listener.register(_Listeners)
    event.register("numba:compile", _Listeners())


@cache
def listen_to_cards() -> None:
    """Hear of those of numba-cuda, which has its own register."""
    from numba.cuda.core import event

    event.Listener.register(_Listeners)
    event.register("numba-cuda:run_pass", _Listeners())
