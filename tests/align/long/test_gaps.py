"""Two gaps near each other that become one where that costs less."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.align.long.gaps import MAX_BETWEEN, GapCosts, cost_of_gap, unite_gaps
from readwarp.pairwise.pairs import Costs
from readwarp.rules.bases import pack
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

COSTS = Costs(2, 4, 4, 2, 0)
GAPS = GapCosts(4, 2, 24, 1, 400)
Run = tuple[int, int]  # length, operation


def united(read: str, reference: str, runs: list[Run]) -> list[Run]:
    bases, offsets = np.array(["ACGTN".index(base) for base in read], np.uint8), np.array([0, len(runs)])
    cigar = np.array([length << 4 | operation for length, operation in runs], np.uint32)
    packed = np.zeros(len(reference) // 2 + 1, np.uint8)
    pack(np.frombuffer(reference.encode(), np.uint8), 0, packed)
    starts = np.zeros(1, np.int64), np.zeros(1, np.int64)
    made = unite_gaps((bases, packed), starts, COSTS, GAPS, offsets, cigar)
    assert offsets.tolist() == [0, made]
    return [(int(run) >> 4, int(run) & 15) for run in cigar[:made]]


def score(read: str, reference: str, runs: list[Run]) -> int:
    q = r = total = 0
    for length, operation in runs:
        if operation == MATCH:
            for one, other in zip(read[q : q + length], reference[r : r + length], strict=True):
                total += COSTS.match if one == other else -COSTS.mismatch
        else:
            total -= min(4 + 2 * length, 24 + length, 400)
        q, r = q + length * (operation != DELETION), r + length * (operation != INSERTION)
    assert (q, r) == (len(read), len(reference))
    return total


@st.composite
def alignments(draw):
    runs: list[Run] = [(draw(st.integers(1, 9)), MATCH)]
    for _ in range(draw(st.integers(0, 5))):
        runs.append((draw(st.integers(1, 60)), draw(st.sampled_from([INSERTION, DELETION]))))
        runs.append((draw(st.integers(1, 12)), MATCH))
    text = st.text("ACGT", min_size=400, max_size=400)
    read, reference = draw(text), draw(text)
    same = draw(st.booleans())
    q, r = (sum(n for n, operation in runs if operation != gap) for gap in (DELETION, INSERTION))
    read, reference = read[:q], (read if same else reference)[:r].ljust(r, "A")
    return read, reference, runs


@settings(max_examples=300)
@given(alignments())
def test_the_score_never_falls(given):
    read, reference, runs = given
    out = united(read, reference, runs)
    assert score(read, reference, out) >= score(read, reference, runs)
    assert len(out) == len(runs) or score(read, reference, out) > score(read, reference, runs)
    assert all(one != other for (_, one), (_, other) in pairwise(out))
    assert out[0][1] == MATCH == out[-1][1]


@pytest.mark.parametrize("operation", [INSERTION, DELETION])
def test_a_gap_in_two_is_one(operation):
    flank, chance, first, second = "GATTACAGAT", "ACG", "TTGCA" * 20, "CATCC" * 10
    whole, short = flank + first + chance + second + flank, flank + chance + flank
    runs = [(10, MATCH), (100, operation), (3, MATCH), (50, operation), (10, MATCH)]
    read, reference = (whole, short) if operation == INSERTION else (short, whole)
    out = united(read, reference, runs)
    assert out in ([(10, MATCH), (150, operation), (13, MATCH)], [(13, MATCH), (150, operation), (10, MATCH)])


def test_what_is_aligned_well_stays():
    between = "GATTACAGATTACAGGCATG"
    read = "A" * 10 + between + "C" * 10
    reference = "A" * 10 + "T" * 60 + between + "G" * 60 + "C" * 10
    runs = [(10, MATCH), (60, DELETION), (20, MATCH), (60, DELETION), (10, MATCH)]
    assert united(read, reference, runs) == runs and MAX_BETWEEN > 20


def test_costs():
    assert [cost_of_gap(n, GAPS) for n in (1, 20, 21, 376, 5000)] == [6, 44, 45, 400, 400]
