"""Scores and traces on CPU lanes compared with the recurrence in plain Python."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.alignment_oracle import best, packed, random_costs, random_pairs, rescored
from helpers.processes import environment_with_tests
from readwarp.compiler.simd import lanes
from readwarp.errors import UsageError
from readwarp.pairwise import cpu, groups
from readwarp.pairwise.groups import score_sorted
from readwarp.pairwise.pairs import Costs, Ends, Scheme
from readwarp.pairwise.scalar import GLOBAL, LOCAL, OVERFLOWN, SEMIGLOBAL
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

MODES = [LOCAL, GLOBAL, SEMIGLOBAL]
DEFAULT = Costs(1, 4, 6, 1, 5)


def check(queries, targets, costs, mode):
    """Scores and stops equal the oracle's; every CIGAR re-scores and lies between its stops. Returns the traces."""
    pairs = packed(queries, targets)
    ends = cpu.score_pairs(pairs, Scheme(costs, mode))
    for k, (query, target) in enumerate(zip(queries, targets, strict=True)):
        assert (ends.score[k], ends.query_stop[k], ends.target_stop[k]) == best(query, target, costs, mode), (
            query, target, costs, mode,
        )  # fmt: skip
    return check_traces(queries, targets, costs, mode, cpu.trace_pairs(pairs, Scheme(costs, mode), ends), ends)


def check_traces(queries, targets, costs, mode, traces, ends):
    for k, (query, target) in enumerate(zip(queries, targets, strict=True)):
        cigar = traces.cigar[traces.cigar_offsets[k] : traces.cigar_offsets[k + 1]]
        start = int(traces.query_start[k])
        score, edits, stop, target_stop = rescored(query, target, start, int(traces.target_start[k]), cigar, costs)
        assert (score, edits) == (traces.score[k], traces.edit_distance[k])
        assert (stop, target_stop) == (ends.query_stop[k], ends.target_stop[k])
        bonuses = (int(start == 0) + int(stop == len(query))) * costs[4] if cigar.size else 0
        assert score + bonuses == ends.score[k]
        assert all(a & 15 != b & 15 for a, b in itertools.pairwise(cigar))
        if mode == LOCAL and cigar.size:
            assert cigar[0] & 15 == cigar[-1] & 15 == MATCH
        if mode != LOCAL:
            assert (start, stop) == (0, len(query))
        if mode == GLOBAL:
            assert (traces.target_start[k], target_stop) == (0, len(target))
    return traces


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(4))
def test_as_the_recurrence(mode, seed):
    rng = np.random.default_rng(seed)
    for letters in (2, 4):
        queries, targets = random_pairs(rng, 150, 40, letters)
        check(queries, targets, random_costs(rng, mode), mode)


@pytest.mark.parametrize("mode", MODES)
def test_unknown_bases_cost_less(mode):
    rng = np.random.default_rng(mode)
    queries, targets = random_pairs(rng, 100, 30, 5)
    targets = [[5 if code == 4 else code for code in target] for target in targets]
    queries, targets = [*queries, [0, 4, 66, 1]], [*targets, [0, 1, 66, 5]]
    for costs in (DEFAULT, random_costs(rng, mode)):
        check(queries, targets, costs._replace(bonus=costs.bonus * (mode == LOCAL)), mode)


@pytest.mark.parametrize("number", sorted({1, 2, lanes("i1") - 1, lanes("i1"), lanes("i1") + 1, 2 * lanes("i1") + 3}))
def test_any_number_of_pairs(number):
    queries, targets = random_pairs(np.random.default_rng(number), number, 20)
    check(queries, targets, DEFAULT, LOCAL)


sequences = st.lists(st.integers(0, 3), max_size=12)


@settings(max_examples=150)
@given(
    st.lists(st.tuples(sequences, sequences), min_size=1, max_size=8),
    st.builds(Costs, st.integers(1, 5), st.integers(0, 9), st.integers(0, 9), st.integers(1, 5), st.integers(0, 12)),
    st.sampled_from(MODES),
)
def test_anything_short(pairs, costs, mode):
    queries, targets = (list(side) for side in zip(*pairs, strict=True))
    check(queries, targets, costs if mode == LOCAL else costs._replace(bonus=0), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("room", "portion"), [(0, cpu.PORTION), (5000, cpu.PORTION), (groups.ROOM, 1000)])
