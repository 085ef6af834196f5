"""Worker processes do what worker threads do, and nothing of them remains."""

import errno
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from functools import partial

import numpy as np
import pytest

from helpers.caches import forget_folders
from helpers.processes import environment_with_tests
from readwarp.compiler.jit import kernel
from readwarp.errors import InputError, WorkerError
from readwarp.metrics import Metrics
from readwarp.stream.processes import Processes, may_fork
from readwarp.stream.runner import THREAD_PREFIX
from readwarp.stream.worker import ask
from readwarp.stream.workers import ItemResult, Threads, map_counted


def own_children() -> list[str]:
    with open(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children") as file:
        return file.read().split()


@pytest.fixture(autouse=True)
def nothing_remains():
    before = own_children()
    yield
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(t.name.startswith(THREAD_PREFIX) for t in threading.enumerate()):
        time.sleep(0.01)
    assert not [t.name for t in threading.enumerate() if t.name.startswith(THREAD_PREFIX)]
    assert own_children() == before


def add(state, item):
    return state + item


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("in_flight", [1, 3, 50])
def test_results_are_in_the_order_of_the_items(number, in_flight):
    with closing(Processes(1000, number)) as workers:
        assert list(workers.map_ordered(slow_at_first, range(20), in_flight)) == [1000 + i for i in range(20)]


def slow_at_first(state, item):
    time.sleep((20 - item) * 0.0005)
    return state + item


def test_no_items():
    with closing(Processes(None, 2)) as workers:
        assert list(workers.map_ordered(add, [], 3)) == []


@pytest.mark.parametrize("number", [1, 3])
def test_workers_may_ask_while_they_work(number):
    """As often as they like, and more than a message holds at once; the state is this process's."""
    asked = []

    def reply(question):
        asked.append(question.size)
        return question + 1

    with closing(Processes(None, number, reply)) as workers:
        assert list(workers.map_ordered(ask_often, range(6), 4)) == [100_000 * times for times in range(6)]
    assert asked == [100_000] * 15


def ask_often(state, times):
    values = np.zeros(100_000)
    for _ in range(times):
        values = ask(values)
    return int(values.sum())


def test_an_error_in_a_reply_ends_the_work():
    def reply(question):
        raise InputError("reads.bam", f"record {question}")

    with closing(Processes(None, 2, reply)) as workers, pytest.raises(InputError, match="record 7"):
        list(workers.map_ordered(ask_one, [7], 2))


def ask_one(state, item):
    return ask(item)


def test_one_work_after_another():
    """Also when some workers have not met the one before."""
    with closing(Processes(1, 4)) as workers:
        assert list(workers.map_ordered(add, [1], 3)) == [2]
        for factor in range(20):
            scaled = partial(scale, np.full(100_000, factor))
            assert list(workers.map_ordered(scaled, range(3), 3)) == [factor * 100_000 * i for i in range(3)]


def scale(values, state, item):
    return int(values.sum()) * state * item


def test_a_state_is_not_pickled():
    state = threading.Lock(), lambda: 7
    with closing(Processes(state, 2)) as workers:
        assert list(workers.map_ordered(ask_state, range(3), 3)) == [7, 7, 7]


def ask_state(state, item):
    with state[0]:
        return state[1]()


def test_each_worker_is_a_process():
    with closing(Processes(None, 3)) as workers:
        pids = set(workers.map_ordered(pid_of, range(30), 8))
    assert len(pids) == 3 and os.getpid() not in pids


def pid_of(state, item):
    time.sleep(0.01)
    return os.getpid()


@pytest.mark.parametrize("in_flight", [2, 4])
def test_in_flight_is_bounded(in_flight, tmp_path):
    """A stuck first item holds all others back: two read ahead, one held by the reader, and those in flight."""
    produced, most, go_on = [], [], tmp_path / "go on"

    def items():
        for i in range(100):
            produced.append(i)
            yield i

    with closing(Processes(go_on, 2)) as workers:
        watcher = threading.Timer(0.3, lambda: most.append(len(produced)) or go_on.touch())
        watcher.start()
        assert list(workers.map_ordered(wait_at_first, items(), in_flight)) == list(range(100))
        watcher.join()
    assert most[0] <= in_flight + 2 + 1


def wait_at_first(state, item):
    while item == 0 and not state.exists():
        time.sleep(0.01)
    return item


def test_many_workers_on_few_cores():
    with closing(Processes(0, 64)) as workers:
        for _ in range(3):
            assert list(workers.map_ordered(add, range(500), 130)) == list(range(500))


def test_an_error_is_raised_as_it_was():
    with closing(Processes(None, 2)) as workers, pytest.raises(InputError) as caught:
        list(workers.map_ordered(fail_at_three, range(100), 4))
    assert (str(caught.value), caught.value.record) == ("x.bam: record 3: bad", 3)
    assert "in fail_at_three" in "".join(caught.value.__notes__)


def fail_at_three(state, item):
    if item == 3:
        raise InputError("x.bam", "bad", item)
    return item


class TwoPartsError(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


class AlteredError(Exception):
    def __init__(self, text):
        super().__init__(f"<{text}>")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TwoPartsError("a", "b"), "TwoPartsError: a and b"),
        (AlteredError("a"), "AlteredError: <a>"),
        (ValueError(lambda: 0), "ValueError: <function"),
    ],
)
def test_an_error_that_cannot_be_pickled(error, text):
    with closing(Processes(error, 1)) as workers, pytest.raises(RuntimeError, match=text):
        list(workers.map_ordered(fail, [0], 1))


