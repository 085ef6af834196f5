"""Workers for the items of a job: threads of this process, or processes, which do not share Python's lock."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from readwarp.compiler.prepare import load_kernels
from readwarp.metrics import Metrics
from readwarp.stream import runner
from readwarp.stream.processes import Processes, Reply

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)  # workers with a state do the work of any wider one
T = TypeVar("T")
U = TypeVar("U")


class ItemResult(NamedTuple, Generic[T]):
    """Result of an item, with its counts."""

    value: T
    metrics: Metrics


class Threads(Generic[S_co]):
    """Threads of this process, with a state that they share."""

    def __init__(self, state: S_co, number: int) -> None:
        self.state, self.number = state, number

    def map_ordered(self, work: Callable[[S_co, T], U], items: Iterable[T], in_flight: int) -> Generator[U, None, None]:
        """Yield work(state, item) of each item, in the order of the items: see `runner.map_ordered`."""
        return runner.map_ordered(items, partial(work, self.state), self.number, in_flight)


Workers = Threads[S] | Processes[S]


@contextmanager
def open_workers(
    state: S, processes: int, threads: int, commands: Iterable[str], metrics: Metrics, reply: Reply | None = None
) -> Iterator[Workers[S]]:
    """Open this many processes, or, if 0, this many threads. commands: whose kernels they need. reply: of Processes.

    For processes, this process must not have started threads before (`processes.may_fork`).
    """
    if not processes:
        yield Threads(state, threads)
        return
    for command in commands:
        load_kernels(command)
    with closing(Processes(state, processes, reply)) as workers:
        yield workers
    metrics.note(worker_processes=processes)
    metrics.raise_to("worker_memory_bytes", workers.peak_memory)  # a run has workers twice


def map_counted(
    workers: Workers[S],
    work: Callable[[S, T], ItemResult[U]],
    items: Iterable[T],
    metrics: Metrics,
    in_flight: int | None = None,
) -> Generator[U, None, None]:
    """Yield the values of work(state, item), in the order of the items; their counts go to `metrics`.

    in_flight: items read and not yet yielded, by default two per worker plus two.
    """
    with closing(workers.map_ordered(work, items, in_flight or 2 * workers.number + 2)) as results:
        for value, own in results:
            metrics.include(own)
            yield value
