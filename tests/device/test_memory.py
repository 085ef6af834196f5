"""Workspaces: what they lend and take back; and pinned memory, through which nothing is lost."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from helpers.launched_first import made
from readwarp.device import cuda_driver, failure, memory, staging
from readwarp.device.failure import CudaAPIError
from readwarp.device.memory import Workspace
from readwarp.device.staging import ALIGNMENT, rounded
from readwarp.errors import PinnedMemoryError, StoppedError, WorkspaceFullError

pytestmark = pytest.mark.cards


def test_frames_give_back_what_they_took():
    workspace = Workspace(4 * ALIGNMENT)
    with workspace.frame():
        outer = workspace.upload(np.zeros(3, np.int64))
        with workspace.frame():
            workspace.upload(np.full((2, 5), 7, np.int16))
        again = workspace.empty((2, 5), np.int16)
        assert (again.copy_to_host() == 7).all()  # the same bytes
        made()[1, 32, workspace.stream](outer)
        assert (again.copy_to_host() == 7).all() and (outer.copy_to_host() == 1).all()
    assert workspace.high_water == 2 * ALIGNMENT
    assert workspace.allocated == 4 * ALIGNMENT


@pytest.mark.parametrize("capacity", [4 * ALIGNMENT, None])
def test_what_is_kept_outlives_its_frame(capacity):
    workspace = Workspace(capacity)
    with workspace.frame():
        with workspace.frame():
            workspace.empty(ALIGNMENT, np.uint8)
            kept = workspace.keep(3, np.int64)
            made()[1, 32, workspace.stream](kept)
            before = kept.copy_to_host().tolist()
        again = workspace.upload(np.zeros(2 * ALIGNMENT, np.uint8))  # the bytes of the frame
        assert kept.copy_to_host().tolist() == before and again.size == 2 * ALIGNMENT
        assert workspace.high_water == 3 * ALIGNMENT
        if capacity:
            workspace.keep(1, np.uint8)
            with pytest.raises(WorkspaceFullError, match=f"{ALIGNMENT} bytes needed, 0 of"):
                workspace.keep(1, np.uint8)
            with pytest.raises(WorkspaceFullError, match=f"{ALIGNMENT} bytes needed, 0 of"):
                workspace.empty(1, np.uint8)
    assert workspace.left == capacity
    with workspace.frame():
        assert workspace.keep(capacity or 9, np.uint8).size == (capacity or 9)
    workspace.close()


def test_a_planned_workspace_says_when_it_is_full():
    workspace = Workspace(2 * ALIGNMENT)
    with workspace.frame():
        workspace.empty(ALIGNMENT, np.uint8)
        with pytest.raises(WorkspaceFullError, match=f"{rounded(ALIGNMENT + 1)} bytes needed, {ALIGNMENT} of"):
            workspace.empty(ALIGNMENT + 1, np.uint8)
        workspace.empty(ALIGNMENT, np.uint8)  # a refused request takes nothing


def test_one_without_a_plan_grows_and_frees(monkeypatch):
    monkeypatch.setattr(memory, "BLOCK", 2 * ALIGNMENT)
    workspace = Workspace()
    with workspace.frame():
        for size in (ALIGNMENT, 2 * ALIGNMENT, 5 * ALIGNMENT):
            assert workspace.empty(size, np.uint8).size == size
        assert workspace.allocated == 9 * ALIGNMENT
        assert workspace.high_water == 9 * ALIGNMENT
    assert workspace.allocated == 0


@pytest.mark.parametrize("pinned", [ALIGNMENT, 3 * ALIGNMENT, 1 << 16])
def test_copies_through_pinned_memory(pinned):
    rng = np.random.default_rng(1)
    arrays = [rng.integers(0, 100, size).astype(t) for size, t in ((0, np.int32), (1, np.uint8), (700, np.int64))]
    arrays.append(rng.integers(0, 9, (30, 11)).astype(np.uint16))
    workspace = Workspace(1 << 16, pinned)
    with workspace.frame():
        there = [workspace.upload(array) for array in arrays]
        back = workspace.download(*there)
    for array, host in zip(arrays, back, strict=True):
        assert host.dtype == array.dtype and host.tolist() == array.tolist()
    total = sum(array.nbytes for array in arrays)
    assert (workspace.bytes_up, workspace.bytes_down) == (total, total)


def test_each_thread_has_its_own(monkeypatch):
    mine = Workspace(ALIGNMENT)
    memory.bind(mine)
    try:
        assert memory.current() is mine
    finally:
        memory.bind(None)
    assert memory.current() is not mine and memory.current() is memory.current()


def test_a_thread_has_one_for_each_device():
    with cuda_driver.on(0):
        first = memory.current()
    with cuda_driver.on(1):
        second = memory.current()
        assert second is not first and second.device == 1
    with cuda_driver.on(0):
        assert memory.current() is first


class Given:
    """A stand-in for one of the card's functions: what it returns, and how often it was called."""

    def __init__(self, error):
        self.error, self.calls = error, 0

    def __call__(self, *arguments):
        self.calls += 1
        raise self.error


