"""Ends compared with the whole table of plain dynamic programming, and CPU with CUDA."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.seeding import planned, random_letters
from readwarp.align.long.ends.cpu import extend_ends
from readwarp.align.long.ends.scalar import Corners, Ended
from readwarp.pairwise.pairs import Costs
from readwarp.rules.bases import CODES, pack
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

COSTS, NEVER = Costs(1, 4, 6, 1, 5), -(10**9)
SCHEMES = [COSTS, Costs(2, 4, 4, 2, 0), Costs(1, 1, 0, 1, 3)]


def gain_of(base: str, letter: str, costs: Costs) -> int:
    return (
        costs.match if base == letter != "N" else -min(costs.mismatch, 1) if "N" in base + letter else -costs.mismatch
    )


def best_end(query: str, target: str, costs: Costs) -> tuple[int, int, int]:
    """(score with bonus, rows, columns) of the best path from the corner, without a band."""
    opening, extending = costs.gap_open + costs.gap_extend, costs.gap_extend
    H = [0] + [-costs.gap_open - j * extending for j in range(1, len(target) + 1)]
    F, best = [NEVER] * (len(target) + 1), (0, 0, 0)
    for i, base in enumerate(query, 1):
        diagonal, E = H[0], NEVER
        F[0] = H[0] = -costs.gap_open - i * extending
        row = [H[0]]
        for j, letter in enumerate(target, 1):
            E = max(E - extending, row[-1] - opening)
            F[j] = max(F[j] - extending, H[j] - opening)
            row.append(max(diagonal + gain_of(base, letter, costs), E, F[j]))
            diagonal = H[j]
        H = row
        for j, score in enumerate(H):
            total = score + costs.bonus * (i == len(query))
            if total > best[0]:
                best = (total, i, j)
    return best


def extended(query: str, target: str, costs: Costs, step: int, band: int = 300, drop: int = 10**6):
    """(score, aligned bases of both, runs) of one end; for step -1 the sequences are given from the corner on too."""
    letters, other = (query, target) if step > 0 else (query[::-1], target[::-1])
    bases = CODES[np.frombuffer(("A" + letters + "C").encode(), np.uint8)]
    packed = np.zeros(len(other) // 2 + 2, np.uint8)
    pack(np.frombuffer(("G" + other).encode(), np.uint8), 0, packed)
    first = (1, 1) if step > 0 else (len(query), len(target))
    corners = Corners(*(np.array([value]) for value in (first[0], len(query), first[1], len(target), step)))
    ended = extend_ends(bases, corners, packed, costs, band, drop)
    return int(ended.score[0]), int(ended.on_query[0]), int(ended.on_reference[0]), ended.runs.tolist()


def score_of(runs: list[int], query: str, target: str, costs: Costs) -> tuple[int, int, int]:
    score = q = t = 0
    for run in runs:
        length, operation = run >> 4, run & 15
        if operation == MATCH:
            pairs = zip(query[q : q + length], target[t : t + length], strict=True)
            score += sum(gain_of(a, b, costs) for a, b in pairs)
        else:
            score -= costs.gap_open + length * costs.gap_extend
        q, t = q + length * (operation != DELETION), t + length * (operation != INSERTION)
    return score, q, t


def mutated(chance: random.Random, text: str, rate: float) -> str:
    out = []
    for letter in text:
        kind = chance.choice("XID") if chance.random() < rate else ""
        out.append({"": letter, "X": chance.choice("ACGTN"), "I": letter + random_letters(chance, 2), "D": ""}[kind])
    return "".join(out)


@settings(max_examples=200)
@given(
    st.integers(0, 10**9),
    st.sampled_from([1, -1]),
    st.sampled_from([COSTS, Costs(2, 4, 4, 2, 0), Costs(1, 1, 0, 1, 3)]),
)
def test_equals_the_whole_table(seed, step, costs):
    chance = random.Random(seed)
    unit = random_letters(chance, chance.choice((1, 2, 5, 30)))
    target = (random_letters(chance, chance.randrange(40)) + unit * (40 // len(unit)))[: chance.randrange(1, 90)]
    query = mutated(chance, target, 0.1)[: chance.randrange(90)] + random_letters(chance, chance.choice((0, 0, 15)))
    score, on_query, on_reference, runs = extended(query, target, costs, step)
    best, rows, columns = best_end(query, target, costs)
    assert (score + costs.bonus * (rows == len(query) and rows > 0), on_query, on_reference) == (best, rows, columns)
    forward = runs if step > 0 else runs[::-1]
    assert score_of(forward, query, target, costs) == (score, rows, columns)


def test_the_end_bonus_decides():
    text = random_letters(random.Random(2), 60)
    wrong = text[:58] + ("A" if text[58] != "A" else "C") + text[59]
    assert extended(wrong, text, COSTS, 1)[:3] == (59 - 4, 60, 60)
    assert extended(wrong, text, COSTS._replace(bonus=0), 1)[:3] == (58, 58, 58)


def test_what_drops_is_clipped():
    chance = random.Random(4)
    text = random_letters(chance, 400)
    read = text[:100] + random_letters(chance, 150) + text[250:]
    assert extended(read, text, COSTS, 1, band=20, drop=60)[1] < 140
    assert extended(read, text, COSTS, 1, band=20)[0] <= 400
    assert extended("", text, COSTS, 1) == (0, 0, 0, [])
    assert extended(text, "", COSTS, -1) == (0, 0, 0, [])


def test_the_band_holds_gaps_that_fit():
    text, costs = random_letters(random.Random(5), 200), COSTS._replace(bonus=0)
    assert extended(text[:100] + text[120:], text, costs, 1, band=20)[0] == 180 - 26
    assert extended(text[:100] + text[121:], text, costs, 1, band=20)[0] < 110 < 179 - 27


def ends_of(chance: random.Random, number: int, longest: int):
    """(bases, corners, packed) of that many ends in both directions, some of reads or contigs that end at once."""
    bases, packed, rows = "", "", []
    for _ in range(number):
        unit = random_letters(chance, chance.choice((1, 3, 40, longest)))
        target = (unit * longest)[: chance.randrange(longest)] + random_letters(chance, chance.randrange(20))
        query = mutated(chance, target, chance.choice((0, 0.05, 0.2)))[: chance.randrange(longest)]
        query += random_letters(chance, chance.choice((0, 0, 30)))
        step = chance.choice((1, -1))
        first = (len(bases), len(packed)) if step > 0 else (len(bases) + len(query) - 1, len(packed) + len(target) - 1)
        rows.append((first[0], len(query), first[1], len(target), step))
        bases, packed = bases + query[::step], packed + target[::step]
    there = np.zeros(len(packed) // 2 + 2, np.uint8)
    pack(np.frombuffer(packed.encode(), np.uint8), 0, there)
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    corners = Corners(*columns[:4], step=columns[4].astype(np.int8))
    return CODES[np.frombuffer(bases.encode(), np.uint8)], corners, there


def assert_same_on_card(ends, costs: Costs, band: int, drop: int) -> int:
    from readwarp.align.long.ends import cuda

    bases, corners, packed = ends
    here = extend_ends(bases, corners, packed, costs, band, drop)
    with planned(4 << 20) as workspace:
        bases, packed = map(workspace.upload, (bases, packed))
        there = cuda.extend_ends(bases, corners, packed, costs, band, drop)
    for field, mine, others in zip(Ended._fields, here, there, strict=True):
        assert mine.dtype == others.dtype and np.array_equal(mine, others), field
    return int(here.runs.size)


@pytest.mark.cards
@settings(max_examples=60)
@given(
    st.integers(0, 10**9),
    st.integers(0, 12),
    st.sampled_from(SCHEMES),
    st.sampled_from([1, 15, 16, 100, 130, 300]),
    st.sampled_from([0, 20, 10**6]),
)
def test_cuda_gives_the_same_bytes(seed, number, costs, band, drop):
    assert_same_on_card(ends_of(random.Random(seed), number, 120), costs, band, drop)


@pytest.mark.cards
@pytest.mark.parametrize("costs", [Costs(127, 1, 6, 1, 5), Costs(128, 127, 90, 20, 50), Costs(1, 128, 90, 20, 50)])
def test_cuda_with_gains_that_a_byte_holds_or_not(costs):
    assert assert_same_on_card(ends_of(random.Random(9), 20, 120), costs, 15, 10**6) > 0


@pytest.mark.cards
def test_cuda_cuts_ends_that_do_not_fit_together(monkeypatch):
    from readwarp.align.long.ends import cuda

    launches, extend_some = [], cuda.extend_some
    monkeypatch.setattr(cuda, "extend_some", lambda *given: launches.append(len(given[1])) or extend_some(*given))
    monkeypatch.setattr(cuda, "ROOM", 40_000)
    assert assert_same_on_card(ends_of(random.Random(8), 30, 150), COSTS, 100, 200) > 30
    assert len(launches) > 3 and sum(launches) == 30
