"""Copies between host and card through pinned memory, which the card accesses directly."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device import cuda_driver, failure
from readwarp.device.card_array import CardArray
from readwarp.errors import PinnedMemoryError

ALIGNMENT = 256  # bytes: the driver's alignment of allocations, and more than any access needs


def rounded(nbytes: int) -> int:
    """Return the bytes of a block that an array of that many bytes takes."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


@dataclass(slots=True)
class StagedRun:
    """A run of neighbours on the card, laid out in pinned memory as on the card, so that they are one copy."""

    address: int  # on the card
    place: int  # position in pinned memory
    owner: Any  # keeps the memory on the card alive
    stop: int = 0  # end in pinned memory
    pieces: list[tuple[ndarray, int]] = field(default_factory=list)  # host bytes, and their position

    def is_continued(self, address: int, place: int, owner: Any) -> bool:
        return self.owner is owner and address - self.address == place - self.place


class Staging:
    """The pinned memory of a stream. Arrays of any size go through it, in parts if necessary."""

    def __init__(self, nbytes: int, stream: int) -> None:
        """Allocate the pinned memory. stream: its handle. Raises PinnedMemoryError."""
        self._memory, self._stream = pin(nbytes), stream
        self._address, self._pinned = self._memory.handle, self._memory.array
        self.used = 0  # pinned bytes that the stream may still access; none after a wait

    def upload(self, host: Sequence[ndarray], there: Sequence[CardArray], wait: Callable[[], None]) -> None:
        """Copy contiguous host arrays to the card; they may be changed as soon as this returns."""
        for run in self._runs(host, there, wait):
            for values, place in run.pieces:
                self._pinned[place : place + values.size] = values
            source, size = self._address + run.place, run.stop - run.place
            cuda_driver.copy_up(run.address, source, size, self._stream)

    def download(self, host: Sequence[ndarray], there: Sequence[CardArray], wait: Callable[[], None]) -> None:
        """Copy card arrays to contiguous host arrays, after all earlier work of the stream."""
        waiting: list[tuple[ndarray, int]] = []

        def collect() -> None:
            wait()
            for values, place in waiting:
                values[:] = self._pinned[place : place + values.size]
            waiting.clear()

        for run in self._runs(host, there, collect):
            target, size = self._address + run.place, run.stop - run.place
            cuda_driver.copy_down(target, run.address, size, self._stream)
            waiting += run.pieces
        collect()

    def _runs(
        self, host: Sequence[ndarray], there: Sequence[CardArray], make_room: Callable[[], None]
    ) -> Iterator[StagedRun]:
        """Yield the arrays in runs, and call `make_room` between runs where pinned memory is full."""
        run: StagedRun | None = None
        for array, card in sorted(zip(host, there, strict=True), key=lambda pair: pair[1].address):
            values, done = array.reshape(-1).view(np.uint8), 0
            while done < values.size:
                if self.used >= self._pinned.size:
                    if run:
                        yield run
                    make_room()
                    self.used, run = 0, None
                size, address = min(values.size - done, self._pinned.size - self.used), card.address + done
                if run and not run.is_continued(address, self.used, card.owner):
                    yield run
                    run = None
                run = run or StagedRun(address, self.used, card.owner)
                run.pieces.append((values[done : done + size], self.used))
                run.stop, done = self.used + size, done + size
                self.used += rounded(size)
        if run:
            yield run


def pin(nbytes: int) -> cuda_driver.Pinned:
    """Allocate host bytes that a card can copy from and to. Raises PinnedMemoryError."""
    try:
        return cuda_driver.Pinned(nbytes)
    except Exception as error:
        if not failure.is_out_of_memory(error):  # the driver's error for either memory
            raise
        reason = f"the system cannot pin {nbytes} bytes of memory for copies to the card"
        raise PinnedMemoryError(f"{reason}: free memory of the host, or use fewer --threads") from error
