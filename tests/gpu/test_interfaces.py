"""Arrays of other libraries on a card: used in place, and returned where they are wanted, without a copy."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
import readwarp
from helpers.other_libraries import OnCard
from readwarp import Ragged
from readwarp.device import memory
from readwarp.device.arrays import is_on_card, on_card, on_host
from readwarp.device.backend import Backend
from readwarp.ragged import columns_of

pytestmark = pytest.mark.gpu


def rows(rng, number, longest):
    return [rng.integers(0, 5, rng.integers(0, longest)).astype(np.uint8) for _ in range(number)]


def ragged(sequences, wrap):
    return Ragged(wrap(np.concatenate(sequences)), wrap(np.cumsum([0, *map(len, sequences)])))


def contents(found):
    return [None if column is None else on_host(column, "x").tobytes() for column in columns_of(found).values()]


@pytest.fixture(autouse=True)
def on_the_card(device):
    """What the tests put on a card goes to that one."""
    with Backend("cuda", (int(device.partition(":")[2] or 0),)).on():
        yield


def test_a_view_not_a_copy():
    other = OnCard(np.arange(7, dtype=np.uint8))
    view = on_card(other, "x")
    assert view.__cuda_array_interface__["data"][0] == other.__cuda_array_interface__["data"][0]
    assert view.copy_to_host().tolist() == list(range(7))


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal"])
def test_pairwise(mode, device, scale):
    rng = np.random.default_rng(1)
    number, longest = 20_000 // scale, 300
    queries, targets = rows(rng, number, longest), rows(rng, number, longest)
    expected = readwarp.pairwise(queries, targets, mode=mode, traceback=True)
    given = ragged(queries, OnCard), ragged(targets, OnCard)
    options = {"mode": mode, "traceback": True, "device": device}
    assert contents(readwarp.pairwise(*given, **options)) == contents(expected)
    there = readwarp.pairwise(*given, **options, output="device")
    assert all(is_on_card(column) for column in columns_of(there).values()) and contents(there) == contents(expected)


def test_pair_hmm(device, scale):
    rng = np.random.default_rng(2)
    number, longest = 1000 // scale, 250
    reads, haplotypes = (
        rows(rng, number, longest),
        [rng.integers(0, 5, n).astype(np.uint8) for n in (9, 20, 2 * longest)],
    )
    phreds = [rng.integers(2, 60, len(read)).astype(np.uint8) for read in reads]
    expected = readwarp.pair_hmm(reads, phreds, haplotypes, gap_open=phreds, gap_extend=10)
    flat, workspace = OnCard(np.concatenate(phreds)), memory.current()
    before = workspace.bytes_down
    given = ragged(reads, OnCard), flat, ragged(haplotypes, OnCard)
    found = readwarp.pair_hmm(*given, gap_open=flat, gap_extend=10, device=device, output="device")
    assert is_on_card(found)
    assert found.copy_to_host().tobytes() == expected.tobytes()
    assert workspace.bytes_down - before <= 8 * expected.size + 100  # sums, no reads


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_libraries(library, is_emulated):
    """Libraries that users have. Neither is a dependency, so each is tested if it is installed."""
    other = pytest.importorskip(library)
    if is_emulated:
        pytest.skip(f"{library} has kernels of its own, which an emulated card cannot run")
    codes, offsets = np.array([0, 1, 2, 3, 0, 1], np.uint8), np.array([0, 4, 6])
    there = [other.asarray(x) if library == "cupy" else other.from_numpy(x).cuda() for x in (codes, offsets)]
    found = readwarp.pairwise(Ragged(*there), Ragged(*there), device="cuda", output="device")
    back = other.asarray(found.score) if library == "cupy" else other.as_tensor(found.score, device="cuda")
    assert back.tolist() == [4, 2]
