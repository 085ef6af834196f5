"""Reports of kernels being compiled; kernels from the disk cache are not reported."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from readwarp.compiler import jit

UNFORESEEN = "compiling one more kernel"


class Compilation:
    """Counter of compiled kernels."""

    def __init__(self, started: Callable[[str, int], None]) -> None:
        self.kernels, self._started = 0, started

    def hear(self, kernel: str, signature: str, seconds: float | None) -> None:
        if seconds is None:
            self.kernels += 1
            self._started(re.split("[:.]", kernel)[-1], self.kernels)


@contextmanager
def watch(started: Callable[[str, int], None]) -> Iterator[Compilation]:
    """Call `started(name, number)` before each kernel is compiled within the block."""
    compilation = Compilation(started)
    with jit.listen(compilation.hear):
        yield compilation
