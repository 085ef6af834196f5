"""Workspaces of several cards: lent in turn, waited for, and added up."""

import threading

import numpy as np
import pytest

from readwarp.device import backend as backends
from readwarp.device import driver, memory
from readwarp.device.backend import Backend
from readwarp.device.driver import Device
from readwarp.device.jit import cuda
from readwarp.device.memory import ALIGNMENT, Workspace
from readwarp.device.workspaces import Workspaces, union


@pytest.fixture
def two_cards(monkeypatch):
    """The simulator's one card under two numbers."""
    monkeypatch.setattr(cuda.gpus, "lst", (cuda.gpus.lst[0],) * 2)
    return Backend("cuda", (0, 1))


def test_batches_go_round_the_cards(two_cards):
    workspaces = Workspaces(two_cards, 2, 4 * ALIGNMENT)
    lent = []
    for _ in range(6):
        with workspaces.borrowed() as device:
            assert memory.current() in workspaces.of[device]
            lent.append((device, workspaces.of[device].index(memory.current())))
    assert lent == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 0), (1, 0)]
    assert workspaces.allocated == 2 * 4 * ALIGNMENT


def test_a_thread_waits_until_a_workspace_is_free():
    workspaces, order = Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT), []

    def wait():
        with workspaces.borrowed():
            order.append("second")

    with workspaces.borrowed():
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(0.1)
        order.append("first")
    waiting.join(5)
    assert order == ["first", "second"]


def test_an_error_gives_the_workspace_back():
    workspaces = Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT)
    with pytest.raises(ZeroDivisionError), workspaces.borrowed():
        raise ZeroDivisionError
    with workspaces.borrowed():
        pass
    assert workspaces.facts()[0]["batches"] == 2


def test_the_cpu_has_none():
    workspaces = Workspaces(Backend("cpu"))
    with workspaces.borrowed() as device:
        assert device == 0
    assert workspaces.allocated == 0 and workspaces.facts() == []


def test_facts_add_up_what_the_workspaces_did(two_cards):
    workspaces = Workspaces(two_cards, 2, 8 * ALIGNMENT)
    for size in (10, 20, 30):
        with workspaces.borrowed(), memory.current().frame():
            memory.current().download(memory.current().upload(np.zeros(size, np.uint8)))
    first, second = workspaces.facts(index_bytes=1000)
    assert (first["device"], first["name"], first["batches"], second["batches"]) == (0, "simulated", 2, 1)
    assert (first["bytes_up"], first["bytes_down"]) == (1000 + 10 + 30, 40)
    assert first["vram_planned_bytes"] == 1000 + 16 * ALIGNMENT
    assert first["vram_high_water_bytes"] == 1000 + 2 * ALIGNMENT
    assert first["busy_share"] == 0  # the simulator keeps no time
    assert "energy_joules" not in first


def test_when_a_card_was_busy(monkeypatch):
    """Two events around all work between two waits."""
    recorded = []

    class Event:
        def record(self, stream):
            recorded.append(self)

        def elapsed_time(self, end):
            return 250.0  # ms

    monkeypatch.setattr(cuda, "event", Event)
    workspace = Workspace(4 * ALIGNMENT)
    with workspace.frame():
        workspace.upload(np.zeros(5, np.int32))
        there = workspace.empty(5, np.int32)
        workspace.download(there)
        workspace.synchronize()
    assert recorded == [workspace._began, workspace._ended]
    ((begin, end),) = workspace.spans
    assert end - begin == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("spans", "covered"), [([], 0), ([(1, 2), (3, 5)], 3), ([(3, 5), (1, 4), (2, 3)], 4), ([(1, 9), (2, 3)], 8)]
)
def test_the_union_of_intervals(spans, covered):
    assert union(spans) == covered


def test_what_the_card_lost_is_said(monkeypatch):
    card = Device("H200", (9, 0), 1 << 37, 1000, "uuid", "0000:01:00.0")
    monkeypatch.setattr("readwarp.device.workspaces.free_memory", lambda device: 300)
    monkeypatch.setattr(backends, "SIMULATED", card)
    assert Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT).facts()[0]["vram_taken_bytes"] == 700


def test_energy_is_what_the_counter_moved(monkeypatch):
    card, joules = Device("H200", (9, 0), 1 << 37, None, "uuid", "0000:01:00.0"), iter([100.0, 350.5])
    monkeypatch.setattr("readwarp.device.workspaces.energy", lambda device: next(joules))
    monkeypatch.setattr(backends, "SIMULATED", card)
    facts = Workspaces(Backend("cuda", (0,)), 1, ALIGNMENT).facts()[0]
    assert facts["energy_joules"] == 250.5 and facts["mean_watts"] > 0
    assert (facts["name"], facts["compute_capability"], facts["kernel_form"]) == ("H200", "9.0", "s16x2")


def test_energy_without_a_card():
    assert driver.energy(backends.SIMULATED) is None
