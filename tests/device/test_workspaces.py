"""Workspaces of several cards: lent in turn, waited for, and added up."""

import time
from threading import Event, Thread

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from helpers.cards import two_cards
from readwarp.device import backend as backends
from readwarp.device import cuda_driver, driver, memory
from readwarp.device.backend import Backend
from readwarp.device.cuda_jit import cuda
from readwarp.device.driver import Device
from readwarp.device.memory import Workspace
from readwarp.device.staging import ALIGNMENT
from readwarp.device.workspaces import Workspaces, union
from readwarp.errors import StoppedError, WorkspaceFullError

pytestmark = [pytest.mark.cards, two_cards]


@pytest.fixture
def two_cards():
    return Backend("cuda", (0, 1))


def test_batches_go_round_the_cards(two_cards):
    workspaces = Workspaces(two_cards, 2, 4 * ALIGNMENT)
    lent = []
    for _ in range(6):
        with workspaces.borrow() as device:
            assert memory.current() in workspaces.of[device] and memory.current().device == device
            assert cuda.get_current_device().id == device
            lent.append((device, workspaces.of[device].index(memory.current())))
    assert lent == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 0), (1, 0)]
    assert workspaces.allocated == 2 * 4 * ALIGNMENT


def test_a_thread_waits_until_a_workspace_is_free():
    workspaces, order = Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT), []

    def wait():
        with workspaces.borrow():
            order.append("second")

    with workspaces.borrow():
        waiting = Thread(target=wait)
        waiting.start()
        waiting.join(0.1)
        order.append("first")
    waiting.join(5)
    assert order == ["first", "second"]


def test_an_error_gives_the_workspace_back():
    workspaces = Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT)
    with pytest.raises(ZeroDivisionError), workspaces.borrow():
        raise ZeroDivisionError
    with workspaces.borrow():
        pass
    assert workspaces.facts()[0]["batches"] == 2


def test_closing_waits_for_those_who_have_a_workspace():
    """These threads stop at their next step on the card; nothing is freed before that."""
    workspaces, entered, go_on, said = Workspaces(Backend("cuda", (0,)), 1, 4 * ALIGNMENT), *(Event(), Event()), []

    def work():
        try:
            with workspaces.borrow(), memory.current().frame() as workspace:
                there = workspace.upload(np.arange(9))
                entered.set()
                go_on.wait(5)
                said.append(workspace.allocated)
                workspace.download(there)
        except StoppedError:
            said.append("stopped")

    worker, closing = Thread(target=work), Thread(target=workspaces.close)
    worker.start()
    entered.wait(5)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    go_on.set()
    for thread in (closing, worker):
        thread.join(5)
        assert not thread.is_alive()
    assert said == [4 * ALIGNMENT, "stopped"] and workspaces.allocated == 0


def test_closing_wakes_those_who_wait_for_a_workspace():
    workspaces, said = Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT), []

    def wait():
        try:
            with workspaces.borrow():
                said.append("lent")
        except StoppedError:
            said.append("stopped")

    with workspaces.borrow():
        waiting, closing = [Thread(target=wait) for _ in range(3)], Thread(target=workspaces.close)
        for thread in (*waiting, closing):
            thread.start()
        wait_until(lambda: workspaces._is_closed)
    for thread in (*waiting, closing):
        thread.join(5)
        assert not thread.is_alive()
    assert said == ["stopped"] * 3
    workspaces.close()
    with pytest.raises(StoppedError), workspaces.borrow():
        pass


def wait_until(happened):
    deadline = time.monotonic() + 5
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_workspaces_that_do_not_all_fit_leave_nothing_on_the_card(monkeypatch):
    free, made = cuda_driver.memory_info()[0], []

    def make(capacity):
        if len(made) == 2:
            raise WorkspaceFullError("full")
        made.append(Workspace(capacity))
        return made[-1]

    monkeypatch.setattr(memory, "Workspace", make)
    with pytest.raises(WorkspaceFullError):
        Workspaces(Backend("cuda", (0,)), 3, 64 << 20)
    assert len(made) == 2 and cuda_driver.memory_info()[0] == free


def test_the_cpu_has_none():
    workspaces = Workspaces(Backend("cpu"))
    with workspaces.borrow() as device:
        assert device == 0
    assert workspaces.allocated == 0 and workspaces.facts() == []


def test_facts_add_up_what_the_workspaces_did(two_cards):
    workspaces = Workspaces(two_cards, 2, 8 * ALIGNMENT)
    for size in (10, 20, 30):
        with workspaces.borrow(), memory.current().frame():
            memory.current().download(memory.current().upload(np.zeros(size, np.uint8)))
    first, second = workspaces.facts(index_bytes=1000)
    assert (first["device"], first["name"], first["batches"], second["batches"]) == (
        0,
        backends.describe(0).name,
        2,
        1,
    )
    assert (first["bytes_up"], first["bytes_down"]) == (1000 + 10 + 30, 40)
    assert first["vram_planned_bytes"] == 1000 + 16 * ALIGNMENT
    assert first["vram_high_water_bytes"] == 1000 + 2 * ALIGNMENT
    assert 0 <= first["busy_share"] <= 1


def test_warming_up_is_not_counted():
    workspaces = Workspaces(Backend("cuda", (0,)), 1, 8 * ALIGNMENT)
    with workspaces.borrow(), memory.current().frame():
        memory.current().download(memory.current().upload(np.zeros(5, np.uint8)))
    before = workspaces.facts()[0]
    workspaces.start_counting()
    after = workspaces.facts()[0]
    assert (before["batches"], after["batches"], after["busy_seconds"]) == (1, 0, 0)
    assert len(workspaces.of[0][0].spans) == 0


@pytest.mark.parametrize(
    ("spans", "covered"), [([], 0), ([(1, 2), (3, 5)], 3), ([(3, 5), (1, 4), (2, 3)], 4), ([(1, 9), (2, 3)], 8)]
)
def test_the_union_of_intervals(spans, covered):
    assert union(spans) == covered


def test_what_the_card_lost_is_said(monkeypatch):
    card = Device("H200", (9, 0), 1 << 37, 1000, "uuid", "0000:01:00.0")
    monkeypatch.setattr("readwarp.device.workspaces.free_memory", lambda bus: 300)
    monkeypatch.setattr(backends, "devices", lambda: (card,))
    assert Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT).facts()[0]["vram_taken_bytes"] == 700


def test_energy_is_what_the_counter_moved(monkeypatch):
    card, joules = Device("H200", (9, 0), 1 << 37, None, "uuid", "0000:01:00.0"), iter([100.0, 350.5])
    monkeypatch.setattr("readwarp.device.workspaces.energy", lambda bus: next(joules))
    monkeypatch.setattr(backends, "devices", lambda: (card,))
    facts = Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT).facts()[0]
    assert facts["energy_joules"] == 250.5 and facts["mean_watts"] > 0
    assert (facts["name"], facts["compute_capability"], facts["kernel_form"]) == ("H200", "9.0", "s16x2")


def test_energy_without_a_card():
    assert driver.energy(backends.UNKNOWN.bus) is None
