"""Numba frees memory in the context of its card, wherever the last reference goes, and never after `keep`."""

import gc
from dataclasses import dataclass
from threading import Thread

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from numba.cuda.cudadrv.driver import driver

from helpers.cards import two_cards
from readwarp.device import freeing
from readwarp.device.backend import Backend
from readwarp.device.cuda_jit import cuda
from readwarp.ragged import replace

pytestmark = [pytest.mark.cards, two_cards]

TWO_CARDS = Backend("cuda", (0, 1))
ENOUGH = 30  # arrays, which is more than Numba keeps


@pytest.fixture
def contexts(monkeypatch):
    """The devices whose context is current when memory is freed; None: none is."""
    gc.collect()  # what other tests left
    found, free = [], driver.cuMemFree

    def noted(handle):
        with driver.get_active_context() as active:
            found.append(active.devnum if active else None)
        free(handle)

    monkeypatch.setattr(driver, "cuMemFree", noted)
    return found


def arrays_on(device: int) -> list:
    with TWO_CARDS.on(device):
        freeing.free(device, ())
        return [cuda.to_device(np.arange(5)) for _ in range(ENOUGH)]


@pytest.mark.parametrize("device", [0, 1])
def test_a_thread_without_a_context_frees_in_that_of_the_card(contexts, device):
    held = arrays_on(device)
    contexts.clear()
    thread = Thread(target=held.clear)
    thread.start()
    thread.join()
    assert contexts and set(contexts) == {device}


def test_what_is_unused_is_freed_when_asked(contexts):
    held = arrays_on(1)[:3]
    freeing.free(1, ())
    contexts.clear()
    held.clear()
    for device in TWO_CARDS.devices:
        freeing.free(device, ())
    assert contexts == [1, 1, 1]


def test_several_threads_free_at_once(contexts):
    held = [arrays_on(number % 2) for number in range(8)]
    contexts.clear()
    threads = [Thread(target=each.clear) for each in held]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for device in TWO_CARDS.devices:
        freeing.free(device, ())
    assert sorted(contexts) == [0] * 4 * ENOUGH + [1] * 4 * ENOUGH


def test_nothing_is_freed_any_more_once_it_is_kept(contexts, monkeypatch):
    held = arrays_on(0)
    contexts.clear()
    monkeypatch.setattr(freeing, "_is_kept", False)
    freeing.keep()
    held.clear()
    freeing.free(0, ())
    assert contexts == []
    monkeypatch.setattr(freeing, "_is_kept", False)
    freeing.free(0, ())
    assert contexts == [0] * ENOUGH


def test_a_card_that_refuses_does_not_hold_up_the_end(monkeypatch):
    class RefusedError(Exception):
        pass

    RefusedError.__module__ = "numba.cuda.cudadrv.driver"

    def refuse(handle):
        raise RefusedError

    held = arrays_on(0)[:4]
    freeing.free(0, ())
    monkeypatch.setattr(driver, "cuMemFree", refuse)
    held.clear()
    freeing.free(0, ())
    assert not any(len(unused) for unused in freeing._lists[0])


def test_what_is_released_is_freed_though_others_hold_it(contexts):
    """It is not freed again when the others let go: views, or an error whose frames hold it."""
    with TWO_CARDS.on(1):
        placed = TWO_CARDS.resident(Held(np.arange(5), 3, Inner(np.arange(7)), np.arange(0)))
        inner = TWO_CARDS.resident(placed.inner)
        placed = replace(placed, inner=inner)
        freeing.free(1, ())
        view = inner.values[2:4]
    contexts.clear()
    TWO_CARDS.release(1, placed)
    assert contexts == [1, 1]
    del placed, inner, view
    gc.collect()
    freeing.free(1, ())
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
