"""Chains of long reads compared with plain Python and with geometry worked out by hand, and CPU with CUDA."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.seeding import planned
from readwarp.align.batches import LongChains, SeedHits
from readwarp.align.long.chain.cpu import chain_hits
from readwarp.config import LongChainParameters
from readwarp.ragged import empty

K, LOOKBACK, DENSE_LOOKBACK, NEAR = 20, 64, 1024, 256
CONTIGS = np.array([0, 30_000, 200_000, 5_000_000_000], np.int64)
Anchor = tuple[int, int, int]  # strand, reference, query


def hits_of(reads: list[list[Anchor]]) -> SeedHits:
    anchors = [s << 63 | r << 24 | q for read in reads for s, r, q in sorted(read)]
    offsets = np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64)
    return empty(SeedHits, {}, np.zeros, anchors=np.array(anchors, np.uint64), anchor_offsets=offsets)


def chained(*reads: list[Anchor], **parameters) -> list[list[tuple[int, list[Anchor]]]]:
    """(score, anchors) of the chains of each read."""
    return rows_of(chain_hits(hits_of(list(reads)), CONTIGS, K, LongChainParameters(**parameters)))


def rows_of(chains: LongChains) -> list[list[tuple[int, list[Anchor]]]]:
    def anchors(chain: int) -> list[Anchor]:
        mine = chains.anchors[chains.anchor_offsets[chain] : chains.anchor_offsets[chain + 1]].tolist()
        return [(a >> 63, (a >> 24) & ((1 << 39) - 1), a & 0xFFFFFF) for a in mine]

    offsets = chains.chain_offsets.tolist()
    return [
        [(int(chains.score[chain]), anchors(chain)) for chain in range(first, last)]
        for first, last in pairwise(offsets)
    ]


def place(reference: int, queries, strand: int = 0) -> list[Anchor]:
    """Anchors on one diagonal of a read that starts at `reference`."""
    return [(strand, reference + q, q) for q in queries]


def expected(anchors: list[Anchor], p: LongChainParameters) -> list[tuple[int, list[Anchor]]]:
    anchors, best, parents = sorted(anchors), [], []
    contigs = [int(np.searchsorted(CONTIGS, r, side="right")) for _, r, _ in anchors]
    borders = [
        i == 0
        or anchors[i][0] != anchors[i - 1][0]
        or contigs[i] != contigs[i - 1]
        or anchors[i][1] - anchors[i - 1][1] > p.max_step + p.max_gap
        for i in range(len(anchors))
    ]
    for i, (_, r, q) in enumerate(anchors):
        score, parent, j = K, -1, i
        while not borders[j] and i - j < DENSE_LOOKBACK:
            j -= 1
            dr, dq = r - anchors[j][1], q - anchors[j][2]
            if i - j > LOOKBACK and dr > NEAR:
                break
            gap = abs(dr - dq)
            if dr > 0 and dq > 0 and gap <= p.max_gap and min(dr, dq) <= p.max_step:
                through = best[j] + min(K, dr, dq) - (5 + min(gap, 64) + max(gap - 64, 0) // 8 if gap else 0)
                if through > score:
                    score, parent = through, j
        best.append(score)
        parents.append(parent)
    taken, chains = set(), []
    for end in sorted(range(len(anchors)), key=lambda i: (-best[i], i)):
        walk, i = [], end
        while i >= 0 and i not in taken:
            walk.append(i)
            i = parents[i]
        if not walk:
            continue
        lowest = min(best[i] for i in walk)
        while best[walk[-1]] != lowest:
            walk.pop()
        taken.update(walk)
        chain, score = [anchors[i] for i in walk], best[end] - lowest + K
        if len(chain) >= max(1, p.min_anchors) and score >= p.min_score:
            chains.append((score, chain[::-1]))
    return sorted(chains, key=lambda chain: (-chain[0], chain[1][0]))


def test_one_diagonal():
    anchors = place(2000, range(0, 15_000, 90))
    assert chained(anchors) == [[(20 * len(anchors), anchors)]]


def test_a_long_gap_costs_and_a_longer_one_parts():
    left, right = place(2000, range(0, 1000, 50)), place(2400, range(1000, 2000, 50))
    assert chained(left + right) == [[(20 * 40 - 5 - 64 - 42, left + right)]]
    far = place(2501, range(1000, 2000, 50))
    assert chained(left + far, max_gap=500) == [[(400, left), (400, far)]]


def test_a_step_without_anchors_parts():
    left, right = place(2000, range(0, 1000, 50)), place(2000, range(5950, 7000, 50))
    assert len(chained(left + right)[0]) == 1
    assert len(chained(left + right, max_step=4999)[0]) == 2


@pytest.mark.parametrize(("left", "right"), [(200, 10), (10, 200)])
def test_what_lies_beyond_a_costly_gap_is_a_chain_of_its_own(left, right):
    """686 for a gap of 5,000 bases, as much as 34 anchors bring."""
    before = place(2000, range(0, 50 * left, 50))
    after = place(7000, range(50 * left, 50 * (left + right), 50))
    chains = sorted([(20 * left, before), (20 * right, after)], key=lambda chain: -chain[0])
    assert chained(before + after) == [chains]


def test_what_a_branch_loses_before_it_begins_anew_is_left_to_others():
    """Three diagonals: the branch to the third, whose gap costs 194, does not take the few anchors of the second."""
    first, second = place(2000, range(0, 5000, 50)), place(7000, range(5000, 5150, 50))
    third = place(8000, range(5150, 5650, 50))
    assert chained(first + second + third) == [[(2000, first), (200, third), (60, second)]]


def test_strands_and_contigs_apart():
    one, two, three = place(29_000, [0, 30, 60]), place(29_990, [10, 30, 60]), place(29_000, [0, 30, 60, 90], strand=1)
    assert chained(one + two + three) == [[(80, three), (60, one), (60, two)]]


def test_tandem_repeats_stay_on_their_diagonal():
    """30 copies of 40 bases, of which each has seeds in all others; the read lacks two seeds on the true diagonal."""
    seeds = [q for q in range(0, 1200, 10) if q not in (600, 610)]
    every = sorted(
        (0, 50_000 + 500 + q + 40 * copy, 500 + q)
        for q in seeds
        for copy in range(-30, 30)
        if 0 <= q + 40 * copy < 1200 and q + 40 * copy not in (600, 610)
    )
    around = place(50_000, [*range(0, 480, 50), *range(1720, 2400, 50)])
    best = chained(sorted([*around, *every]))[0][0]
    assert {r - q for _, r, q in best[1]} == {50_000}


def test_reads_without_chains():
    assert chained([], place(50, [1]), place(50, [1, 2, 3, 60])) == [[], [], [(42, place(50, [1, 2, 3, 60]))]]
    assert chained() == []


def place_of(anchor: tuple[int, int, list[int]]) -> list[Anchor]:
    strand, at, queries = anchor
    return place(at, queries, strand)


starts = st.integers(0, 2500) | st.integers(29_000, 31_000) | st.integers(4_000_000_000, 4_000_001_500)
diagonals = st.tuples(
    st.integers(0, 1), starts, st.lists(st.integers(0, 1500), min_size=1, max_size=40, unique=True)
).map(place_of)
anchor_lists = st.lists(diagonals, max_size=5).map(lambda found: sorted({each for some in found for each in some}))


@settings(max_examples=200)
@given(st.lists(anchor_lists, min_size=1, max_size=3), st.data())
def test_equals_plain_python(reads, data):
    parameters = LongChainParameters(
        max_gap=data.draw(st.integers(0, 600)),
        max_step=data.draw(st.integers(1, 800)),
        min_score=data.draw(st.integers(1, 120)),
        min_anchors=data.draw(st.integers(1, 4)),
    )
    found = rows_of(chain_hits(hits_of(reads), CONTIGS, K, parameters))
    assert found == [expected(read, parameters) for read in reads]


def assert_same_on_card(reads: list[list[Anchor]], **parameters) -> list[list[tuple[int, list[Anchor]]]]:
    from readwarp.align.long.chain import cuda

    hits, limits = hits_of(reads), LongChainParameters(**parameters)
    here = chain_hits(hits, CONTIGS, K, limits)
    with planned(1 << 20):
        there = cuda.chain_hits(hits, CONTIGS, K, limits)
    for field, mine, others in zip(LongChains._fields, here, there, strict=True):
        assert mine.dtype == others.dtype and np.array_equal(mine, others), field
    return rows_of(there)


@pytest.mark.cards
@settings(max_examples=30)
@given(
    st.lists(anchor_lists, min_size=1, max_size=6),
    st.integers(0, 600),
    st.integers(1, 800),
)
def test_cuda_gives_the_same_bytes(reads, max_gap, max_step):
    assert_same_on_card(reads, max_gap=max_gap, max_step=max_step, min_score=20, min_anchors=1)


@pytest.mark.cards
@settings(max_examples=20)
@given(st.integers(1, 1200), st.integers(1, 40), st.integers(60, 1100))
def test_cuda_links_dense_anchors_as_far_back(near, period, number):
    """Anchors of a tandem repeat: of `near` places of the reference, each with many of the read."""
    dense = {(0, 5000 + n % near, 300 + n // near * period + n % 7) for n in range(number)}
    assert_same_on_card([sorted(dense | set(place(4500, [0, 40, 900, 2000])))], min_anchors=1)


@pytest.mark.cards
def test_cuda_looks_exactly_as_far_back():
    """The 64 anchors before one, and of the 1,024 before it those within 256 bases of the reference."""

    def linked(between: int, away: int) -> bool:
        """Whether an anchor is linked to one so far before it; the anchors between are at the read's end."""
        others = [(0, 2030 + away * n // 1100, 9000 - n) for n in range(between)]
        last = (0, 2040 + away, 40 + away)
        (chains,) = assert_same_on_card([sorted([(0, 2000, 0), *others, last])], min_anchors=2, min_score=1)
        return any([(0, 2000, 0), last] == anchors for _, anchors in chains)

    assert linked(63, 400) and not linked(64, 400)
    assert linked(64, 216) and not linked(64, 217)
    assert linked(1023, 216) and not linked(1024, 216)


@pytest.mark.cards
def test_cuda_takes_the_bytes_it_says():
    from readwarp.align.long.chain import cuda

    hits = hits_of([place(2000, range(0, 3000, 40)) + place(3000, [70], strand=1), [], place(90_000, [7])])
    with planned(1 << 20) as workspace:
        assert cuda.chain_hits(hits, CONTIGS, K, LongChainParameters()).score.size == 1
        assert workspace.high_water == cuda.device_bytes(hits.anchors.size, 3)