def test_memory_that_cannot_be_pinned_is_not_a_full_card(monkeypatch):
    given = Given(CudaAPIError("Call to cuMemHostAlloc results in CUDA_ERROR_OUT_OF_MEMORY"))
    monkeypatch.setattr(staging.cuda_driver, "Pinned", given)
    with pytest.raises(PinnedMemoryError, match=r"cannot pin 4096 bytes of memory.*fewer --threads") as caught:
        Workspace(ALIGNMENT, 4096)
    assert not failure.is_out_of_memory(caught.value) and caught.value.exit_code == 5 and given.calls == 1


def test_what_a_failed_card_says_when_memory_is_pinned_passes(monkeypatch):
    given = Given(CudaAPIError("Call to cuMemHostAlloc results in CUDA_ERROR_UNKNOWN"))
    monkeypatch.setattr(staging.cuda_driver, "Pinned", given)
    with pytest.raises(CudaAPIError, match="UNKNOWN"):
        Workspace(ALIGNMENT, 4096)


def test_a_workspace_that_is_stopped_gives_and_waits_for_nothing():
    workspace = Workspace(4 * ALIGNMENT)
    there = workspace.empty(5, np.int32)
    workspace.stop()
    for step in (lambda: workspace.empty(1, np.uint8), lambda: workspace.download(there), workspace.synchronize):
        with pytest.raises(StoppedError):
            step()
    workspace.close()
    assert workspace.allocated == 0


def free_bytes():
    """Free bytes of the card, once what earlier tests have left is freed."""
    gc.collect()
    return cuda_driver.memory_info()[0]


def test_closing_gives_the_memory_back_at_once():
    free = free_bytes()
    workspace = Workspace(64 << 20)
    with workspace.frame():
        view = workspace.upload(np.arange(5))
    assert cuda_driver.memory_info()[0] <= free - (64 << 20)
    del view
    workspace.close()
    assert cuda_driver.memory_info()[0] == free


@pytest.fixture
def separate(monkeypatch):
    monkeypatch.setenv(memory.SEPARATE, "1")


def test_separate_arrays_have_just_their_bytes_and_end_with_their_frame(separate):
    workspace = Workspace(64 << 20)
    free = free_bytes()
    with workspace.frame():
        outer = workspace.empty(1000, np.int64)
        with workspace.frame():
            inner = workspace.upload(np.arange(7))
            assert workspace.allocated == 8000 + 56
            assert not 0 <= inner.address - outer.address < 8000
        assert workspace.allocated == 8000
        assert workspace.download(outer)[0].size == 1000
        del inner
    del outer
    assert (workspace.allocated, cuda_driver.memory_info()[0]) == (0, free)
    assert workspace.high_water == rounded(8000) + ALIGNMENT


def test_separate_arrays_have_no_more_room_than_a_block(separate):
    workspace = Workspace(2 * ALIGNMENT)
    with workspace.frame():
        workspace.empty(ALIGNMENT + 1, np.uint8)
        with pytest.raises(WorkspaceFullError, match=f"{ALIGNMENT} bytes needed, 0 of {2 * ALIGNMENT} left"):
            workspace.empty(1, np.uint8)
    with workspace.frame():
        workspace.empty(2 * ALIGNMENT, np.uint8)


class Clock:
    """A card that works `seconds` between the two events, and a host that waits for it as long as it says."""

    def __init__(self, monkeypatch, waits):
        self.now, self.waits = 100.0, waits
        monkeypatch.setattr(memory.time, "perf_counter", lambda: self.now)

    def synchronize(self):
        self.now += self.waits


@pytest.mark.parametrize(("waits", "worked", "busy"), [(0.25, 2.0, 0.25), (0.5, 0.125, 0.125), (0.0, 3.0, 0.0)])
def test_a_card_is_busy_while_it_is_waited_for_and_works(monkeypatch, waits, worked, busy):
    """It is not busy while the host prepares its next step, nor while a thread still sleeps though the card is done."""
    workspace = Workspace(4 * ALIGNMENT)
    clock = Clock(monkeypatch, waits)
    with workspace.frame():
        workspace.upload(np.zeros(5, np.int32))
        stream, workspace.stream = workspace.stream, clock
        monkeypatch.setattr(workspace, "_ended", SimpleNamespace(record=lambda stream: None))
        monkeypatch.setattr(workspace, "_began", SimpleNamespace(elapsed_time=lambda ended: 1000 * worked))
        clock.now += 7.0  # the host's own work
        workspace.synchronize()
        workspace.stream = stream
    workspace.close()
    ((begin, end),) = workspace.spans
    assert (begin, end - begin) == (107.0, pytest.approx(busy))
