"""Work on batches of reads, repeated on their halves where one is too large for a card."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.reads.raw import RawBatch
from readwarp.formats.reads.stream import parse
from readwarp.ragged import take

U = TypeVar("U")
Reads = ReadBatch | RawBatch


class Halving:
    """Work that halves batches that are too large. One object serves all threads of a run."""

    def __init__(self, is_full: Callable[[BaseException], bool]) -> None:
        """Start without a limit. is_full: tells whether an error means that a card is full."""
        self._is_full, self._limit = is_full, Limit()

    def __call__(
        self,
        batch: Reads,
        work: Callable[[Reads], U],
        on_host: Callable[[Reads], U],
        count: Callable[[str, int], None],
    ) -> list[U]:
        """Return [work(batch)], or the results of smaller and smaller parts of it, in order.

        `on_host` takes batches too large for a card that cannot be cut further; `count` counts these, and the cuts.
        """
        halves = None if self._limit.allows(len(batch)) else halves_of(batch)
        if halves is None:
            try:
                result = work(batch)
            except Exception as error:
                if not self._is_full(error):
                    raise
            else:
                self._limit.fitted()
                return [result]
            halves = halves_of(batch)
            if halves is None:
                count("reads_on_host", len(batch))
                return [on_host(batch)]
            self._limit.was_full(len(batch))
        count("batches_halved", 1)
        return [result for half in halves for result in self(half, work, on_host, count)]


class Limit:
    """A limit on the size of items tried on a card, set after a failure.

    A size that failed is not tried again until `patience` smaller items have fitted. Then the limit is twice that size,
    and after as many more items there is none. So an outlier halves at most the next item. Patience doubles with each
    failure: if all items are too large, eventually only every 128th is tried in vain.
    """

    MAX_PATIENCE = 256

    def __init__(self) -> None:
        self._lock, self._patience = Lock(), 1
        self._full: int | None = None  # this size is too large; None: no known limit
        self._fitted, self._is_raised = 0, False

    def allows(self, size: int) -> bool:
        with self._lock:
            return self._full is None or size < self._full

    def was_full(self, size: int) -> None:
        with self._lock:
            if self._full is None or size < self._full:  # else another thread has set it
                self._full, self._fitted, self._is_raised = size, 0, False
                self._patience = min(2 * self._patience, self.MAX_PATIENCE)

    def fitted(self) -> None:
        with self._lock:
            if self._full is None:
                return
            self._fitted += 1
            if self._fitted < self._patience:
                return
            self._full, self._patience = (None, 1) if self._is_raised else (2 * self._full, self._patience)
            self._fitted, self._is_raised = 0, True


def halves_of(batch: Reads) -> tuple[ReadBatch, ReadBatch] | None:
    """Return two halves that do not separate mates, or None if there are none."""
    reads = parse(batch) if isinstance(batch, RawBatch) else batch
    middle = len(reads) // 2
    if 0 < middle < len(reads) and reads.segment[middle] == Segment.LAST:
        middle += 1
    if not 0 < middle < len(reads):
        return None
    return take(reads, "reads", slice(middle)), take(reads, "reads", slice(middle, None))
