"""Reports which kernel is being compiled; kernels that come from the disk cache are not reported."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from readwarp.device import jit

FIRST_PASS = "translate_bytecode"  # part of the name of the first pass that numba-cuda reports


class Compilation:
    """Counts compiled kernels."""

    def __init__(self, started: Callable[[str, int], None]) -> None:
        self.kernels, self._started = 0, started

    def begin(self, name: str) -> None:
        self.kernels += 1
        self._started(name, self.kernels)

    def hear(self, kernel: str, signature: str, seconds: float | None) -> None:
        if seconds is None:
            self.begin(kernel.rpartition(":")[2])


@contextmanager
def watch(started: Callable[[str, int], None]) -> Iterator[Compilation]:
    """While the block runs, call `started(name, number)` before each kernel is compiled."""
    compilation = Compilation(started)
    with jit.listen(compilation.hear), _watch_cards(compilation):
        yield compilation


@contextmanager
def _watch_cards(compilation: Compilation) -> Iterator[None]:
    """numba-cuda has its own register, which is loaded by now if kernels for cards may be compiled."""
    if "numba.cuda.core.event" not in sys.modules:  # Numba itself has no such module
        yield
        return
    from numba.cuda.core import event as of_cards

    class Listener(of_cards.Listener):  # type: ignore[misc]
        """Counts kernels, but not the functions that they call, whose events are nested in theirs."""

        depth = 0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1 and FIRST_PASS in event.data["name"]:
                compilation.begin(event.data["qualname"].rpartition(".")[2])

        def on_end(self, event: Any) -> None:
            self.depth -= 1

    with of_cards.install_listener("numba-cuda:run_pass", Listener()):
        yield
