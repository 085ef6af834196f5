"""Pairs on CUDA: the bytes of the CPU lanes under the simulator."""

import numpy as np
import pytest
from alignment_oracle import packed, random_costs, random_pairs

from readwarp.pairwise import cpu, cuda, pairwise
from readwarp.pairwise.pairs import arrays
from readwarp.pairwise.scalar import GLOBAL, LOCAL, SEMIGLOBAL


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL])
@pytest.mark.parametrize("seed", range(3))
def test_same_bytes_as_the_lanes(mode, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    if seed == 2:
        monkeypatch.setattr(cuda, "ROOM", 500)  # several launches
    pairs, costs = packed(*random_pairs(rng, 20, 20, 3)), random_costs(rng, mode)
    ends = cpu.score_pairs(pairs, costs, mode)
    there = cuda.score_pairs(pairs, costs, mode)
    assert [a.tobytes() for a in arrays(there)] == [a.tobytes() for a in arrays(ends)]
    expected, found = cpu.trace_pairs(pairs, costs, mode, ends), cuda.trace_pairs(pairs, costs, mode, ends)
    assert [a.tobytes() for a in arrays(found)] == [a.tobytes() for a in arrays(expected)]


def test_the_python_interface():
    queries, targets = ["ACGTTGCA", "", "AAAA"], ["ACGTGCA", "ACG", "CCAAAACC"]
    for mode in ("local", "global", "semiglobal"):
        host, device = (pairwise(queries, targets, mode=mode, traceback=True, device=d) for d in ("cpu", "cuda"))
        assert host.score.tolist() == device.score.tolist()
        assert [host.cigar_string(k) for k in range(3)] == [device.cigar_string(k) for k in range(3)]
