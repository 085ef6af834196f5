"""readwarp.pairwise on arrays of other libraries gives the answers of lists, without needless copies."""

import numpy as np
import pytest

import readwarp
from helpers.cards import HAS_CARDS
from helpers.other_libraries import HostArray, OnCard
from readwarp import Ragged
from readwarp.device.arrays import is_on_card, on_host
from readwarp.errors import UsageError
from readwarp.pairwise import MatrixScoring
from readwarp.ragged import columns_of

if HAS_CARDS:
    from readwarp.device import memory

QUERIES, TARGETS = ["ACGTNACG", "", "TTACG", "ACGTAC"], ["ACGGTNACGA", "ACG", "TTCG", "ACTTAC"]


def ragged(texts, wrap=np.asarray):
    codes = np.array(["ACGTN".index(letter) for letter in "".join(texts)], np.uint8)
    return Ragged(wrap(codes), wrap(np.cumsum([0, *map(len, texts)])))


def contents(found):
    return [None if column is None else on_host(column, "x").tolist() for column in columns_of(found).values()]


@pytest.mark.parametrize("wrap", [np.asarray, HostArray])
@pytest.mark.parametrize("mode", ["local", "global", "semiglobal"])
def test_ragged_on_the_host(mode, wrap):
    expected = readwarp.pairwise(QUERIES, TARGETS, mode=mode, traceback=True)
    found = readwarp.pairwise(ragged(QUERIES, wrap), ragged(TARGETS, wrap), mode=mode, traceback=True)
    assert contents(found) == contents(expected)
    one = readwarp.pairwise(ragged(QUERIES[:1], wrap), ragged(TARGETS, wrap), mode=mode, traceback=True)
    assert contents(one) == contents(readwarp.pairwise(QUERIES[0], TARGETS, mode=mode, traceback=True))


def test_tensors_are_codes():
    codes = np.array([0, 1, 2, 3, 4], np.uint8)
    for given in (HostArray(codes), [HostArray(codes)], HostArray(codes[None, :])):
        assert readwarp.pairwise(given, codes, traceback=True).cigar_string(0) == "4="


@pytest.mark.cards
def test_ragged_on_a_card(monkeypatch):
    """Sequences stay there."""
    expected = readwarp.pairwise(QUERIES, TARGETS, mode="semiglobal", traceback=True)
    downloaded, download = [], memory.Workspace.download
    monkeypatch.setattr(
        memory.Workspace, "download", lambda self, *given: downloaded.extend(given) or download(self, *given)
    )
    queries, targets = ragged(QUERIES, OnCard), ragged(TARGETS, OnCard)
    found = readwarp.pairwise(queries, targets, mode="semiglobal", traceback=True, device="cuda")
    assert contents(found) == contents(expected) and not is_on_card(found.score)
    assert downloaded and not any(array.dtype == np.uint8 for array in downloaded)


@pytest.mark.cards
def test_results_on_a_card():
    expected = readwarp.pairwise(QUERIES, TARGETS, traceback=True)
    found = readwarp.pairwise(QUERIES, TARGETS, traceback=True, device="cuda", output="device")
    assert all(is_on_card(column) for column in columns_of(found).values()) and len(found) == 4
    assert contents(found) == contents(expected)
    assert [found.cigar_string(k) for k in range(4)] == [expected.cigar_string(k) for k in range(4)]
    scores = readwarp.pairwise(ragged(QUERIES, OnCard), "ACGT", device="cuda", output="device")
    assert is_on_card(scores.score) and scores.cigar is None
    assert contents(scores) == contents(readwarp.pairwise(QUERIES, "ACGT"))


@pytest.mark.cards
def test_plain_matches_and_a_matrix_on_a_card():
    blosum = MatrixScoring(2 * np.eye(5, dtype=int) - 1, "ACGTN", 3, 1)
    for options in ({"eqx": False}, {"scoring": blosum}, {"scoring": readwarp.Scoring(2, 3, 4, 1), "mode": "global"}):
        given = [(QUERIES, TARGETS, "cpu"), (ragged(QUERIES, OnCard), ragged(TARGETS, OnCard), "cuda")]
        expected, found = (readwarp.pairwise(q, t, traceback=True, device=d, **options) for q, t, d in given)
        assert contents(found) == contents(expected), options


@pytest.mark.cards
def test_refusals():
    card = ragged(QUERIES, OnCard)
    with pytest.raises(UsageError, match='arrays on a card need device="cuda"'):
        readwarp.pairwise(card, TARGETS)
    with pytest.raises(UsageError, match='output="device" needs'):
        readwarp.pairwise("A", "A", output="device")
    with pytest.raises(UsageError, match="not one of host, device"):
        readwarp.pairwise("A", "A", output="card")
    with pytest.raises(UsageError, match="queries: sequence 1 is on a card: give one Ragged"):
        readwarp.pairwise([OnCard(np.zeros(3, np.uint8))], "A", device="cuda")
    with pytest.raises(UsageError, match="queries have a code, 4, that the scoring does not know"):
        readwarp.pairwise(card, TARGETS, MatrixScoring(np.eye(4, dtype=int), "ACGT", 1, 1), device="cuda")
    with pytest.raises(UsageError, match="4 queries and 3 targets"):
        readwarp.pairwise(card, TARGETS[:3], device="cuda")
