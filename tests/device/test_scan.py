"""Offsets made on the card, against numpy."""

import numpy as np
import pytest

from readwarp.device import cuda_scan
from readwarp.device.backend import is_simulated
from readwarp.device.cuda_scan import ITEMS, TILE, device_bytes, exclusive_scan
from readwarp.device.memory import Workspace
from readwarp.ragged import offsets_of


@pytest.mark.parametrize("size", [0, 1, ITEMS, ITEMS + 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 5])
def test_same_as_numpy(size):
    rng = np.random.default_rng(size)
    for dtype, largest in ((np.int32, 9), (np.int64, 1 << 40)):
        sizes = rng.integers(0, largest, size).astype(dtype)
        workspace = Workspace()
        with workspace.frame():
            there, offsets = workspace.upload(sizes), workspace.empty(size + 1, np.int64)
            before = workspace.high_water
            exclusive_scan(there, offsets, workspace)
            (found,) = workspace.download(offsets)
        assert found.tolist() == offsets_of(sizes).tolist()
        assert workspace.high_water == before + device_bytes(size)


def test_more_tiles_than_threads(monkeypatch):
    """With tiles of few sizes, read by the simulator when it runs."""
    if not is_simulated():
        pytest.skip("compiled kernels keep the tile they have")
    monkeypatch.setattr(cuda_scan, "THREADS", 4)
    monkeypatch.setattr(cuda_scan, "ITEMS", 2)
    monkeypatch.setattr(cuda_scan, "TILE", 8)
    sizes = np.arange(75, dtype=np.uint8) % 7
    workspace = Workspace()
    with workspace.frame():
        there, offsets = workspace.upload(sizes), workspace.empty(sizes.size + 1, np.int64)
        exclusive_scan(there, offsets, workspace)
        (found,) = workspace.download(offsets)
    assert np.array_equal(found, offsets_of(sizes))
