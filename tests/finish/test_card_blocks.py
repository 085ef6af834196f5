"""BGZF blocks made on a card: what they hold, what they take, and what happens if the card or nvCOMP fails."""

import gzip
import io
import random
from contextlib import closing

import numpy as np
import pysam
import pytest

pytest.importorskip("numba_cuda")
import emulated_card
from helpers.cards import HAS_GPU
from readwarp.device import backend as backends
from readwarp.device import nvcomp
from readwarp.device.backend import Backend
from readwarp.device.memory import Workspace
from readwarp.errors import DeviceError, KernelError, MemoryBudgetError
from readwarp.finish import cuda_blocks
from readwarp.finish.cuda_blocks import CardBlocks
from readwarp.formats.common.bgzf import BLOCK, EOF_BLOCK, BgzfWriter, blocks_of
from readwarp.metrics import Metrics

pytestmark = [pytest.mark.cards, pytest.mark.skipif(HAS_GPU and not nvcomp.library(), reason="needs nvCOMP")]

CARD = Backend("cuda", (0,))
ROOM = 64 << 20  # bytes: 9 blocks in one workspace
MEMORY = 8 << 30  # bytes of the host
OUT_OF_MEMORY, LOST = 2, 999  # CUresult
NOT_SUPPORTED, CUDA_ERROR = 11, 1000  # nvcompStatus_t
SIZES = [1, 2, 254, 255, 256, 511, 65_024, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 12_345]


@pytest.fixture
def blocks():
    """A compressor; a card that failed is whole again afterwards."""
    with closing(CardBlocks(CARD, ROOM, MEMORY, Metrics())) as made:
        yield made
        emulated_card.heal()
        emulated_card.clear_findings()


def data_of(kind: str, size: int) -> np.ndarray:
    rng = np.random.default_rng(size)
    letters = {"random": 256, "bases": 4, "zeros": 1}[kind]
    return rng.integers(0, letters, size).astype(np.uint8)


