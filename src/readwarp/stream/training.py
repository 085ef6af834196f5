"""The insert-size model of each source, made from exactly its first pairs, whatever the batches."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain, groupby
from typing import Protocol, TypeVar

from readwarp.batches import ReadBatch, Segment
from readwarp.ragged import take


class HasSource(Protocol):
    @property
    def source(self) -> int: ...


B = TypeVar("B", bound=HasSource)
M = TypeVar("M")


def train_sources(
    batches: Generator[B, None, None],
    pairs: int,
    parse: Callable[[B], ReadBatch],
    train: Callable[[list[ReadBatch]], M],
) -> Iterator[tuple[B, M]]:
    """Each batch with the model of its source.

    `train` gets the source's first 2 * `pairs` reads (all if there are fewer; one more if mates would be separated),
    which are its first `pairs` pairs if all reads are paired. The batches with these reads wait until it is done.
    Finally `batches` is closed, also after an error.
    """
    with closing(batches):
        for _, of_source in groupby(batches, key=lambda batch: batch.source):
            held, sample = _first_reads(of_source, 2 * pairs, parse)
            model = train(sample)
            for batch in chain(held, of_source):
                yield batch, model


def _first_reads(
    batches: Iterable[B], missing: int, parse: Callable[[B], ReadBatch]
) -> tuple[list[B], list[ReadBatch]]:
    """The batches that hold the first `missing` reads, and these reads."""
    held: list[B] = []
    sample: list[ReadBatch] = []
    for batch in batches:
        held.append(batch)
        reads = parse(batch)
        if len(reads) >= missing:
            parts_mates = missing < len(reads) and reads.segment[missing] == Segment.LAST
            sample.append(take(reads, "reads", slice(missing + int(parts_mates))))
            break
        sample.append(reads)
        missing -= len(reads)
    return held, sample
