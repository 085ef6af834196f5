"""Progress of the compilation of kernels, as text; kernels from the disk cache are not reported."""

import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from readwarp.compiler import jit
from readwarp.wording import counted

INTERVAL = 10.0  # seconds between lines
UNFORESEEN = "compiling one more kernel"


class Compiling(NamedTuple):
    """Progress of a compilation."""

    done: int  # kernels
    total: int
    share: float  # of the work, 0-1
    seconds_left: float
    holder: str | None = None  # another process that is compiling, for which this one waits

    def __str__(self) -> str:
        if self.holder is not None:
            return f"waiting for another readwarp ({self.holder}) to compile kernels"
        left = max(1, round(self.seconds_left))
        if not self.done:
            return f"compiling {counted(self.total, 'kernel')}, one time only (about {left} s)"
        return f"compiling kernels: {self.done} of {self.total}, about {left} s left"


Show = Callable[[Compiling], object]


@dataclass
class ProgressLines:
    """Progress lines: one at the start, one when a wait begins or ends, and one every ten seconds."""

    say: Callable[[str], object]
    _said: float = field(default=-math.inf, init=False)
    _holder: str | None = field(default=None, init=False)

    def __call__(self, state: Compiling) -> None:
        now = time.monotonic()
        if now - self._said >= INTERVAL or state.holder != self._holder:
            self._said, self._holder = now, state.holder
            self.say(str(state))


def done(kernels: int, seconds: float) -> str:
    return f"compiled {counted(kernels, 'kernel')} in {seconds:.0f} s; later runs reuse them"


def to_stderr(line: str) -> None:
    print(f"readwarp: {line}", file=sys.stderr, flush=True)


@contextmanager
def watch(started: Callable[[str, int], None]) -> Iterator[list[str]]:
    """Call `started(name, number)` before each kernel is compiled within the block; yield their names so far."""
    names: list[str] = []

    def hear(kernel: str, signature: str, seconds: float | None) -> None:
        if seconds is None:
            names.append(re.split("[:.]", kernel)[-1])
            started(names[-1], len(names))

    with jit.listen(hear):
        yield names
