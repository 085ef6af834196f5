"""Items that other threads produce or work on, a few ahead of their consumer."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Full, Queue
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")

THREAD_PREFIX = "readwarp"  # of every thread started for a job
PATIENCE = 0.5  # seconds for a producer to clean up


def map_ahead(
    pool: ThreadPoolExecutor, work: Callable[[T], U], items: Iterable[T], ahead: int
) -> Generator[U, None, None]:
    """Yield work(item) of each item, in order; at most `ahead` items are in work or waiting."""
    pending: deque[Future[U]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            while pending and (len(pending) >= ahead or pending[0].done()):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


def read_ahead(items: Iterable[T], depth: int, name: str = "reader") -> Generator[T, None, None]:
    """Yield the items, which another thread of this name produces; at most `depth` items wait.

    An error of the producer is raised after the items that precede it. Closing the generator stops the producer at its
    next item.
    """
    waiting: Queue[tuple[bool, Any]] = Queue(depth)
    stopped = threading.Event()
    producer = threading.Thread(
        target=_produce, args=(items, waiting, stopped), name=f"{THREAD_PREFIX} {name}", daemon=True
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
            with suppress(Full):
                waiting.put(entry, timeout=0.1)
                return True
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