def fail(state, item):
    raise state


def test_a_result_that_cannot_be_pickled():
    with closing(Processes(None, 1)) as workers, pytest.raises(Exception, match="pickle"):
        list(workers.map_ordered(give_lambda, [0], 1))


def give_lambda(state, item):
    return lambda: 0


def test_the_first_error_in_the_order_of_items():
    with closing(Processes(None, 4)) as workers, pytest.raises(InputError, match="record 2"):
        list(workers.map_ordered(fail_late_at_two, range(100), 10))


def fail_late_at_two(state, item):
    time.sleep(0.2 if item == 2 else 0)
    if item >= 2:
        raise InputError("x", "bad", item)


def test_an_error_of_the_items():
    def items():
        yield from range(3)
        raise ValueError("bad record")

    with closing(Processes(0, 2)) as workers, pytest.raises(ValueError, match="bad record"):
        list(workers.map_ordered(add, items(), 3))


def test_closing_early_ends_workers_that_are_busy():
    started, before = time.monotonic(), own_children()
    with closing(Processes(None, 3)) as workers:
        with closing(workers.map_ordered(sleep_long, [0, 60, 60, 60, 60], 10)) as results:
            assert next(results) == 0
        assert own_children() == before
    assert time.monotonic() - started < 40


def sleep_long(state, item):
    time.sleep(item)
    return item


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"worker process \d+ was killed by signal 9: perhaps .*memory"),
        (lambda: os.kill(os.getpid(), signal.SIGUSR2), r"worker process \d+ was killed by signal 12$"),
        (lambda: os._exit(3), r"worker process \d+ ended with code 3$"),
    ],
)
def test_a_worker_that_ends(end, text):
    with closing(Processes(end, 3)) as workers, pytest.raises(WorkerError, match=text):
        list(workers.map_ordered(end_at_five, range(100), 8))


def end_at_five(state, item):
    if item == 5:
        state()
    return item


def test_a_worker_that_ended_before_it_was_asked():
    with closing(Processes(0, 1)) as workers:
        os.kill(int(own_children()[-1]), signal.SIGKILL)
        with pytest.raises(WorkerError, match="signal 9"):
            list(workers.map_ordered(add, range(3), 2))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_to_all_processes_of_a_job_do_not_end_workers(number):
    """Not even workers that have only just been forked, where this process handles the signal, as commands do."""
    handler = signal.signal(number, lambda *_: None)
    try:
        with closing(Processes(0, 2)) as workers:
            for child in own_children():
                os.kill(int(child), number)
            assert list(workers.map_ordered(add, range(10), 4)) == list(range(10))
    finally:
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (errno.EAGAIN, WorkerError, r"only 2 of 5 worker processes .* \(Resource temporarily unavailable\): try"),
        (errno.ENOMEM, OSError, "Cannot allocate memory"),  # the command line knows what to say
    ],
)
def test_too_few_processes_are_allowed(number, kind, text, monkeypatch):
    fork, forked = os.fork, []

    def fail_third():
        if len(forked) == 2:
            raise OSError(number, os.strerror(number))
        forked.append(fork())
        return forked[-1]

    monkeypatch.setattr(os, "fork", fail_third)
    with pytest.raises(kind, match=text):
        Processes(None, 5)
    assert len(forked) == 2


