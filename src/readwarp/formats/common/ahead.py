"""Work that threads do ahead of its consumer."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def map_ahead(
    pool: ThreadPoolExecutor, work: Callable[[T], U], items: Iterable[T], ahead: int
) -> Generator[U, None, None]:
    """Yield work(item) of each item, in order; at most `ahead` of them are in work or waiting."""
    pending: deque[Future[U]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) >= ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