@pytest.mark.parametrize("kind", ["random", "bases", "zeros"])
def test_blocks_hold_the_data(kind, blocks):
    """Random bytes are stored as they are: deflated, they would not fit in a block."""
    for size in SIZES:
        data = data_of(kind, size)
        out, sizes = blocks([data[: size // 3], data[size // 3 :]])
        assert gzip.decompress(out.tobytes()) == data.tobytes()
        places, lengths = blocks_of(out.tobytes())
        assert np.diff(places).tolist() == sizes.tolist() and max(lengths) <= BLOCK and sum(lengths) == size
        assert sizes.max() <= BLOCK + 31 and (kind != "random" or sizes[0] == min(size, BLOCK) + 31 or size < 9)


def test_no_race_and_nothing_read_that_was_not_written(blocks, checked):
    """With all but the first and last stretches empty, and then none."""
    checked("written", "races", seed=5)
    for size in (300, BLOCK + 300):
        data = data_of("bases", size)
        assert gzip.decompress(blocks([data])[0].tobytes()) == data.tobytes()
    assert emulated_card.findings() == []


@pytest.mark.parametrize("workspaces", [1, 3])
def test_bytes_do_not_depend_on_memory_or_pieces(workspaces, blocks, monkeypatch, tmp_path):
    monkeypatch.setattr(cuda_blocks, "FEW_BLOCKS", 9 // workspaces)
    size = 20 * BLOCK + 333
    data = bytes(random.Random(1).choices(range(20), k=size))
    path = tmp_path / "a.gz"
    with closing(CardBlocks(CARD, ROOM, MEMORY, Metrics())) as others, path.open("wb") as file:
        assert others.threads == workspaces
        writer = BgzfWriter(file, others)
        for at in range(0, size, 100_001):
            writer.write(data[at : at + 100_001])
        writer.close()
    expected, _ = blocks([np.frombuffer(data[: 7 * BLOCK], np.uint8)])
    rest, _ = blocks([np.frombuffer(data[7 * BLOCK : 14 * BLOCK], np.uint8)])
    last, _ = blocks([np.frombuffer(data[14 * BLOCK :], np.uint8)])
    assert path.read_bytes() == b"".join([expected.tobytes(), rest.tobytes(), last.tobytes(), EOF_BLOCK])
    places = np.r_[0:size:99_999, size]
    with pysam.BGZFile(str(path)) as found:
        for place, offset in zip(places.tolist(), writer.virtual_offsets(places).tolist(), strict=True):
            found.seek(offset)
            assert found.read(10) == data[place : place + 10]


@pytest.mark.parametrize("number", [1, 2, 33])
def test_a_full_group_takes_what_is_planned(number):
    with CARD.on(0):
        workspace = Workspace(cuda_blocks.device_bytes(number))
        try:
            data = workspace.upload(np.zeros(number * BLOCK, np.uint8))
            cuda_blocks.compress(data, np.arange(number + 1) * BLOCK, workspace)
            assert workspace.high_water == workspace.allocated == cuda_blocks.device_bytes(number)
        finally:
            workspace.close()


def test_the_share_of_a_card():
    each = cuda_blocks.device_bytes(256) * cuda_blocks.WORKSPACES
    for room, number, most in ((1 << 20, 1, 1), (ROOM, 1, 9), (1 << 30, 4, 38), (64 << 30, 4, 256)):
        with closing(CardBlocks(CARD, room, MEMORY, Metrics())) as made:
            assert (made.threads, made.group) == (number, most * BLOCK)
            (facts,) = made.facts()
            assert facts["vram_planned_bytes"] == made.device_bytes <= max(room // 8, 1 << 20)
            assert made.device_bytes <= each


@pytest.mark.parametrize("cards", [1, 2])
def test_the_share_of_the_host(cards):
    """With little memory, few blocks at a time, and no fewer with less: so an error states the minimum."""
    if HAS_GPU and cards == 2:
        pytest.skip("needs a second card")
    backend = Backend("cuda", tuple(range(cards)))
    full = cuda_blocks.host_bytes(4 * cards, 38)
    for memory, number, most in ((16 * full, 4, 38), (16 * full - 1, 1, 32), (1, 1, 32)):
        with closing(CardBlocks(backend, 1 << 30, memory, Metrics())) as made:
            assert (made.threads, made.group) == (number * cards, most * BLOCK)
            assert made.host_bytes == cuda_blocks.host_bytes(number * cards, most) <= full
    with closing(CardBlocks(CARD, ROOM, 1, Metrics())) as made:
        assert made.group == 9 * BLOCK


def test_a_card_with_less_than_it_says(blocks):
    """The next allocation fails, or the next two, or all."""
    if HAS_GPU:
        pytest.skip("a real card has no faults on demand")
    for failing, group in ((1, 4), (2, 2)):
        for calls in range(1, failing + 1):
            emulated_card.fail("cuMemAlloc", calls, OUT_OF_MEMORY)
        metrics = Metrics()
        with closing(CardBlocks(CARD, ROOM, MEMORY, metrics)) as made:
            assert made.group == group * BLOCK and metrics.counts == {"vram_halved": failing}
    for calls in range(1, 20):
        emulated_card.fail("cuMemAlloc", calls, OUT_OF_MEMORY)
    with pytest.raises(MemoryBudgetError, match="--bgzf cpu needs none"):
        CardBlocks(CARD, ROOM, MEMORY, Metrics())


@pytest.mark.parametrize(
    ("function", "status", "says"),
    [
        ("nvcompBatchedDeflateCompressAsync", NOT_SUPPORTED, r"nvCOMP 6.0.0 failed: .* \(status 11\); --bgzf cpu"),
        ("nvcompBatchedDeflateCompressAsync", CUDA_ERROR, r"failed: A CUDA runtime .* \(status 1000\)"),
        ("nvcompStatus", NOT_SUPPORTED, r"\(status 11\)"),
    ],
)
def test_an_error_of_nvcomp(function, status, says, blocks):
    if HAS_GPU:
        pytest.skip("a real card has no faults on demand")
    emulated_card.fail(function, 1, status)
    with pytest.raises(KernelError, match=says):
        blocks([np.zeros(2 * BLOCK, np.uint8)])
    out, _ = blocks([np.zeros(5, np.uint8)])
    assert gzip.decompress(out.tobytes()) == bytes(5)


def test_a_lost_card(blocks):
    if HAS_GPU:
        pytest.skip("a real card has no faults on demand")
    assert backends.problem_of(0) is None
    emulated_card.lose(0, 1, LOST)
    writer = BgzfWriter(io.BytesIO(), blocks)
    with pytest.raises(DeviceError, match=r"^cuda:0 \(.*\) is lost during compress"):
        for _ in range(20):
            writer.write(bytes(blocks.group))
        writer.close()
    writer.abort()


def test_a_library_that_does_not_work_here(monkeypatch):
    if HAS_GPU:
        pytest.skip("a real card has no faults on demand")
    emulated_card.fail("nvcompBatchedDeflateCompressAsync", 1, NOT_SUPPORTED)
    with pytest.raises(KernelError, match="nvCOMP"):
        CardBlocks(CARD, ROOM, MEMORY, Metrics())
    with closing(CardBlocks(CARD, ROOM, MEMORY, Metrics())) as made:
        (facts,) = made.facts()
        assert facts["batches"] == 0
