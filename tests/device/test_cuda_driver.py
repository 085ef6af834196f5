"""Memory of a card is freed in its context, wherever the last reference goes, once, and never after `keep`."""

import gc
from dataclasses import dataclass
from threading import Thread

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from helpers.cards import two_cards
from readwarp.device import cuda_driver, memory
from readwarp.device.backend import Backend
from readwarp.ragged import replace

pytestmark = [pytest.mark.cards, two_cards]

TWO_CARDS = Backend("cuda", (0, 1))
ENOUGH = 30


@pytest.fixture
def contexts(monkeypatch):
    """The devices whose context is current when memory is freed."""
    gc.collect()  # what other tests left
    found, driver = [], cuda_driver.driver
    free = driver.cuMemFree

    def noted(handle):
        found.append(int(cuda_driver.call(driver.cuCtxGetDevice)))
        return free(handle)

    noted.__name__ = "cuMemFree"

    class Noting:
        cuMemFree = staticmethod(noted)  # noqa: N815

        def __getattr__(self, name):
            return getattr(driver, name)

    monkeypatch.setattr(cuda_driver, "driver", Noting())
    return found


def arrays_on(device: int) -> list:
    with TWO_CARDS.on(device):
        return [memory.resident(np.arange(5)) for _ in range(ENOUGH)]


@pytest.mark.parametrize("device", [0, 1])
def test_a_thread_without_a_context_frees_in_that_of_the_card(contexts, device):
    held = arrays_on(device)
    thread = Thread(target=held.clear)
    thread.start()
    thread.join()
    assert contexts == [device] * ENOUGH


def test_several_threads_free_at_once(contexts):
    held = [arrays_on(number % 2) for number in range(8)]
    threads = [Thread(target=each.clear) for each in held]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(contexts) == [0] * 4 * ENOUGH + [1] * 4 * ENOUGH


def test_nothing_is_freed_any_more_once_it_is_kept(contexts, monkeypatch):
    held = arrays_on(0)
    monkeypatch.setattr(cuda_driver, "_is_kept", False)
    cuda_driver.keep()
    held.clear()
    assert contexts == []


def test_a_card_that_refuses_does_not_hold_up_the_end(contexts, monkeypatch):
    def refuse(handle):
        contexts.append("refused")
        return (cuda_driver.driver.CUresult.CUDA_ERROR_UNKNOWN,)

    refuse.__name__ = "cuMemFree"
    monkeypatch.setattr(type(cuda_driver.driver), "cuMemFree", staticmethod(refuse))
    held = arrays_on(0)[:4]
    contexts.clear()
    held.clear()
    assert contexts == ["refused"] * 4


def test_what_is_released_is_freed_though_others_hold_it(contexts):
    """It is not freed again when the others let go: views, or an error whose frames hold it."""
    with TWO_CARDS.on(1):
        placed = TWO_CARDS.resident(Held(np.arange(5), 3, Inner(np.arange(7)), np.arange(0)))
        inner = TWO_CARDS.resident(placed.inner)
        placed = replace(placed, inner=inner)
        view = inner.values[2:4]
    TWO_CARDS.release(placed)
    assert contexts == [1, 1]
    del placed, inner, view
    gc.collect()
    assert contexts == [1, 1]


@dataclass(frozen=True)
class Inner:
    values: object


@dataclass(frozen=True)
class Held:
    values: object
    number: int
    inner: Inner
    nothing: object
