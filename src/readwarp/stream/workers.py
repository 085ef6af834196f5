"""Who works on the items of a job: threads of this process, or processes, which do not share a lock of Python."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from readwarp.metrics import Metrics
from readwarp.stream import runner
from readwarp.stream.processes import Processes

S = TypeVar("S")
T = TypeVar("T")
U = TypeVar("U")


class Done(NamedTuple, Generic[T]):
    """What an item gave, and what was counted on the way."""

    value: T
    metrics: Metrics


class Threads(Generic[S]):
    """Workers in this process, with a state that they share."""

    def __init__(self, state: S, number: int) -> None:
        self.state, self.number = state, number

    def map_ordered(self, work: Callable[[S, T], U], items: Iterable[T], in_flight: int) -> Generator[U, None, None]:
        """work(state, item) of each item, in the order of the items; see `runner.map_ordered`."""
        return runner.map_ordered(items, partial(work, self.state), self.number, in_flight)


Workers = Threads[S] | Processes[S]


def map_counted(
    workers: Workers[S], work: Callable[[S, T], Done[U]], items: Iterable[T], metrics: Metrics
) -> Generator[U, None, None]:
    """The values of work(state, item), in the order of the items; what was counted goes to `metrics`."""
    with closing(workers.map_ordered(work, items, 2 * workers.number + 2)) as results:
        for value, own in results:
            metrics.include(own)
            yield value
