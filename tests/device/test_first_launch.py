"""If many threads launch a new kernel together, compiled or from disk, each card loads it once."""

import time
from threading import Barrier, Thread

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from helpers.cards import two_cards
from helpers.launched_first import made
from readwarp.compiler import jit
from readwarp.device import cuda_driver, memory
from readwarp.device.backend import Backend

pytestmark = [pytest.mark.cards, two_cards]

THREADS = 8
BOTH = Backend("cuda", (0, 1))


@pytest.fixture
def loads(monkeypatch):
    """The devices onto which a kernel was loaded. Each load is slow, so that other threads come in the meantime."""
    load, devices = cuda_driver.load, []

    def slowly(code):
        time.sleep(0.05)
        devices.append(cuda_driver.current_device())
        return load(code)

    monkeypatch.setattr(cuda_driver, "load", slowly)
    return devices


def launch(kernel, device: int) -> list[int]:
    with BOTH.on(device), memory.current().frame() as workspace:
        there = workspace.upload(np.arange(5))
        kernel[1, 32, workspace.stream](there)
        return workspace.download(there)[0].tolist()


def launched_at_once(kernel, devices: list[int]) -> list[object]:
    """The results of one thread for each device; all start together."""
    found, together = [], Barrier(len(devices), timeout=20)

    def work(device):
        together.wait()
        try:
            found.append(launch(kernel, device))
        except BaseException as error:
            found.append(error)

    threads = [Thread(target=work, args=(device,)) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


EXPECTED = [1, 2, 3, 4, 5]


def test_by_many_threads(loads):
    """The first kernel is compiled, or taken from disk; the second is on disk by then."""
    told = []
    with jit.listen(lambda *news: told.append(news)):
        assert launched_at_once(made(), [0] * THREADS) == [EXPECTED] * THREADS
        told.clear()
        assert launched_at_once(made(), [0] * THREADS) == [EXPECTED] * THREADS
    assert loads == [0, 0] and told == []


def test_on_a_second_card(loads):
    kernel = made()
    assert launch(kernel, 0) == EXPECTED
    assert launched_at_once(kernel, [1] * THREADS) == [EXPECTED] * THREADS
    assert loads == [0, 1]


def test_on_both_cards_at_once(loads):
    assert launched_at_once(made(), [0, 1] * (THREADS // 2)) == [EXPECTED] * THREADS
    assert sorted(loads) == [0, 1]


def test_what_is_loaded_is_launched_without_a_lock(loads, monkeypatch):
    kernel = made()
    launch(kernel, 0)
    with Locked():
        found = launched_at_once(kernel, [0])
    assert found == [EXPECTED] and loads == [0]


class Locked:
    """Another thread holds the compilation lock; a thread that asks for it waits forever."""

    def __enter__(self):
        from numba.core.compiler_lock import global_compiler_lock

        held, self._let_go = Barrier(2, timeout=20), Barrier(2, timeout=20)

        def hold():
            with global_compiler_lock:
                held.wait()
                self._let_go.wait()

        self._thread = Thread(target=hold)
        self._thread.start()
        held.wait()

    def __exit__(self, *error):
        self._let_go.wait()
        self._thread.join()
