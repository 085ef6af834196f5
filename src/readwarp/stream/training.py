"""The insert-size model of each source, made from exactly its first pairs, whatever the batches are."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import TypeVar

from readwarp.batches import ReadBatch, Segment
from readwarp.stream.halving import reads_between

M = TypeVar("M")


def with_models(
    batches: Iterable[ReadBatch], pairs: int, train: Callable[[list[ReadBatch]], M]
) -> Iterator[tuple[ReadBatch, M]]:
    """Each batch with the model of its source.

    `train` gets the source's first 2 * `pairs` reads (all, when there are fewer; one more, rather than part mates), so
    its first `pairs` pairs where all reads are paired. Batches read for it are held back until it is done.
    """
    for _, of_source in groupby(batches, key=lambda batch: batch.source):
        held, sample = _first_reads(of_source, 2 * pairs)
        model = train(sample)
        for batch in chain(held, of_source):
            yield batch, model


def _first_reads(batches: Iterable[ReadBatch], reads: int) -> tuple[list[ReadBatch], list[ReadBatch]]:
    """The batches taken off to see so many reads, and the same with the last cut behind the last of these reads."""
    held: list[ReadBatch] = []
    sample: list[ReadBatch] = []
    missing = reads
    for batch in batches:
        held.append(batch)
        if len(batch) >= missing:
            parts_mates = missing < len(batch) and batch.segment[missing] == Segment.LAST
            sample.append(reads_between(batch, 0, missing + int(parts_mates)))
            break
        sample.append(batch)
        missing -= len(batch)
    return held, sample
