"""Chains compared with plain Python and with geometry worked out by hand, and CPU with CUDA."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cards import HAS_CARDS
from helpers.seeding import planned, read_batch
from readwarp.align.batches import Chains, SeedHits
from readwarp.align.chain.cpu import chain_hits
from readwarp.config import ChainParameters, SeedParameters
from readwarp.device.backend import Backend
from readwarp.device.rows import to_host
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import columns_of
from readwarp.rules.statuses import Status

if HAS_CARDS:
    from readwarp.device import memory

K, LENGTH = 20, 150
CONTIGS = np.array([0, 1000, 5000, 100_000, 5_000_000_000], np.int64)
Anchor = tuple[int, int, int]  # strand, reference, query


def hits_of(reads: list[list[Anchor]]) -> SeedHits:
    anchors = [s << 63 | r << 24 | q for read in reads for s, r, q in sorted(read)]
    offsets = np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64)
    numbers = np.arange(len(reads), dtype=np.int32)
    odd, settled = (numbers % 2).astype(np.uint8), (numbers % 3 > 0).astype(np.uint8)
    return SeedHits(np.array(anchors, np.uint64), offsets, numbers, settled, odd)


def chained(anchors: list[Anchor], length: int = LENGTH, **parameters) -> list[tuple[int, ...]]:
    """(score, strand, reference span, query span) of the chains of one read."""
    chains = chain_hits(
        read_batch(["A" * length]), hits_of([anchors]), CONTIGS, SeedParameters(), ChainParameters(**parameters)
    )
    return rows_of(chains, 0)


def rows_of(chains: Chains, read: int) -> list[tuple[int, ...]]:
    names = ("score", "strand", "reference_start", "reference_stop", "query_start", "query_stop")
    rows = range(chains.chain_offsets[read], chains.chain_offsets[read + 1])
    return [tuple(int(getattr(chains, name)[row]) for name in names) for row in rows]


def place(reference: int, queries, strand: int = 0) -> list[Anchor]:
    """Anchors on one diagonal of a read that starts at `reference`."""
    return [(strand, reference + q, q) for q in queries]


# ---- geometry


def test_one_diagonal():
    assert chained(place(2000, [0, 5, 40, 130])) == [(20 + 5 + 20 + 20, 0, 2000, 2150, 0, 150)]


def test_deletion_and_insertion_cost_their_gap():
    assert chained(place(2000, [0, 30]) + place(2009, [70, 110])) == [(80 - 3 - 1, 0, 2000, 2139, 0, 130)]
    assert chained(place(2000, [0, 30]) + place(1996, [70, 110])) == [(80 - 3, 0, 2000, 2126, 0, 130)]


def test_a_gap_beyond_the_limit_makes_two_chains():
    anchors = place(2000, [0, 30]) + place(2101, [70, 110])
    assert [row[0] for row in chained(anchors)] == [40, 40]
    assert [row[0] for row in chained(anchors, max_gap=101)] == [80 - 3 - 12]


def test_strands_and_far_places_apart():
    rows = chained(place(2000, [0, 50]) + place(2000, [0, 50, 100], strand=1) + place(9000, [0, 50]))
    assert [row[:3] for row in rows] == [(60, 1, 2000), (40, 0, 2000), (40, 0, 9000)]


def test_never_across_a_contig_border():
    rows = chained(place(950, [0, 20, 60, 90]))
    assert sorted((row[2], row[3]) for row in rows) == [(950, 990), (1010, 1060)]


def test_weak_chains_go_unless_they_are_of_another_part_of_the_read():
    best = place(2000, [0, 20, 40, 60])
    assert len(chained(best + place(9000, [30]))) == 1
    assert len(chained(best + place(9000, [30]), drop=0.25)) == 2
    assert len(chained(best + place(9000, [120]))) == 2
    reverse = place(9000, [10], strand=1)  # covers 120 to 140 of the read as sequenced
    assert len(chained(best + reverse)) == 2
    assert len(chained(best + place(9000, [120], strand=1))) == 1


def test_at_most_so_many_chains_the_first_of_equals():
    rows = chained([(1, 9000 + 1000 * i, 3) for i in range(30)] + [(0, 20_000, 7)], max_chains=4)
    assert [row[1:3] for row in rows] == [(0, 20_000), (1, 9000), (1, 10_000), (1, 11_000)]


def test_positions_beyond_32_bits():
    assert chained(place(4_999_999_000, [0, 100])) == [(40, 0, 4_999_999_000, 4_999_999_120, 0, 120)]


def test_nothing_and_what_is_carried_over():
    assert chained([]) == []
    chains = chain_hits(
        read_batch(["A", "", "C"]), hits_of([[], place(2000, [0]), []]), CONTIGS, SeedParameters(), ChainParameters()
    )
    assert chains.chain_offsets.tolist() == [0, 0, 1, 1]
    assert chains.repetitive.tolist() == [0, 1, 2] and chains.status.tolist() == [Status.OK, 1, Status.OK]


# ---- plain Python


def plain(anchors: list[Anchor], length: int, p: ChainParameters) -> list[tuple[int, ...]]:
    """The recurrence of the step over all anchors of a read at once, and the choice of chains."""
    anchors, best, before = sorted(anchors), [], []
    for i, (strand, reference, query) in enumerate(anchors):
        options = [(K, 1, -1)]
        for j in range(i):
            other_strand, r, q = anchors[j]
            gap = abs((reference - r) - (query - q))
            linked = strand == other_strand and reference > r and query > q and gap <= p.max_gap
            if linked and np.searchsorted(CONTIGS, r, "right") == np.searchsorted(CONTIGS, reference, "right"):
                cost = 0 if gap == 0 else 3 + gap // 8
                options.append((best[j] + min(K, query - q, reference - r) - cost, 0, j))
        score, _, parent = max(options)
        best.append(score)
        before.append(parent)
    free, rows = set(range(len(anchors))), []
    while free:
        last = max(free, key=lambda i: (best[i], -i))
        members = [last]
        while before[members[-1]] in free:
            members.append(before[members[-1]])
        score = best[last] - (best[before[members[-1]]] if before[members[-1]] >= 0 else 0)
        free -= set(members)
        strand, start, query = anchors[members[-1]]
        if score >= K:
            rows.append((score, strand, start, anchors[last][1] + K, query, anchors[last][2] + K))
    rows = sorted(rows, key=lambda row: (-row[0], row[1], row[2], row[4]))[: p.max_chains]
    return [row for row in rows if wanted(row, rows[0], length, p)]


def wanted(row, top, length: int, p: ChainParameters) -> bool:
    spans = [(length - r[5], length - r[4]) if r[1] else r[4:6] for r in (row, top)]
    shared = min(stop for _, stop in spans) - max(start for start, _ in spans)
    return row[0] >= p.drop * top[0] or 2 * shared < min(stop - start for start, stop in spans)


anchor_lists = st.lists(
    st.tuples(
        st.integers(0, 1), st.sampled_from([940, 2000, 2003, 2040, 9000]), st.integers(0, 40), st.integers(0, 13)
    ),
    max_size=14,
    unique=True,
).map(lambda items: sorted({(s, base + 10 * q + shift % 5, 10 * q) for s, base, shift, q in items}))


@settings(max_examples=400)
@given(anchor_lists, st.sampled_from([1, 3, 64]), st.sampled_from([0.0, 0.5, 1.0]))
def test_same_as_plain_python(anchors, max_chains, drop):
    p = ChainParameters(max_chains=max_chains, drop=drop)
    assert chained(anchors, max_chains=max_chains, drop=drop) == plain(anchors, LENGTH, p)


def on_card(batch: ReadBatch, hits: SeedHits, p: ChainParameters) -> Chains:
    from readwarp.align.chain import cuda

    backend = Backend("cuda", (0,))
    with backend.frame():
        there, borders = backend.to_device(batch, "bases", "read_offsets"), memory.current().upload(CONTIGS)
        return to_host(cuda.chain_hits(there, backend.to_device(hits), borders, SeedParameters(), p))


def assert_same_on_card(reads: list[list[Anchor]], p: ChainParameters) -> Chains:
    batch, hits = read_batch(["A" * LENGTH] * len(reads)), hits_of(reads)
    here, there = chain_hits(batch, hits, CONTIGS, SeedParameters(), p), on_card(batch, hits, p)
    for field in columns_of(here):
        a, b = getattr(here, field), getattr(there, field)
        assert a.dtype == b.dtype and np.array_equal(a, b), field
    return here


@pytest.mark.cards
@pytest.mark.parametrize(
    ("anchors", "is_settled"),
    [
        ([(0, 2000, 0), (0, 2030, 30), (1, 3000, 0)], 1),
        ([(0, 2000, 0), (0, 2033, 30), (0, 2063, 60)], 1),  # an indel
        ([(0, 2000, 0), (0, 2030, 30), (0, 2040, 0), (0, 2070, 30)], 0),  # two copies of a tandem repeat
        ([(0, 2000, 0), (0, 2030, 0)], 0),
    ],
)
def test_a_read_is_settled_where_no_chain_may_hide_a_place(anchors, is_settled):
    batch, p = read_batch(["A" * LENGTH]), ChainParameters()
    hits = hits_of([anchors])._replace(settled=np.ones(1, np.uint8))
    for chains in (chain_hits(batch, hits, CONTIGS, SeedParameters(), p), on_card(batch, hits, p)):
        assert chains.settled.tolist() == [is_settled]


@pytest.mark.cards
@settings(max_examples=30)
@given(st.lists(anchor_lists, max_size=30), st.sampled_from([2, 64]))
def test_cuda_gives_the_same_bytes(reads, max_chains):
    assert_same_on_card(reads, ChainParameters(max_chains=max_chains, drop=0.3))


@pytest.mark.cards
@pytest.mark.parametrize("max_chains", [1, 31, 32, 33, 64, 100])
def test_cuda_keeps_the_best_of_many_chains(max_chains):
    """Far places with one to four anchors, many of them alike: more than a warp has threads, in any order of scores."""
    rng = np.random.default_rng(max_chains)
    reads = [
        [
            anchor
            for k in range(number)
            for anchor in place(10_000 * k, range(0, 40 * int(rng.integers(1, 5)), 40), k % 2)
        ]
        for number in (1, 32, 33, 65, 130)
    ]
    chains = assert_same_on_card(reads, ChainParameters(max_chains=max_chains, drop=0.0))
    assert np.diff(chains.chain_offsets).tolist() == [min(max_chains, number) for number in (1, 32, 33, 65, 130)]


@pytest.mark.cards
def test_cuda_links_as_far_back():
    """A link skips more anchors than a warp has threads, and cannot skip more than LOOKBACK."""
    near = place(2000, [0, 10]) + [(0, 2011, q) for q in range(60, 100)] + place(2003, [90, 120])
    far = place(2000, [0]) + [(0, 2011, q) for q in range(50, 120)] + place(2001, [121])
    chains = assert_same_on_card([near, far], ChainParameters(drop=0.0))
    assert rows_of(chains, 0)[0] == (50 + 20 - 3, 0, 2000, 2143, 0, 140)
    assert rows_of(chains, 1)[0] == (20 + (11 - 8) + (20 - 8), 0, 2000, 2142, 0, 141)  # a direct link would make 37


@pytest.mark.cards
def test_cuda_takes_the_bytes_it_says():
    from readwarp.align.chain import cuda

    reads = [place(2000, [0, 40]) + place(9000, [0, 40], strand=1), [], place(3000, [7])]
    backend, batch, hits = Backend("cuda", (0,)), read_batch(["A" * LENGTH] * 3), hits_of(reads)
    with planned(1 << 20) as workspace, workspace.frame():
        there, hits = backend.to_device(batch, "bases", "read_offsets"), backend.to_device(hits)
        borders = workspace.upload(CONTIGS)
        before = workspace.high_water
        chains = cuda.chain_hits(there, hits, borders, SeedParameters(), ChainParameters())
        assert chains.score.size == 3
        most = cuda.kept_bytes(3, 3) + cuda.device_bytes(3, 5)
        assert workspace.high_water - before == most
