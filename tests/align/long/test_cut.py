"""Chains cut into runs and pieces: nothing is lost, and no score, compared with plain dynamic programming."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.seeding import random_letters, reverse_complement
from readwarp.align.batches import LongChains
from readwarp.align.long.cut import PIECE, CutChains, cut_chains
from readwarp.pairwise.pairs import Costs
from readwarp.rules.bases import CODES, pack
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

K, NEVER = 8, -(10**9)
COSTS = Costs(match=1, mismatch=4, gap_open=6, gap_extend=1)


def gain_of(base: str, letter: str, costs: Costs) -> int:
    return (
        costs.match if base == letter != "N" else -min(costs.mismatch, 1) if "N" in base + letter else -costs.mismatch
    )


def best_score(query: str, target: str, costs: Costs) -> int:
    """Global, affine gaps (Gotoh 1982)."""
    opening, extending = costs.gap_open + costs.gap_extend, costs.gap_extend
    H = [0] + [-costs.gap_open - j * extending for j in range(1, len(query) + 1)]
    E = [NEVER] * (len(query) + 1)
    for i, letter in enumerate(target, 1):
        diagonal, H[0], F = H[0], -costs.gap_open - i * extending, NEVER
        for j, base in enumerate(query, 1):
            E[j] = max(E[j] - extending, H[j] - opening)
            F = max(F - extending, H[j - 1] - opening)
            gain = gain_of(base, letter, costs)
            diagonal, H[j] = H[j], max(diagonal + gain, E[j], F)
    return H[-1]


def cut_one(query: str, reference: str, anchors: list[tuple[int, int]], costs: Costs, start: int = 0) -> CutChains:
    """Anchors are (query, reference), in order; the query begins at `start` of the bases."""
    letters = np.frombuffer(("N" * start + query).encode(), np.uint8)
    packed = np.zeros(len(reference) // 2 + 1, np.uint8)
    pack(np.frombuffer(reference.encode(), np.uint8), 0, packed)
    packs = np.array([r << 24 | q for q, r in anchors], np.uint64)
    chains = LongChains(np.array([0, 1]), np.array([0, packs.size]), packs, np.zeros(1, np.int32))
    return cut_chains(CODES[letters], np.array([start]), chains, K, packed, costs)


def score_of(
    cut: CutChains, query: str, reference: str, begin: tuple[int, int], end: tuple[int, int], costs: Costs
) -> int:
    """Of all runs and the best of all pieces, which lie one behind the other from `begin` to `end`."""
    q, r = begin
    total = 0
    for run in cut.runs.tolist():
        length, operation = run >> 4, run & 15
        assert length > 0 or operation == PIECE
        if operation == MATCH:
            for a, b in zip(query[q : q + length], reference[r : r + length], strict=True):
                total += gain_of(a, b, costs)
            q, r = q + length, r + length
        elif operation in (INSERTION, DELETION):
            total -= costs.gap_open + length * costs.gap_extend
            q, r = q + length * (operation == INSERTION), r + length * (operation == DELETION)
        else:
            assert (cut.query_start[length], cut.reference_start[length]) == (q, r)
            on_query, on_reference = int(cut.query_length[length]), int(cut.reference_length[length])
            assert on_query > 0 and on_reference > 0
            total += best_score(query[q : q + on_query], reference[r : r + on_reference], costs)
            q, r = q + on_query, r + on_reference
    assert (q, r) == end
    return total


def mutated(chance: random.Random, reference: str, rate: float) -> tuple[str, list[tuple[int, int]]]:
    """A read, and the (query, reference) pairs of its k-mers that are copied without an error."""
    read, copied = [], []
    for place, letter in enumerate(reference):
        if chance.random() >= rate:
            copied.append((len(read), place))
            read.append(letter)
            continue
        kind = chance.choice("XXIID")
        if kind == "X":
            read.append(chance.choice("ACGTN"))
        elif kind == "I":
            copied.append((len(read), place))
            read += [letter, *chance.choices("ACGT", k=chance.choice((1, 1, 2, 12)))]
    known = set(copied)
    return "".join(read), [(q, r) for q, r in copied if all((q + d, r + d) in known for d in range(K))]


@settings(max_examples=150)
@given(st.integers(0, 10**9), st.sampled_from([COSTS, Costs(2, 4, 4, 2), Costs(1, 1, 0, 1), Costs(3, 1, 20, 1)]))
def test_no_score_is_lost_between_anchors(seed, costs):
    chance = random.Random(seed)
    unit = random_letters(chance, chance.choice((1, 2, 3, 40)))
    reference = random_letters(chance, 80) + unit * (60 // len(unit)) + random_letters(chance, 80)
    read, known = mutated(chance, reference, chance.choice((0.01, 0.05, 0.1)))
    anchors = [anchor for anchor in known if chance.random() < 0.2]
    if not anchors:
        return
    start = chance.randrange(5)
    cut = cut_one(read, reference, anchors, costs, start)
    moved = cut._replace(query_start=cut.query_start - start)
    begin, end = anchors[0], (anchors[-1][0] + K, anchors[-1][1] + K)
    expected, (q, r) = K * costs.match, (begin[0] + K, begin[1] + K)
    for next_query, next_reference in anchors[1:]:
        hidden = max(0, q - next_query, r - next_reference)
        if hidden < K:
            at, there = next_query + hidden, next_reference + hidden
            expected += best_score(read[q:at], reference[r:there], costs) + (K - hidden) * costs.match
            q, r = next_query + K, next_reference + K
    if (q, r) == end:
        assert score_of(moved, read, reference, begin, end, costs) == expected


def test_what_is_what():
    left, right = "ACGTTGCA", "GGATCCAT"
    cut = cut_one(left + "A" + right, left + "C" + right, [(0, 0), (9, 9)], COSTS)
    assert cut.runs.tolist() == [17 << 4 | MATCH]
    cut = cut_one(left + "TTT" + right, left + right, [(0, 0), (11, 8)], COSTS)
    assert cut.runs.tolist() == [8 << 4 | MATCH, 3 << 4 | INSERTION, 8 << 4 | MATCH]
    cut = cut_one(left + right, left + "TTT" + right, [(0, 0), (8, 11)], COSTS)
    assert cut.runs.tolist() == [8 << 4 | MATCH, 3 << 4 | DELETION, 8 << 4 | MATCH]
    cut = cut_one(left + "TTTT" + right, left + "CC" + right, [(0, 0), (12, 10)], COSTS)
    assert cut.runs.tolist() == [8 << 4 | MATCH, 0 << 4 | PIECE, 8 << 4 | MATCH]
    assert (cut.query_length[0], cut.reference_length[0]) == (4, 2)


def test_anchors_that_overlap():
    """Two anchors whose k-mers overlap on one diagonal, and on two in a repeat."""
    text = random_letters(random.Random(1), 30)
    assert cut_one(text, text, [(0, 0), (3, 3), (22, 22)], COSTS).runs.tolist() == [30 << 4 | MATCH]
    repeat = "CACACACACACACACA"
    cut = cut_one(repeat, "CACA" + repeat, [(0, 0), (4, 8), (8, 12)], COSTS)
    assert cut.runs.tolist() == [8 << 4 | MATCH, 4 << 4 | DELETION, 8 << 4 | MATCH]


def test_n_is_never_equal():
    left, right = "ACGTTGCA", reverse_complement("ACGGTTCA")
    few, many = (left + number * "N" + right for number in (7, 8))  # each loses 2, two gaps 15
    assert cut_one(few, few, [(0, 0), (15, 15)], COSTS).runs.tolist() == [23 << 4 | MATCH]
    cut = cut_one(many, many, [(0, 0), (16, 16)], COSTS)
    assert cut.runs.tolist() == [8 << 4 | MATCH, 0 << 4 | PIECE, 8 << 4 | MATCH]
