"""Insert-size models of each source, fitted to exactly its first pairs, however batches are cut.

A read group that first appears later has its own model too, fitted to its pairs among as many pairs from there on.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Generic, Protocol, TypeVar

import numpy as np

from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.ragged import take


class HasSource(Protocol):
    @property
    def source(self) -> int: ...


B = TypeVar("B", bound=HasSource)
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class TrainingGroups(Generic[B, M]):
    """Training rules for sources with several read groups."""

    of: Callable[[B], Iterable[int]]  # the groups that the source of a batch may have, if several
    add: Callable[[M, int, list[ReadBatch]], M]  # add to a model that of a group, fitted to these reads


def train_sources(
    batches: Generator[B, None, None],
    pairs: int,
    parse: Callable[[B], ReadBatch],
    train: Callable[[list[ReadBatch]], M],
    groups: TrainingGroups[B, M] | None = None,
) -> Iterator[tuple[B, M]]:
    """Yield each batch with the model of its source.

    `train` gets the source's first 2 * `pairs` reads (all if there are fewer; one more if mates would be separated),
    which are its first `pairs` pairs if all reads are paired. The batches with these reads wait until it is done.
    Finally `batches` is closed, also after an error.
    """
    with closing(batches):
        for _, of_source in groupby(batches, key=lambda batch: batch.source):
            yield from _train_source(of_source, 2 * pairs, parse, train, groups)


def _train_source(
    batches: Iterator[B],
    number: int,
    parse: Callable[[B], ReadBatch],
    train: Callable[[list[ReadBatch]], M],
    groups: TrainingGroups[B, M] | None,
) -> Iterator[tuple[B, M]]:
    """Yield the batches of one source, trained on its first `number` reads."""
    held, sample = _first_reads(batches, number, parse)
    model, late = train(sample), set(groups.of(held[0]) if groups else ())
    for reads in sample if late else ():
        late -= set(np.unique(reads.read_group).tolist())
    yield from _train_late(chain(held, batches), late, number, parse, (model, groups))


def _first_reads(
    batches: Iterable[B], missing: int, parse: Callable[[B], ReadBatch]
) -> tuple[list[B], list[ReadBatch]]:
    """Return the batches that hold the first `missing` reads, and these reads."""
    held: list[B] = []
    sample: list[ReadBatch] = []
    for batch in batches:
        held.append(batch)
        reads = parse(batch)
        sample.append(_head(reads, missing))
        missing -= len(reads)
        if missing <= 0:
            break
    return held, sample


def _head(reads: ReadBatch, number: int) -> ReadBatch:
    """Return the first reads; one more if mates would be separated."""
    if number < len(reads):
        return take(reads, "reads", slice(number + int(reads.segment[number] == Segment.LAST)))
    return reads


@dataclass
class _Window:
    """Reads from the first one of a read group on."""

    missing: int
    sample: list[ReadBatch] = field(default_factory=list)  # reads of the group

    def add(self, reads: ReadBatch, of_group: np.ndarray) -> bool:
        """Take as many of the reads as are missing; return whether that completes the window."""
        mine = of_group[: len(_head(reads, self.missing))]
        self.sample.append(take(reads, "reads", np.flatnonzero(mine)))
        self.missing -= len(reads)
        return self.missing <= 0


def _train_late(
    batches: Iterable[B],
    late: set[int],
    number: int,
    parse: Callable[[B], ReadBatch],
    start: tuple[M, TrainingGroups[B, M] | None],
) -> Iterator[tuple[B, M]]:
    """Yield each batch with a model of all its read groups. start: the model without late groups, and how to add one.

    A late group is trained on its reads among `number` reads from its first one on; its batches wait for that.
    """
    (model, groups), windows = start, dict[int, _Window]()
    held: deque[tuple[B, set[int]]] = deque()
    for batch in batches:
        if groups is None or not late:
            yield batch, model
            continue
        reads = parse(batch)
        leader = np.maximum.accumulate(np.where(reads.segment == Segment.LAST, 0, np.arange(len(reads))))
        group = reads.read_group[leader]  # mates count as one
        present = late & set(np.unique(group).tolist())
        windows |= {each: _Window(number) for each in sorted(present - windows.keys())}
        for each, window in list(windows.items()):
            first = int(np.argmax(group == each)) if window.missing == number else 0
            if window.add(take(reads, "reads", slice(first, None)), group[first:] == each):
                model = groups.add(model, each, windows.pop(each).sample)
                late.discard(each)
        held.append((batch, present))
        while held and not held[0][1] & late:
            yield held.popleft()[0], model
    for each, window in windows.items():
        model = groups.add(model, each, window.sample) if groups else model
    for batch, _ in held:
        yield batch, model
