"""Items through worker threads: read ahead, worked on in parallel, written in their order."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from queue import Full, Queue
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")

THREAD_PREFIX = "readwarp"  # of every thread started here
PATIENCE = 0.5  # seconds that a producer has to clean up


def run_ordered(
    items: Iterable[T],
    work: Callable[[T], U],
    write: Callable[[U], None],
    workers: int,
    in_flight: int,
) -> None:
    """write(work(item)) for each item, in the order of the items; see `map_ordered`.

    `write` runs in the calling thread, which receives signals. The first error in any thread ends the run: work that
    has not begun is dropped, and the error is raised here.
    """
    with closing(map_ordered(items, work, workers, in_flight)) as results:
        for result in results:
            write(result)


def map_ordered(items: Iterable[T], work: Callable[[T], U], workers: int, in_flight: int) -> Generator[U, None, None]:
    """work(item) of each item, in the order of the items; `work` runs in `workers` threads.

    At most `in_flight` items have been read but not yielded yet; another thread reads two more ahead.
    """
    pool = ThreadPoolExecutor(workers, f"{THREAD_PREFIX} worker")
    pending: deque[Future[U]] = deque()
    ahead = read_ahead(items, depth=2)
    try:
        for item in ahead:
            pending.append(pool.submit(work, item))
            while pending and (len(pending) >= in_flight or pending[0].done()):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    finally:
        ahead.close()
    pool.shutdown()


def read_ahead(items: Iterable[T], depth: int) -> Generator[T, None, None]:
    """The same items, produced by another thread; at most `depth` of them wait.

    An error of the producer is raised after the items that precede it. Closing the generator stops the producer at its
    next item.
    """
    waiting: Queue[tuple[bool, Any]] = Queue(depth)
    stopped = threading.Event()
    producer = threading.Thread(
        target=_produce, args=(items, waiting, stopped), name=f"{THREAD_PREFIX} reader", daemon=True
    )
    producer.start()
    try:
        while True:
            is_item, value = waiting.get()
            if is_item:
                yield value
            elif value is None:
                return
            else:
                raise value
    finally:
        stopped.set()
        producer.join(PATIENCE)


def _produce(items: Iterable[T], waiting: "Queue[tuple[bool, Any]]", stopped: threading.Event) -> None:
    """Put each item as (True, item), then (False, error or None), unless `stopped` is set."""

    def put(entry: tuple[bool, Any]) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(entry, timeout=0.1)
                return True
            except Full:
                continue
        return False

    end: BaseException | None = None
    try:
        for item in items:
            if not put((True, item)):
                break
    except BaseException as error:
        end = error
    finally:
        close = getattr(items, "close", None)
        if close:
            close()
    put((False, end))