def test_a_stop_while_workers_are_forked(monkeypatch):
    """It waits, also in workers, and then ends those that were made."""
    fork, forked = os.fork, []

    def stop_at_second():
        forked.append(fork())
        if len(forked) == 2:
            signal.raise_signal(signal.SIGINT)
        return forked[-1]

    monkeypatch.setattr(os, "fork", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        Processes(None, 4)
    assert len(forked) == 4  # what remains of them is looked for after each test


def test_log_lines_and_warnings_are_said_here_once(caplog):
    logger = logging.getLogger("readwarp")
    with (
        caplog.at_level(logging.INFO, "readwarp"),
        closing(Processes(logger, 3)) as workers,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("default")
        list(workers.map_ordered(speak, range(12), 4))
    assert sorted(record.getMessage() for record in caplog.records) == ["0 of 2", "1 of 2", "broken: 7"]
    assert [(str(each.message), each.category) for each in warned] == [("odd number", RuntimeWarning)]
    assert warned[0].filename == __file__


def speak(logger, item):
    time.sleep(0.005)
    warnings.simplefilter("default")
    logger.info("%d of %d", item % 2, 2)
    if item == 5:
        logger.error("broken: %s", Named(7))
    if item % 2:
        warnings.warn("odd number", RuntimeWarning, stacklevel=1)


class Named:
    """Cannot be pickled."""

    def __init__(self, number):
        self.number, self.lock = number, threading.Lock()

    def __str__(self):
        return str(self.number)


def test_nothing_but_what_is_logged_for_is_passed_on(caplog):
    logger = logging.getLogger("readwarp")
    with caplog.at_level(logging.WARNING, "readwarp"), closing(Processes(logger, 1)) as workers:
        list(workers.map_ordered(speak_low, range(2), 2))
    assert caplog.records == []


def speak_low(logger, item):
    logger.debug("not wanted")


def test_kernels_that_workers_compile(caplog, tmp_path, monkeypatch):
    """Each of them does, and the command says so once."""
    monkeypatch.setenv("READWARP_CACHE", str(tmp_path))
    forget_folders()
    with caplog.at_level(logging.INFO, "readwarp"), closing(Processes(None, 2)) as workers:
        assert list(workers.map_ordered(call_kernel, [1.0, 2.0, 3.0, 4.0], 4)) == [2.0, 4.0, 6.0, 8.0]
    forget_folders()
    assert [record.getMessage() for record in caplog.records] == ["compiling one more kernel"]


@kernel
def doubled(number):
    return 2 * number


def call_kernel(state, item):
    return doubled(item)


def test_memory_of_workers_is_known_at_the_end():
    with closing(Processes(None, 2)) as workers:
        assert list(workers.map_ordered(take_memory, [50 << 20] * 4, 4)) == [50 << 20] * 4
    assert 100 << 20 <= workers.peak_memory < 200 << 20


def take_memory(state, item):
    time.sleep(0.1)  # so that each takes two
    return int(np.ones(item, np.uint8).sum(dtype=np.int64))


def test_threads_do_the_same():
    for workers in (Threads(5, 3), Processes(5, 3)):
        metrics = Metrics()
        assert list(map_counted(workers, count, range(10), metrics)) == list(range(5, 15))
        assert metrics.counts == {"items": 10}
        if isinstance(workers, Processes):
            workers.close()


def count(state, item):
    metrics = Metrics()
    metrics.count("items")
    return ItemResult(state + item, metrics)


def test_with_another_thread_there_are_no_processes():
    program = "import threading, time; from readwarp.stream.processes import may_fork; print(may_fork());"
    program += "threading.Thread(target=time.sleep, args=(1,)).start(); print(may_fork())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["True", "False"]
    other = threading.Thread(target=time.sleep, args=(0.1,))
    other.start()
    assert not may_fork()
    other.join()


ORPHANS = """
import time
from stream.test_processes import sleep_long
from readwarp.stream.processes import Processes
workers = Processes(None, 3)
print(*(worker.pid for worker in workers._workers), flush=True)
list(workers.map_ordered(sleep_long, [60] * 10, 5))
"""


def test_workers_end_with_a_parent_that_is_killed():
    program = [sys.executable, "-c", ORPHANS]
    with subprocess.Popen(program, stdout=subprocess.PIPE, env=environment_with_tests()) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        time.sleep(0.2)
        parent.kill()
    assert len(pids) == 3
    deadline = time.monotonic() + 5
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(is_running(pid) for pid in pids)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
