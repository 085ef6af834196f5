"""Batches of the align job within --memory and --vram."""

import numpy as np
import pytest

from readwarp.cli.budget import LAUNCH_BYTES, device_costs, index_bytes, planned_batches
from readwarp.config import Resources
from readwarp.device.backend import Backend
from readwarp.errors import MemoryBudgetError
from readwarp.index import Index
from readwarp.pairwise import cuda

GB = 1 << 30


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("budget") / "ref.fa"
    letters = np.random.default_rng(1).choice(list("ACGT"), 5000)
    path.write_text(">a\n" + "".join(letters) + "\n")
    return Index.build(path)


def test_a_launch_takes_what_the_plan_counts():
    assert LAUNCH_BYTES == cuda.ROOM


def test_vram_does_not_matter_on_the_cpu(index):
    given = Resources(threads=2, memory=8 * GB)
    assert planned_batches(given, index, Backend("cpu"), 0) == planned_batches(
        Resources(threads=2, memory=8 * GB, vram=1), index, Backend("cpu"), 0
    )


def test_batches_and_workers_follow_from_vram(index):
    def made(vram, devices=(0,)):
        given = Resources(threads=4, device="cuda", memory=64 * GB, vram=vram)
        return planned_batches(given, index, Backend("cuda", devices), 0)

    assert made(64 * GB).workers == 4
    small = made(LAUNCH_BYTES + (32 << 20))
    assert small.workers == 1 and small.batch_bases < made(64 * GB).batch_bases
    assert made(LAUNCH_BYTES + (32 << 20), (0, 1)).workers == 2


def test_too_little_vram_states_the_minimum(index):
    with pytest.raises(MemoryBudgetError, match="--vram 128M is too small: one batch needs 26"):
        planned_batches(Resources(device="cuda", vram=128 << 20), index, Backend("cuda", (0,)), 0)
    assert device_costs(index).fixed == index_bytes(index)
