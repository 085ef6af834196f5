"""Streams of the stub driver run apart: without a wait, results are missing; without an order, that is reported."""

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from emulated_card import control
from emulated_card.fresh import HOST_FUNCTION, fresh_driver

pytestmark = pytest.mark.cards

INVALID_HANDLE, NOT_READY, LAUNCH_FAILED = 400, 600, 719
BLOCKING, NON_BLOCKING, DISABLE_TIMING = 0, 1, 2
LEGACY, PER_THREAD = ctypes.c_void_p(1), ctypes.c_void_p(2)
SECONDS = 0.05  # for a thread to do what it must not do


@pytest.fixture
def driver(tmp_path):
    with fresh_driver(tmp_path, "9.0:32M,8.0:32M") as fresh:
        fresh.use(0)
        yield fresh


@pytest.fixture
def stream(driver):
    return driver.made("cuStreamCreate", BLOCKING)


@pytest.fixture
def other(driver):
    return driver.made("cuStreamCreate", NON_BLOCKING)


def filled(array, value: int):
    array[:] = [value] * len(array)
    return array


def kinds() -> list[str]:
    return [line.split(":")[0] for line in control.findings()]


def test_a_missing_wait_reads_old_bytes(driver, stream):
    source, target, there = filled(driver.pinned(8), 1), driver.pinned(8), driver.allocated(8)
    with driver.held(stream):
        driver.upload(there, source, stream)
        driver.download(target, there, stream)
        assert driver.result("cuStreamQuery", stream) == NOT_READY
        assert bytes(target) == bytes(8)
    assert driver.result("cuStreamQuery", stream) == 0
    assert bytes(target) == b"\x01" * 8


def test_a_copy_reads_pinned_memory_when_its_turn_comes_and_other_memory_at_once(driver, stream):
    pinned, pageable = filled(driver.pinned(8), 1), filled((ctypes.c_uint8 * 8)(), 1)
    late, early = driver.allocated(8), driver.allocated(8)
    with driver.held(stream):
        driver.upload(late, pinned, stream)
        driver.upload(early, pageable, stream)
        filled(pinned, 2), filled(pageable, 2)
    assert (driver.bytes_at(late, 8), driver.bytes_at(early, 8)) == (b"\x02" * 8, b"\x01" * 8)


def test_a_copy_to_pageable_memory_is_waited_for(driver, stream):
    there, host = driver.allocated(8), (ctypes.c_uint8 * 8)()
    driver.call("cuMemsetD8Async", there, 4, ctypes.c_size_t(8), stream)
    driver.download(host, there, stream)
    assert bytes(host) == b"\x04" * 8


@pytest.mark.parametrize("default", [None, LEGACY])
def test_the_default_stream_waits_for_blocking_streams_and_they_for_it(driver, stream, other, default):
    there, second, last = driver.allocated(8), driver.made("cuStreamCreate", BLOCKING), driver.pinned(8)
    with driver.held(stream):
        driver.call("cuMemsetD8Async", there, 4, ctypes.c_size_t(8), default)
        driver.download(last, there, second)
        driver.call("cuStreamSynchronize", other)  # of another kind: it does not wait
        time.sleep(SECONDS)
        assert bytes(last) == bytes(8)
    driver.call("cuStreamSynchronize", second)
    assert bytes(last) == b"\x04" * 8
    assert control.findings() == []


def test_a_non_blocking_stream_does_not_wait_for_the_default_stream(driver, other):
    there, last = driver.allocated(8), driver.pinned(8)
    with driver.held(None):
        driver.download(last, there, other)
        driver.call("cuStreamSynchronize", other)
        assert bytes(last) == b"\xa5" * 8


def test_each_thread_has_a_stream_of_its_own(driver):
    def is_done_in_another_thread() -> bool:
        driver.use(0)
        return driver.result("cuStreamQuery", PER_THREAD) == 0

    with driver.held(PER_THREAD), ThreadPoolExecutor(1) as pool:
        assert driver.result("cuStreamQuery", PER_THREAD) == NOT_READY
        assert pool.submit(is_done_in_another_thread).result()


