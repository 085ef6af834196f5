"""Workspaces: what they hand out and take back, and that nothing is lost on the way through pinned memory."""

import os
import subprocess
import sys

import numpy as np
import pytest

from readwarp.device import memory
from readwarp.device.memory import ALIGNMENT, Workspace, rounded
from readwarp.errors import WorkspaceFullError


def test_frames_give_back_what_they_took():
    workspace = Workspace(4 * ALIGNMENT)
    with workspace.frame():
        outer = workspace.empty(3, np.int32)
        with workspace.frame():
            inner = workspace.empty((2, 5), np.int16)
            inner[:] = 7
        again = workspace.empty((2, 5), np.int16)
        assert (again.copy_to_host() == 7).all()  # the same bytes
        outer[:] = 1
        assert (again.copy_to_host() == 7).all()
    assert workspace.high_water == 2 * ALIGNMENT
    assert workspace.allocated == 4 * ALIGNMENT


def test_a_planned_workspace_says_when_it_is_full():
    workspace = Workspace(2 * ALIGNMENT)
    with workspace.frame():
        workspace.empty(ALIGNMENT, np.uint8)
        with pytest.raises(WorkspaceFullError, match=f"{rounded(ALIGNMENT + 1)} bytes asked for, {ALIGNMENT} of"):
            workspace.empty(ALIGNMENT + 1, np.uint8)
        workspace.empty(ALIGNMENT, np.uint8)  # what was refused took nothing


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


def test_a_thread_has_one_for_each_device(monkeypatch):
    device = type("Device", (), {"id": 0})()
    monkeypatch.setattr(memory, "is_simulated", lambda: False)
    monkeypatch.setattr(memory.cuda, "get_current_device", lambda: device)
    first = memory.current()
    device.id = 1
    assert memory.current() is not first
    device.id = 0
    assert memory.current() is first


def test_shapes_are_forgotten():
    """In Numba proper; the simulator remembers none."""
    pytest.importorskip("numba_cuda")
    script = """
from numba.cuda.cudadrv.driver import memory_size_from_info
from numba.cuda.cudadrv.dummyarray import Array
from readwarp.device.memory import forget_shapes
described = Array.from_desc(0, (5,), (4,), 4), memory_size_from_info((5,), (4,), 4)
forget_shapes()
print(described[1], Array.from_desc.__func__.cache_info().currsize, memory_size_from_info.cache_info().currsize)
"""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["20", "0", "0"], done.stderr
