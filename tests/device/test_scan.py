"""Offsets summed on the card, compared with NumPy."""

import numpy as np
import pytest

import emulated_card

pytest.importorskip("numba_cuda")
from helpers.cards import CAPABILITIES, IS_EMULATED
from readwarp.device import cuda_driver
from readwarp.device.cuda_launch import THREADS, WARP
from readwarp.device.gather import add_up
from readwarp.device.memory import TILES, Workspace, bind
from readwarp.ragged import offsets_of

pytestmark = pytest.mark.cards

SIZES = 0, 1, WARP - 1, WARP, THREADS - 1, THREADS, THREADS + 1, 5 * THREADS + 5, (WARP + 9) * THREADS + 7
DEVICES = range(len(CAPABILITIES) if IS_EMULATED else 1)


@pytest.fixture
def workspace():
    made = Workspace()
    bind(made)
    yield made
    bind(None)
    made.close()


def summed(workspace: Workspace, sizes: np.ndarray) -> list[int]:
    with workspace.frame():
        there, offsets = workspace.upload(sizes), workspace.keep(sizes.size + 1, np.int64)
        before = workspace.high_water
        add_up(sizes.size, offsets, there)
        assert workspace.high_water == before
        return workspace.download(offsets)[0].tolist()


@pytest.mark.parametrize("size", SIZES)
def test_same_as_numpy(workspace, size):
    """The last size has more tiles than the warp that looks back has threads."""
    rng = np.random.default_rng(size)
    for dtype, largest in ((np.int32, 9), (np.int64, 1 << 40)):
        sizes = rng.integers(0, largest, size).astype(dtype)
        assert summed(workspace, sizes) == offsets_of(sizes).tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_a_launch_leaves_nothing_to_the_next(device):
    rng = np.random.default_rng(device)
    with cuda_driver.on(device):
        workspace = Workspace()
        bind(workspace)
        for size in (*SIZES, *SIZES[::-1], *rng.integers(0, 30 * THREADS, 5).tolist()):
            sizes = rng.integers(0, 1 << 20, size)
            assert summed(workspace, sizes) == offsets_of(sizes).tolist()
            assert not workspace.tiles(1).copy_to_host().any()
        bind(None)


def test_more_tiles_than_a_workspace_is_made_for(workspace):
    sizes = np.random.default_rng(3).integers(0, 9, TILES * THREADS)
    assert summed(workspace, sizes) == offsets_of(sizes).tolist()
    assert workspace.tiles(1).size > TILES and not workspace.tiles(1).copy_to_host().any()


@pytest.mark.skipif(not IS_EMULATED, reason="an order of blocks and a check of the emulated card")
@pytest.mark.parametrize("seed", range(4))
def test_blocks_in_any_order(workspace, checked, seed):
    """Without a race: what blocks tell each other are words that atomics alone touch."""
    checked("written", "races", seed=seed)
    sizes = np.random.default_rng(seed).integers(0, 1 << 40, 50 * THREADS + 3)
    assert summed(workspace, sizes) == offsets_of(sizes).tolist() and emulated_card.findings() == []
