"""Pairs on CUDA give the bytes of the CPU lanes."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from helpers.alignment_oracle import packed, random_costs, random_pairs
from readwarp.pairwise import cpu, cuda, pairwise
from readwarp.pairwise.pairs import Costs, Scheme
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, SEMIGLOBAL, UNREACHED

pytestmark = pytest.mark.cards


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL])
@pytest.mark.parametrize("seed", range(3))
def test_same_bytes_as_the_lanes(mode, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    if seed == 2:
        monkeypatch.setattr(cuda, "ROOM", 100_000)  # several launches
    check(packed(*random_pairs(rng, 1500, 120, 3)), Scheme(random_costs(rng, mode), mode))


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL])
def test_substitution_matrices(mode):
    rng = np.random.default_rng(mode)
    matrix = np.full((ALPHABET, ALPHABET), UNREACHED, np.int32)
    matrix[:20, :20] = rng.integers(-5, 4, (20, 20))
    np.fill_diagonal(matrix[:20, :20], 9)
    check(packed(*random_pairs(rng, 300, 90, 20)), Scheme(Costs(9, 5, 8, 1), mode, matrix.ravel()))


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["warps", "threads"])
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL])
def test_around_the_edges_of_warps(mode, small, monkeypatch):
    """All pairs of these lengths, whose two letters make many ties, and a single pair that is long, without tiles."""
    monkeypatch.setattr(cuda, "SMALL", small)
    monkeypatch.setattr(cuda, "engines", lambda costs: ())
    rng, lengths = np.random.default_rng(mode), (0, 1, 2, 31, 32, 33, 64, 65, 97)
    scheme = Scheme(Costs(2, 3, 2, 1, 2 * (mode == LOCAL)), mode)
    queries, targets = zip(
        *[[rng.integers(0, 2, n).tolist() for n in both] for both in product(lengths, lengths)], strict=True
    )
    check(packed(queries, targets), scheme)
    check(packed(*([rng.integers(0, 2, n).tolist()] for n in (700, 333))), scheme)


def check(pairs, scheme):
    ends = cpu.score_pairs(pairs, scheme)
    there = cuda.score_pairs(pairs, scheme)
    assert [a.tobytes() for a in there] == [a.tobytes() for a in ends]
    expected, found = (side.trace_pairs(pairs, scheme, ends) for side in (cpu, cuda))
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_the_python_interface():
    queries, targets = ["ACGTTGCA", "", "AAAA"], ["ACGTGCA", "ACG", "CCAAAACC"]
    for mode in ("local", "global", "semiglobal"):
        host, device = (pairwise(queries, targets, mode=mode, traceback=True, device=d) for d in ("cpu", "cuda"))
        assert host.score.tolist() == device.score.tolist()
        assert [host.cigar_string(k) for k in range(3)] == [device.cigar_string(k) for k in range(3)]