def test_an_event_orders_two_streams(driver, stream, other):
    source, there, last = driver.pinned(8), driver.allocated(8), driver.pinned(8)
    event = driver.made("cuEventCreate", 0)
    with driver.held(stream):
        driver.upload(there, filled(source, 6), stream)
        driver.call("cuEventRecord", event, stream)
        driver.call("cuStreamWaitEvent", other, event, 0)
        driver.download(last, there, other)
        assert driver.result("cuEventQuery", event) == NOT_READY
        time.sleep(SECONDS)
        assert bytes(last) == bytes(8)
    driver.call("cuEventSynchronize", event)
    driver.call("cuStreamSynchronize", other)
    assert bytes(last) == b"\x06" * 8
    assert control.findings() == []


def test_time_between_events_is_the_time_of_the_stream(driver, stream):
    begin, end = driver.made("cuEventCreate", 0), driver.made("cuEventCreate", 0)
    sleep, elapsed = HOST_FUNCTION(lambda _: time.sleep(SECONDS)), ctypes.c_float()
    driver.call("cuEventRecord", begin, stream)
    driver.call("cuLaunchHostFunc", stream, sleep, None)
    driver.call("cuEventRecord", end, stream)
    assert driver.result("cuEventElapsedTime", ctypes.byref(elapsed), begin, end) == NOT_READY
    driver.call("cuEventSynchronize", end)
    driver.call("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
    assert 1000 * SECONDS <= elapsed.value < 10_000


def test_an_event_that_keeps_no_time_or_was_not_recorded_has_none(driver, stream):
    timed, silent = driver.made("cuEventCreate", 0), driver.made("cuEventCreate", DISABLE_TIMING)
    elapsed = ctypes.c_float()
    assert driver.result("cuEventElapsedTime", ctypes.byref(elapsed), timed, timed) == INVALID_HANDLE
    for event in (timed, silent):
        driver.call("cuEventRecord", event, stream)
    driver.call("cuStreamSynchronize", stream)
    assert driver.result("cuEventElapsedTime", ctypes.byref(elapsed), timed, silent) == INVALID_HANDLE


def test_an_event_that_is_destroyed_early_harms_nothing(driver, stream):
    event = driver.made("cuEventCreate", 0)
    with driver.held(stream):
        driver.call("cuEventRecord", event, stream)
        driver.call("cuEventDestroy_v2", event)
    driver.call("cuCtxSynchronize")


def test_streams_belong_to_a_card_and_end(driver, stream):
    driver.use(1)
    assert driver.result("cuStreamSynchronize", stream) == INVALID_HANDLE
    driver.use(0)
    driver.call("cuStreamDestroy_v2", stream)
    assert driver.result("cuStreamSynchronize", stream) == INVALID_HANDLE


def test_streams_can_be_made_and_destroyed_without_end(driver):
    for _ in range(2000):
        driver.call("cuStreamDestroy_v2", driver.made("cuStreamCreate", BLOCKING))


def test_nothing_is_done_after_the_end(driver, stream):
    source, there, target = filled(driver.pinned(8), 1), driver.allocated(8), driver.pinned(8)
    with ThreadPoolExecutor(1) as pool, driver.held(stream) as gate:
        driver.upload(there, source, stream)
        driver.download(target, there, stream)
        stopped = pool.submit(driver.library.card_stop)
        time.sleep(SECONDS)
        assert not stopped.done()  # an operation is being run
        gate.set()
        stopped.result()
    assert bytes(target) == bytes(8)


def write(driver, there, stream) -> None:
    driver.call("cuMemsetD8Async", there, 1, ctypes.c_size_t(8), stream)


@pytest.mark.parametrize("first", ["write", "read"])
def test_use_that_nothing_orders_is_told(driver, stream, other, first):
    there, host = driver.allocated(8), driver.pinned(8)
    if first == "write":
        write(driver, there, stream)
        driver.download(host, there, other)
    else:
        driver.download(host, there, stream)
        write(driver, there, other)
    assert kinds() == ["unordered"]


@pytest.mark.parametrize("wait", ["stream", "context", "event", "query", "device event"])
def test_use_that_something_orders_is_not_told(driver, stream, other, wait):
    there, event = driver.allocated(8), driver.made("cuEventCreate", 0)
    write(driver, there, stream)
    driver.call("cuEventRecord", event, stream)
    if wait == "stream":
        driver.call("cuStreamSynchronize", stream)
    elif wait == "context":
        driver.call("cuCtxSynchronize")
    elif wait == "event":
        driver.call("cuEventSynchronize", event)
    elif wait == "query":
        while driver.result("cuEventQuery", event) == NOT_READY:
            time.sleep(0.001)
    else:
        driver.call("cuStreamWaitEvent", other, event, 0)
    write(driver, there, other)
    assert control.findings() == []


def test_an_event_orders_only_what_came_before_it(driver, stream, other):
    there, event = driver.allocated(8), driver.made("cuEventCreate", 0)
    driver.call("cuEventRecord", event, stream)
    write(driver, there, stream)
    driver.call("cuStreamWaitEvent", other, event, 0)
    write(driver, there, other)
    assert kinds() == ["unordered"]


def test_two_streams_may_read_at_once(driver, stream, other):
    there, host = driver.allocated(8), driver.pinned(8)
    for each in (stream, other):
        driver.download(host, there, each)
    assert control.findings() == []


def test_a_launch_on_arrays_of_another_stream_fails(driver, stream, other):
    kernel, there = driver.kernel(b"reads", (True, False)), driver.allocated(8)
    write(driver, there, stream)
    assert driver.launch(kernel, there.value, stream=other) == 0
    assert driver.result("cuCtxSynchronize") == LAUNCH_FAILED
    assert kinds() == ["unordered"]


def test_pinned_memory_that_is_freed_while_a_stream_copies_it_is_told(driver, stream):
    there, pinned = driver.allocated(8), driver.pinned(8)

    def free() -> None:
        driver.use(0)
        driver.call("cuMemFreeHost", pinned)

    with ThreadPoolExecutor(1) as pool, driver.held(stream) as gate:
        driver.upload(there, pinned, stream)
        freed = pool.submit(free)
        time.sleep(SECONDS)
        gate.set()
        freed.result()
    assert kinds() == ["freed in use"]


def test_delays_are_taken(driver, stream):
    there, source = driver.allocated(8), driver.pinned(8)
    control.set_delays(copy=20_000, seed=1)
    begin = time.perf_counter()
    for _ in range(20):
        driver.upload(there, source, stream)
    asked = time.perf_counter() - begin
    driver.call("cuStreamSynchronize", stream)
    assert time.perf_counter() - begin > 0.05 > asked


def test_copies_bring_again_what_they_brought_while_nothing_runs(driver, stream):
    """Copies up, fills and kernels do nothing then, so the second copy does not bring what is in the memory."""
    there, source, target = driver.allocated(8), filled(driver.pinned(8), 1), driver.pinned(8)

    def work(value: int) -> list[int]:
        found = []
        for _ in range(2):
            driver.upload(there, filled(source, value), stream)
            driver.download(target, there, stream)
            driver.call("cuStreamSynchronize", stream)
            found.append(target[0])
            value += 1
        return found

    control.set_replay("keeping")
    assert work(5) == [5, 6]
    for _ in range(2):
        control.set_replay("repeating")
        assert work(1) == [5, 6] and driver.launch(driver.kernel(b"cannot_run", (False, True)), there.value) == 0
        assert driver.result("cuStreamSynchronize", None) == 0
    control.set_replay("running")
    assert driver.bytes_at(there, 8) == b"\x06" * 8
    control.set_replay("repeating")
    driver.download(driver.pinned(4), there, stream)  # not of 8 bytes
    assert driver.result("cuStreamSynchronize", stream) == LAUNCH_FAILED and kinds() == ["replay"]
    control.set_replay("running")
