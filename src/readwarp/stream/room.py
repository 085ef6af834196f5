"""Room shared by workers, threads and processes alike: each takes a part while it works, or one takes all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


class PipeRoom:
    """Parts that are bytes in a pipe, which forked processes share."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self._parts, self._turn = Pipe(parts), Pipe(1)  # only one at a time collects several

    @contextmanager
    def take(self, number: int) -> Iterator[None]:
        """Wait until `number` parts are free, and hold them."""
        taken = 0
        try:
            if number == 1:
                taken += self._parts.take(1)
            else:
                self._turn.take(1)
                try:
                    while taken < number:
                        taken += self._parts.take(number - taken)
                finally:
                    self._turn.give(1)
            yield
        finally:
            self._parts.give(taken)

    def close(self) -> None:
        self._parts.close()
        self._turn.close()


class Pipe:
    """Tokens in a pipe."""

    def __init__(self, number: int) -> None:
        self._out, self._into = os.pipe()
        self.give(number)

    def take(self, number: int) -> int:
        """Take up to `number` tokens, at least one; return how many."""
        return len(os.read(self._out, number))

    def give(self, number: int) -> None:
        os.write(self._into, bytes(number))

    def close(self) -> None:
        os.close(self._out)
        os.close(self._into)
