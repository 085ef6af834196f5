"""Sites in phase: what reads link, what they do not, and what is repaired."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.call.likelihoods.phase.join import margin_of, phase_sites
from readwarp.call.likelihoods.phase.links import Links, Phasing, join_links, no_links
from readwarp.ragged import check, offsets_of

odds = st.floats(-30, 30)


def links_of(rows: list[tuple[int, list[tuple[int, float]]]], sample: int = 0) -> Links:
    """(position, [(read, log odds of ALT)])"""
    n = len(rows)
    return Links(
        position=np.array([position for position, _ in rows], np.int64),
        sample=np.full(n, sample, np.uint16),
        reference=np.zeros(n, np.uint8),
        alternate=np.ones(n, np.uint8),
        change=np.zeros(n, np.int64),
        stop=np.array([position + 1 for position, _ in rows], np.int64),
        pair_offsets=offsets_of([len(pairs) for _, pairs in rows]),
        name_hash=np.array([read for _, pairs in rows for read, _ in pairs], np.uint64),
        odds=np.array([value for _, pairs in rows for _, value in pairs], np.float64),
    )


def simulate(seed: int, sites: int, span: int, errors: float) -> tuple[list[int], dict[int, int], Links]:
    """The side of each site's ALT allele, the haplotype of each read, and links; reads have `span` sites each."""
    rng = random.Random(seed)
    sides, pairs, of_reads = [rng.choice((1, -1)) for _ in range(sites)], [[] for _ in range(sites)], {}
    for read in range(16 * sites // span):
        start, haplotype = rng.randrange(1 - span // 2, sites - span // 2), rng.choice((1, -1))
        of_reads[read] = haplotype
        for site in range(max(0, start), min(sites, start + span)):
            value = rng.choice((1.0, 2.0, 3.0)) * sides[site] * haplotype
            pairs[site].append((read, -value if rng.random() < errors else value))
    return sides, of_reads, links_of([(100 * site, own) for site, own in enumerate(pairs)])


def sides_of(phasing: Phasing, number: int) -> list[int]:
    """Of each site of `simulate`, the first one's on the first haplotype; 0 where it is left out."""
    out = [0] * number
    for position, side in zip(phasing.position.tolist(), phasing.side.tolist(), strict=True):
        out[position // 100] = side
    return out


@given(odds, odds)
def test_margin(one, other):
    said = math.log10((10**one * 10**other + 1) / (10**one + 10**other))
    assert margin_of(one, other) == pytest.approx(said, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_haplotypes_are_found(seed):
    sides, of_reads, links = simulate(seed, sites=60, span=9, errors=0.05)
    phasing = phase_sites(links)
    check(phasing)
    found = sides_of(phasing, 60)
    assert found.count(0) <= 1 and set(phasing.phase_set.tolist()) == {0}
    inner = slice(4, -4)  # few reads reach the ends
    same = [one == other for one, other in zip(found[inner], sides[inner], strict=True) if one]
    assert all(same) or not any(same)
    turn = 1 if all(same) else -1
    sure = [read for read, own in zip(phasing.name_hash.tolist(), phasing.odds.tolist(), strict=True) if abs(own) > 2]
    assert len(sure) > 0.8 * len(of_reads)
    for read, own in zip(phasing.name_hash.tolist(), phasing.odds.tolist(), strict=True):
        assert abs(own) <= 2 or (own > 0) == (of_reads[read] * turn > 0)


def test_a_gap_between_reads_begins_a_new_set():
    first, second = (list(zip(range(n, n + 6), [3.0, -3.0] * 3, strict=True)) for n in (0, 10))
    phasing = phase_sites(links_of([(100, first), (200, first), (900, second), (950, second)]))
    assert phasing.side.tolist() == [1, 1, 1, 1]
    assert phasing.phase_set.tolist() == [100] * 6 + [900] * 6
    assert phasing.odds.tolist() == [6.0, -6.0] * 6


def test_a_site_on_both_sides_is_left_out():
    good = list(zip(range(8), [3.0, -3.0] * 4, strict=True))
    noise = list(zip(range(8), [3.0, 3.0, -3.0, -3.0] * 2, strict=True))
    phasing = phase_sites(links_of([(100, good), (200, noise), (300, good)]))
    assert phasing.position.tolist() == [100, 300] and phasing.side.tolist() == [1, 1]
    assert phasing.odds.tolist() == [6.0, -6.0] * 4


def test_a_wrong_link_is_turned():
    """Two short reads link the third site wrongly, before many long ones say how its successors lie."""
    short, long = [(0, 3.0), (1, -3.0)], [(read, 3.0 if read % 2 else -3.0) for read in range(10, 20)]
    wrong = [(0, -3.0), (1, 3.0), (2, 3.0), (3, -3.0)]
    after = [(2, 3.0), (3, -3.0)]
    rows = [(100, [*short, *long]), (200, wrong), (300, after), (400, [*after, *[(r, -v) for r, v in long]])]
    phasing = phase_sites(links_of(rows))
    found = dict(zip(phasing.position.tolist(), phasing.side.tolist(), strict=True))
    assert found[100] == 1 and found[400] == -1
    assert found.get(300, -1) == -1


def sets_apart(*across: int) -> Links:
    """Two sets of six reads each; the reads `across` are of both, but say nothing where the second one begins."""
    first, second = (list(zip(range(n, n + 6), [3.0, -3.0] * 3, strict=True)) for n in (0, 10))
    silent, late = [(read, 0.0) for read in across], [(read, -3.0 if read % 2 else 3.0) for read in across]
    return links_of([(100, first), (200, first), (900, [*second, *silent]), (950, [*second, *late])])


def test_sets_are_joined_by_more_than_one_read():
    assert set(phase_sites(sets_apart(0)).phase_set.tolist()) == {100, 900}
    joined = phase_sites(sets_apart(0, 1))
    assert set(joined.phase_set.tolist()) == {100} and joined.side.tolist() == [1, 1, 1, 1]
    assert dict(zip(joined.name_hash.tolist(), joined.odds.tolist(), strict=True)) == {
        read: (9.0 if read in (0, 1) else 6.0) * (-1 if read % 2 else 1) for read in (*range(6), *range(10, 16))
    }


def test_a_read_of_two_sets_does_not_turn_one():
    """Its many sites on either side outweigh the short reads at two sites, but say nothing of how these lie."""
    left = [(100 * n, [(0, 3.0), (1, 3.0), (2, -3.0), (99, 3.0)]) for n in range(1, 9)]
    short = [(read, 2.0 if read % 2 else -2.0) for read in range(10, 16)]
    links = [(read, 2.0 if read % 2 else -2.0) for read in range(20, 24)]
    right = [(2000 + 100 * n, [*links, (99, -3.0)]) for n in range(9)]
    phasing = phase_sites(links_of([*left, (1000, [*short, (99, 0.0)]), (1100, [*short, *links, (99, 0.0)]), *right]))
    assert set(phasing.side.tolist()) == {1} and len(phasing.side) == 19


def test_samples_are_apart():
    both = join_links([links_of([(100, [(1, 3.0), (2, -3.0)]), (200, [(1, 3.0), (2, -3.0)])], s) for s in (1, 0)])
    assert both.sample.tolist() == [0, 1, 0, 1]
    phasing = phase_sites(both)
    check(phasing)
    assert phasing.read_sample.tolist() == [0, 0, 1, 1] and phasing.name_hash.tolist() == [1, 2, 1, 2]
    assert sorted(phasing.position.tolist()) == [100, 100, 200, 200]


def test_nothing_to_phase():
    phasing = phase_sites(no_links())
    check(phasing)
    assert phasing.position.size == phasing.name_hash.size == 0
