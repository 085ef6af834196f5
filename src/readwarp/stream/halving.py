"""Parts of a batch, and work that is done again on halves when a card runs out of memory."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from readwarp.batches import ReadBatch, Segment
from readwarp.errors import MemoryBudgetError

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


def in_halves(
    batch: ReadBatch, work: Callable[[ReadBatch], U], out_of_memory: Callable[[BaseException], bool]
) -> list[U]:
    """[work(batch)], or the results of ever smaller parts of it, in order, where a part was too much for the device."""
    try:
        return [work(batch)]
    except Exception as error:
        if not out_of_memory(error):
            raise
        middle = _middle(batch)
        if middle is None:
            raise MemoryBudgetError("the device has not enough free memory for a single pair of reads") from error
    parts = reads_between(batch, 0, middle), reads_between(batch, middle, len(batch))
    return [result for part in parts for result in in_halves(part, work, out_of_memory)]


def _middle(batch: ReadBatch) -> int | None:
    """Where to cut without parting mates; None when that cannot be done."""
    middle = len(batch) // 2
    if 0 < middle < len(batch) and batch.segment[middle] == Segment.LAST:
        middle += 1
    return middle if 0 < middle < len(batch) else None