def test_in_parts_or_one_by_one_it_is_the_same(monkeypatch, mode, room, portion):
    rng = np.random.default_rng(7)
    queries, targets = random_pairs(rng, 100, 60, 3)
    costs = random_costs(rng, mode)
    expected = check(queries, targets, costs, mode)
    monkeypatch.setattr(groups, "ROOM", room)
    monkeypatch.setattr(cpu, "PORTION", portion)
    ends = cpu.score_pairs(packed(queries, targets), Scheme(costs, mode))
    found = cpu.trace_pairs(packed(queries, targets), Scheme(costs, mode), ends)
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_overflow_is_seen_and_done_again_wider():
    """Scores of 250 to 260 are on either side of the greatest that 8-bit lanes can tell apart."""
    target = np.random.default_rng(1).integers(0, 4, 300).tolist()
    queries = [target[20 : 20 + n] for n in range(245, 262)]
    ends = cpu.score_pairs(packed(queries, [target] * 17), Scheme(Costs(1, 4, 6, 1), LOCAL))
    assert ends.score.tolist() == list(range(245, 262))
    narrow = Ends(*(np.zeros(17, np.int32) for _ in range(3)))
    score_sorted(packed(queries, [target] * 17), np.arange(17), Scheme(Costs(1, 4, 6, 1), LOCAL), np.int8, narrow)
    assert narrow.score.tolist() == [*range(245, 255), *[OVERFLOWN] * 7]


def test_overflow_of_16_bits():
    target = np.random.default_rng(2).integers(0, 4, 700).tolist()
    queries, costs = [target[:n] for n in (654, 655, 656, 657, 700)], Costs(100, 100, 100, 100)
    check(queries, [target] * 5, costs, LOCAL)


def test_costs_beyond_16_bits():
    rng = np.random.default_rng(3)
    queries, targets = random_pairs(rng, 20, 30)
    for mode in MODES:
        check(queries, targets, Costs(40_000, 90_000, 70_000, 33_000, 50_000 if mode == LOCAL else 0), mode)
    with pytest.raises(UsageError, match="32 bits"):
        cpu.score_pairs(packed([[0] * 100], [[0] * 100]), Scheme(Costs(1 << 25, 1, 1, 1), LOCAL))


def test_positions_beyond_256_and_queries_of_any_length():
    rng = np.random.default_rng(4)
    targets = [rng.integers(0, 4, n).tolist() for n in (900, 700, 600, 514, 300)]
    queries = [targets[0][400:850], targets[1][600:], targets[2][511:513], targets[3], targets[4][255:257]]
    queries[3] = queries[3][:300] + queries[3][310:]
    check(queries, targets, DEFAULT, LOCAL)


def test_gaps_lie_leftmost():
    target = [0, 1, 2, 2, 2, 2, 3, 0, 1, 3, 3, 0, 1, 2, 0]
    shorter, longer = target[:3] + target[4:], [*target[:3], 2, 2, *target[3:]]
    traces = check([shorter, longer], [target, target], Costs(2, 4, 2, 1), GLOBAL)
    runs = [(int(run) & 15, int(run) >> 4) for run in traces.cigar]
    assert runs == [(MATCH, 2), (DELETION, 1), (MATCH, 12), (MATCH, 2), (INSERTION, 2), (MATCH, 13)]


def test_a_gap_at_the_end_gains_no_bonus():
    """Without that rule an insertion of the last two bases would earn the bonus of 7."""
    traces = check([[0, 1, 0]], [[1, 0]], Costs(1, 5, 1, 2, 7), LOCAL)
    assert traces.cigar.tolist() == [2 << 4 | MATCH]


WIDTHS = """
import numpy as np
from helpers.alignment_oracle import packed, random_costs, random_pairs
from readwarp.compiler.simd import VECTOR_BYTES
from readwarp.pairwise import cpu
from readwarp.pairwise.pairs import Scheme

rng = np.random.default_rng(11)
import hashlib
digest = hashlib.sha256()
for mode in range(3):
    pairs, scheme = packed(*random_pairs(rng, 100, 50)), Scheme(random_costs(rng, mode), mode)
    ends = cpu.score_pairs(pairs, scheme)
    for array in (*ends, *cpu.trace_pairs(pairs, scheme, ends)):
        digest.update(array.tobytes())
print(VECTOR_BYTES, digest.hexdigest())
"""


@pytest.mark.slow
def test_the_width_of_vectors_does_not_matter(tmp_path):
    found = []
    for width in ("16", "32", "64"):
        environment = environment_with_tests(READWARP_VECTOR_BYTES=width, READWARP_CACHE=str(tmp_path / width))
        command = [sys.executable, "-c", WIDTHS]
        found.append(
            subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
        )
    assert [width for width, _ in found] == ["16", "32", "64"]
    assert len({digest for _, digest in found}) == 1
