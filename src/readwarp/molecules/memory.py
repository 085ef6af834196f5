"""Plan the memory of consensus: how many records wait, and how much is worked on at a time. The output never changes.

bytes = PROGRAM + 3 * records that wait or have just left (joined and split) + work of all threads
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.errors import MemoryBudgetError
from readwarp.ragged import offsets_of
from readwarp.stream.plan import PROGRAM, readable

BATCH, MIN_BATCH = 1 << 23, 1 << 17  # bytes of records processed together, if memory allows
COPIES = 3  # copies of the records that wait
READS, COLUMNS = 4, 24  # bytes of work per byte of a record, and extra per byte of a molecule's first STACKS records
STACKS = 4  # stacks of a molecule: two strands of two mates


class MemoryPlan(NamedTuple):
    """Memory plan, in bytes."""

    batch: int  # least records processed together
    waiting: int  # most records of incomplete molecules
    work: int  # work of all threads


def plan_memory(memory: int) -> MemoryPlan:
    """Give half of the memory left by the program to records that wait, half to work. Raises MemoryBudgetError."""
    room = memory - PROGRAM
    batch = min(BATCH, room // (16 * COPIES))
    if batch < MIN_BATCH:
        least = readable(PROGRAM + 16 * COPIES * MIN_BATCH)
        raise MemoryBudgetError(f"--memory {readable(max(0, memory))} is too small: consensus needs {least} at least")
    return MemoryPlan(batch, room // (2 * COPIES), room // 2)


def work_of(sizes: ndarray, molecule_offsets: ndarray) -> ndarray:
    """Return the bytes that the consensus of each molecule takes (int64 [molecules]). sizes: bytes of each record."""
    size, reads = np.diff(offsets_of(sizes)[molecule_offsets]), np.diff(molecule_offsets)
    work: ndarray = READS * size + COLUMNS * size * np.minimum(reads, STACKS) // np.maximum(reads, 1)
    return work


def cut(work: ndarray, most: int) -> Iterator[slice]:
    """Yield neighbours with at most `most` work together; a larger one stands alone."""
    total, first = offsets_of(work), 0
    while first < work.size:
        stop = max(first + 1, int(np.searchsorted(total, total[first] + most, side="right")) - 1)
        yield slice(first, stop)
        first = stop


@dataclass(slots=True)
class ByteBudget:
    """Pool of bytes that threads share; each waits until there is enough for it."""

    size: int
    _taken: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def take(self, need: int) -> Iterator[None]:
        """Hold `need` bytes, at most `size`."""
        with self._changed:
            self._changed.wait_for(lambda: self._taken + need <= self.size)
            self._taken += need
        try:
            yield
        finally:
            with self._changed:
                self._taken -= need
                self._changed.notify_all()
