"""Parts of a batch, and work that is done again on halves when a card runs out of memory."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from readwarp.batches import ReadBatch, Segment
from readwarp.ragged import take

U = TypeVar("U")


def reads_between(batch: ReadBatch, start: int, stop: int) -> ReadBatch:
    """Reads [start, stop) of the batch; its arrays are views."""
    return take(batch, "reads", slice(start, stop))


class Halving:
    """Work on batches, in halves where one is too much for a card. One for a run, for any number of threads."""

    def __init__(self, is_out_of_memory: Callable[[BaseException], bool]) -> None:
        self._is_out_of_memory, self._limit = is_out_of_memory, Limit()

    def __call__(
        self,
        batch: ReadBatch,
        work: Callable[[ReadBatch], U],
        on_host: Callable[[ReadBatch], U],
        count: Callable[[str, int], None],
    ) -> list[U]:
        """[work(batch)], or the results of ever smaller parts of it, in order.

        `on_host` does what cannot be cut further; `count` is told of both: batches_halved, reads_on_host.
        """
        middle = _middle(batch)
        if middle is None or self._limit.allows(len(batch)):
            try:
                result = work(batch)
            except Exception as error:
                if not self._is_out_of_memory(error):
                    raise
            else:
                self._limit.fitted()
                return [result]
            if middle is None:
                count("reads_on_host", len(batch))
                return [on_host(batch)]
            self._limit.was_full(len(batch))
        count("batches_halved", 1)
        parts = reads_between(batch, 0, middle), reads_between(batch, middle, len(batch))
        return [result for part in parts for result in self(part, work, on_host, count)]


class Limit:
    """How many reads are tried at once on a card that was too full for some number of them.

    So many are not tried again until `patience` smaller ones have fitted; then up to twice as many are, and when as
    many have fitted again, any number. So an outlier halves at most the batch behind it. Patience doubles with each
    failure: where all batches are too large, every 128th is tried in vain after a while.
    """

    MOST_PATIENCE = 256

    def __init__(self) -> None:
        self._lock, self._patience = Lock(), 1
        self._reads: int | None = None  # so many are too many; None: no number is known to be
        self._fitted, self._is_raised = 0, False

    def allows(self, reads: int) -> bool:
        with self._lock:
            return self._reads is None or reads < self._reads

    def was_full(self, reads: int) -> None:
        with self._lock:
            if self._reads is None or reads < self._reads:  # else another thread has told of it
                self._reads, self._fitted, self._is_raised = reads, 0, False
                self._patience = min(2 * self._patience, self.MOST_PATIENCE)

    def fitted(self) -> None:
        with self._lock:
            if self._reads is None:
                return
            self._fitted += 1
            if self._fitted < self._patience:
                return
            self._reads, self._patience = (None, 1) if self._is_raised else (2 * self._reads, self._patience)
            self._fitted, self._is_raised = 0, True


def _middle(batch: ReadBatch) -> int | None:
    """Where to cut without parting mates; None when that cannot be done."""
    middle = len(batch) // 2
    if 0 < middle < len(batch) and batch.segment[middle] == Segment.LAST:
        middle += 1
    return middle if 0 < middle < len(batch) else None
