"""Parts of a batch, and work that is done again on halves when a card runs out of memory."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from readwarp.batches import ReadBatch, Segment

U = TypeVar("U")


def reads_between(batch: ReadBatch, start: int, stop: int) -> ReadBatch:
    """Reads [start, stop) of the batch; its arrays are views."""

    def part(values, offsets):
        return values[offsets[start] : offsets[stop]], offsets[start : stop + 1] - offsets[start]

    bases, read_offsets = part(batch.bases, batch.read_offsets)
    qualities, _ = part(batch.qualities, batch.read_offsets)
    names, name_offsets = part(batch.names, batch.name_offsets)
    tags, tag_offsets = part(batch.tags, batch.tag_offsets)
    return replace(
        batch,
        bases=bases,
        qualities=qualities,
        read_offsets=read_offsets,
        names=names,
        name_offsets=name_offsets,
        tags=tags,
        tag_offsets=tag_offsets,
        segment=batch.segment[start:stop],
        read_group=batch.read_group[start:stop],
    )


class Halving:
    """Work on batches, in halves where one is too much for a card. One for a run, for any number of threads."""

    def __init__(self, is_out_of_memory: Callable[[BaseException], bool]) -> None:
        self._is_out_of_memory = is_out_of_memory
        self._too_many = 1 << 62  # reads that were too much once; so many are not tried again

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
        if len(batch) < self._too_many or middle is None:
            try:
                return [work(batch)]
            except Exception as error:
                if not self._is_out_of_memory(error):
                    raise
            if middle is None:
                count("reads_on_host", len(batch))
                return [on_host(batch)]
            self._too_many = min(self._too_many, len(batch))
        count("batches_halved", 1)
        parts = reads_between(batch, 0, middle), reads_between(batch, middle, len(batch))
        return [result for part in parts for result in self(part, work, on_host, count)]


def _middle(batch: ReadBatch) -> int | None:
    """Where to cut without parting mates; None when that cannot be done."""
    middle = len(batch) // 2
    if 0 < middle < len(batch) and batch.segment[middle] == Segment.LAST:
        middle += 1
    return middle if 0 < middle < len(batch) else None
