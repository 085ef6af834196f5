"""The insert-size model of each source, made from exactly its first pairs, however batches are cut."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain, groupby
from typing import Protocol, TypeVar

from readwarp.batches import ReadBatch, Segment
from readwarp.stream.halving import reads_between


class HasSource(Protocol):
    @property
    def source(self) -> int: ...


B = TypeVar("B", bound=HasSource)
M = TypeVar("M")


def with_models(
    batches: Generator[B, None, None],
    pairs: int,
    parse: Callable[[B], ReadBatch],
    train: Callable[[list[ReadBatch]], M],
) -> Iterator[tuple[B, M]]:
    """Each batch with the model of its source.

    `train` gets the source's first 2 * `pairs` reads (all of them if there are fewer, one more rather than part mates):
    its first `pairs` pairs if all reads are paired. Batches read for that are held back until it is done. `batches` is
    closed however this ends.
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
            sample.append(reads_between(reads, 0, missing + int(parts_mates)))
            break
        sample.append(reads)
        missing -= len(reads)
    return held, sample
