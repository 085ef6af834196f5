"""Reports which kernel Numba is compiling; kernels that come from the disk cache are not reported."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

FIRST_PASS = "translate_bytecode"  # part of the name of the first pass that numba-cuda reports


class Compilation(event.Listener):
    """Counts compiled kernels, but not the functions that they call, whose events are nested in theirs."""

    def __init__(self, started: Callable[[str, int], None]) -> None:
        self.kernels, self._depth, self._started = 0, 0, started

    def on_start(self, event: Any) -> None:
        self._depth += 1
        name = _kernel_of(event.data)
        if self._depth == 1 and name:
            self.kernels += 1
            self._started(name, self.kernels)

    def on_end(self, event: Any) -> None:
        self._depth -= 1


def _kernel_of(data: dict[str, Any]) -> str | None:
    """The kernel whose compilation begins: Numba reports a compilation as a whole, numba-cuda each of its passes."""
    if "dispatcher" in data:
        return str(data["dispatcher"].py_func.__name__)
    return data["qualname"].rpartition(".")[2] if FIRST_PASS in data["name"] else None


@contextmanager
def watch(started: Callable[[str, int], None]) -> Iterator[Compilation]:
    """While the block runs, call `started(name, number)` before each kernel is compiled."""
    listener = Compilation(started)
    with event.install_listener("numba:compile", listener), _watch_cards(listener):
        yield listener


@contextmanager
def _watch_cards(listener: Compilation) -> Iterator[None]:
    """numba-cuda has its own register, which is loaded by now if kernels for cards may be compiled."""
    if "numba.cuda.core.event" not in sys.modules:  # Numba itself has no such module
        yield
        return
    from numba.cuda.core import event as of_cards

    of_cards.Listener.register(Compilation)
    with of_cards.install_listener("numba-cuda:run_pass", listener):
        yield
