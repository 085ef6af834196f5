"""Items come in order, in bounded number, and any error stops them at once."""

import threading
import time
from contextlib import closing

import pytest

from readwarp.stream.runner import THREAD_PREFIX, map_ordered, read_ahead


def run_ordered(items, work, write, workers, in_flight):
    with closing(map_ordered(items, work, workers, in_flight)) as results:
        for result in results:
            write(result)


def own_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith(THREAD_PREFIX)]


@pytest.fixture(autouse=True)
def leaves_no_threads():
    yield
    deadline = time.monotonic() + 5
    while own_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert own_threads() == []


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("in_flight", [1, 3, 50])
def test_writes_in_input_order(workers, in_flight):
    def slower_when_early(i):
        time.sleep((20 - i) * 0.0005)
        return i * i

    written = []
    run_ordered(range(20), slower_when_early, written.append, workers, in_flight)
    assert written == [i * i for i in range(20)]


def test_no_items():
    run_ordered([], None, None, 2, 3)


def test_works_in_parallel():
    barrier = threading.Barrier(3, timeout=5)  # passes only when three workers are inside at once
    run_ordered(range(3), lambda i: barrier.wait(), lambda r: None, 3, 4)


def test_memory_is_bounded():
    """A stuck first item holds all others back: two read ahead, one held by the reader, four in flight."""
    go_on, produced, most = threading.Event(), [], 0

    def items():
        for i in range(100):
            produced.append(i)
            yield i

    def work(i):
        if i == 0:
            go_on.wait(5)
        return i

    def look():
        nonlocal most
        time.sleep(0.3)
        most = len(produced)
        go_on.set()

    watcher = threading.Thread(target=look)
    watcher.start()
    written = []
    run_ordered(items(), work, written.append, workers=2, in_flight=4)
    watcher.join()
    assert most <= 4 + 2 + 1
    assert written == list(range(100))


def test_reader_error_is_raised_here():
    def items():
        yield from range(3)
        raise ValueError("bad record")

    with pytest.raises(ValueError, match="bad record"):
        run_ordered(items(), lambda i: i, lambda r: None, 2, 3)


def test_worker_error_stops_the_run():
    started = []

    def work(i):
        started.append(i)
        if i == 3:
            raise ValueError("bad batch")
        return i

    def endless():
        i = 0
        while True:
            yield i
            i += 1

    written = []
    with pytest.raises(ValueError, match="bad batch"):
        run_ordered(endless(), work, written.append, 2, 4)
    assert written == [0, 1, 2]
    assert max(started) < 20


def test_writer_error_stops_the_run():
    def write(i):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run_ordered(range(1000), lambda i: i, write, 2, 4)


def test_interrupt_does_not_wait_for_a_blocked_reader():
    blocked = threading.Event()

    def items():
        yield 0
        blocked.wait(3)  # as a read from a terminal

    def write(i):
        raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_ordered(items(), lambda i: i, write, 1, 1)
    assert time.monotonic() - started < 2
    blocked.set()


def test_read_ahead_closes_its_generator():
    closed = threading.Event()

    def items():
        try:
            yield from range(1000)
        finally:
            closed.set()

    ahead = read_ahead(items(), depth=2)
    assert next(ahead) == 0
    ahead.close()
    assert closed.wait(5)
