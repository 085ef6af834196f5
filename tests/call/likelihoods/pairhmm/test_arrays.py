"""readwarp.pair_hmm on arrays of other libraries gives the values of lists, without needless copies."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
import readwarp
from helpers.hmm_oracle import random_read
from helpers.other_libraries import HostArray, OnCard
from readwarp import Ragged
from readwarp.call.likelihoods.pairhmm import cpu
from readwarp.device import backend, memory
from readwarp.device.arrays import is_on_card
from readwarp.errors import UsageError

pytestmark = pytest.mark.cards


def given():
    rng = np.random.default_rng(12)
    haplotypes = [rng.integers(0, 4, size).astype(np.uint8) for size in (9, 20, 13)]
    haplotypes[1][5] = 4
    reads = [random_read(rng, length, haplotypes[1], low=20) for length in (6, 0, 11)]
    return [[np.asarray(read[k], np.uint8) for read in reads] for k in range(4)], haplotypes


def ragged(rows, wrap=np.asarray):
    return Ragged(wrap(np.concatenate(rows)), wrap(np.cumsum([0, *map(len, rows)])))


@pytest.mark.parametrize("wrap", [np.asarray, HostArray])
def test_ragged_on_the_host(wrap):
    (bases, qualities, opens, extends), haplotypes = given()
    expected = readwarp.pair_hmm(bases, qualities, haplotypes, gap_open=opens, gap_extend=extends)
    flat = wrap(np.concatenate(qualities))
    for phreds in (flat, qualities, Ragged(flat, np.cumsum([0, *map(len, qualities)]))):
        gaps = {"gap_open": ragged(opens, wrap), "gap_extend": wrap(np.concatenate(extends))}
        found = readwarp.pair_hmm(ragged(bases, wrap), phreds, ragged(haplotypes, wrap), **gaps)
        assert found.tobytes() == expected.tobytes()
    by_context = readwarp.pair_hmm(bases, 30, haplotypes)
    assert readwarp.pair_hmm(ragged(bases, wrap), 30, ragged(haplotypes, wrap)).tobytes() == by_context.tobytes()


def on_card():
    (bases, qualities, opens, _), haplotypes = given()
    gaps = {"gap_open": OnCard(np.concatenate(opens)), "gap_extend": 10}
    return ragged(bases, OnCard), OnCard(np.concatenate(qualities)), ragged(haplotypes, OnCard), gaps


def test_ragged_on_a_card(monkeypatch):
    (bases, qualities, opens, _), haplotypes = given()
    expected = readwarp.pair_hmm(bases, qualities, haplotypes, gap_open=opens, gap_extend=10)
    backend.choose("cuda")  # the card is tried once, which downloads, too
    downloaded, download = [], memory.Workspace.download
    monkeypatch.setattr(
        memory.Workspace, "download", lambda self, *arrays: downloaded.extend(arrays) or download(self, *arrays)
    )
    monkeypatch.setattr(cpu, "sum_pairs", lambda *_: pytest.fail("computed on the host"))
    *arrays, gaps = on_card()
    found = readwarp.pair_hmm(*arrays, **gaps, device="cuda")
    assert found.tobytes() == expected.tobytes()
    sizes = {(array.dtype.name, array.size) for array in downloaded}
    assert sizes == {("int32", 1), ("uint8", 3), ("float64", 6)}  # highest codes, which haplotypes are known, sums


def test_one_side_on_a_card_and_results_there():
    (bases, qualities, opens, _), haplotypes = given()
    expected = readwarp.pair_hmm(bases, qualities, haplotypes, gap_open=opens, gap_extend=10, pairs=([0, 2], [1, 2]))
    for reads, others in ((bases, ragged(haplotypes, OnCard)), (ragged(bases, OnCard), haplotypes)):
        options = {"gap_open": opens, "gap_extend": 10, "pairs": ([0, 2], [1, 2])}
        found = readwarp.pair_hmm(reads, qualities, others, **options, device="cuda", output="device")
        assert is_on_card(found) and found.copy_to_host().tobytes() == expected.tobytes()


def test_what_only_the_host_can_compute_comes_down():
    reads = [np.zeros(length, np.uint8) for length in (700, 130)]
    haplotypes = [np.full(720, 2, np.uint8)]
    options = {"gap_open": 60, "gap_extend": 60}
    expected = readwarp.pair_hmm(reads, 60, haplotypes, **options)
    assert expected.max() < -570
    found = readwarp.pair_hmm(ragged(reads[:1], OnCard), 60, ragged(haplotypes, OnCard), **options, device="cuda")
    assert found.tobytes() == expected[:1].tobytes()


def test_refusals():
    *arrays, gaps = on_card()
    with pytest.raises(UsageError, match='arrays on a card need device="cuda"'):
        readwarp.pair_hmm(*arrays, **gaps)
    with pytest.raises(UsageError, match="reads on a card need gap_open and gap_extend"):
        readwarp.pair_hmm(*arrays, device="cuda")
    with pytest.raises(UsageError, match='output="device" needs'):
        readwarp.pair_hmm("A", 30, "A", output="device")
    with pytest.raises(UsageError, match="haplotypes have a code, 9, that is not a base"):
        readwarp.pair_hmm("A", 30, OnCard(np.full(3, 9, np.uint8)), device="cuda")
    with pytest.raises(UsageError, match="qualities: Phreds on a card are uint8, at most 93"):
        readwarp.pair_hmm(["AC"], OnCard(np.full(2, 94, np.uint8)), "A", device="cuda")
    with pytest.raises(UsageError, match="qualities: 3 Phreds, but 2 bases"):
        readwarp.pair_hmm(["AC"], HostArray(np.full(3, 30, np.uint8)), "A")
    with pytest.raises(UsageError, match="a Ragged must have the offsets of the reads"):
        readwarp.pair_hmm(["AC"], Ragged(np.full(2, 30, np.uint8), [0, 1, 2]), "A")
    with pytest.raises(UsageError, match="read 1 is on a card: give one Ragged"):
        readwarp.pair_hmm([OnCard(np.zeros(3, np.uint8))], 30, "A", device="cuda")
    with pytest.raises(UsageError, match="haplotype 2 has no bases"):
        readwarp.pair_hmm("A", 30, Ragged(np.zeros(3, np.uint8), [0, 3, 3]))
