"""Offsets summed on the card, compared with NumPy."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from readwarp.device.cuda_scan import ITEMS, THREADS, TILE, device_bytes, exclusive_scan
from readwarp.device.memory import Workspace
from readwarp.ragged import offsets_of

pytestmark = pytest.mark.cards


@pytest.mark.parametrize(
    "size", [0, 1, ITEMS, ITEMS + 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 5, (THREADS + 9) * TILE + 7]
)
def test_same_as_numpy(size):
    """The last size has more tiles than a block has threads."""
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
