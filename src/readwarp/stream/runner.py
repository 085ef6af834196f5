"""Items through worker threads: read ahead, worked on in parallel, yielded in order."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

from readwarp.system.ahead import THREAD_PREFIX, map_ahead, read_ahead

T = TypeVar("T")
U = TypeVar("U")


def map_ordered(items: Iterable[T], work: Callable[[T], U], workers: int, in_flight: int) -> Generator[U, None, None]:
    """Yield work(item) of each item, in the order of the items; `work` runs in `workers` threads.

    At most `in_flight` items have been read but not yielded; another thread reads two more ahead. The first error in
    any thread is raised here, and work not begun is dropped, as when the generator is closed.
    """
    pool = ThreadPoolExecutor(workers, f"{THREAD_PREFIX} worker")
    with closing(read_ahead(items, depth=2)) as ahead:
        try:
            yield from map_ahead(pool, work, ahead, in_flight)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    pool.shutdown()
