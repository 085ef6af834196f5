"""What an allele's reads say of its fraction, against slow loops in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making_sites import made_likelihoods, made_sites
from readwarp.somatic.fractions import LEAST
from readwarp.somatic.fractions.contrasts import (
    ENOUGH,
    HALF,
    NONE,
    ROUNDS,
    STEP,
    TRACE,
    WHOLE,
    contrast,
    fit_shares,
    nodes_of,
)

SAMPLES = 2


def slow_shares(rows: list[list[float]], alleles: int) -> list[float]:
    """Expectation and maximisation."""
    share = [1 / alleles] * alleles
    for _ in range(ROUNDS if rows else 0):
        fresh = [0.0] * alleles
        for row in rows:
            total = sum(f * p for f, p in zip(share, row, strict=True))
            for a in range(alleles):
                fresh[a] += share[a] * row[a] / total
        fresh = [x / len(rows) for x in fresh]
        change, share = max(abs(x - y) for x, y in zip(fresh, share, strict=True)), fresh
        if change < ENOUGH:
            break
    return share


def slow_rows(table, shown, sides, damage) -> list[list[float]]:
    """P(read | allele) over that of its best, with damage; of reads that say something. damage: [allele][side]."""
    rows = []
    for values, allele, side in zip(table, shown, sides, strict=True):
        if allele == -2:
            continue
        row = [max(LEAST, 10.0 ** (value - max(values))) for value in values]
        row[0] = min(1.0, row[0] + sum(own[side] * p for own, p in zip(damage, row, strict=True)))
        rows.append(row)
    return rows


def slow_others(row, share, allele) -> float:
    """Q: of the other alleles by their fractions, with a trace of the reference's."""
    trace = TRACE if allele else 0.0
    weights = [f for a, f in enumerate(share) if a != allele]
    values = [p for a, p in enumerate(row) if a != allele]
    total = trace * row[0] + sum(f * p for f, p in zip(weights, values, strict=True))
    return max(LEAST, total / max(1 - share[allele] + trace, TRACE))


@st.composite
def made(draw):
    """(sites, tables, what reads show, samples, sides, damage)"""
    number = draw(st.integers(0, 3))
    places, tables, shown, samples = [], [], [], []
    for site in range(number):
        alleles = draw(st.integers(2, 4))
        places.append((10 * site + 5, [(1, letter) for letter in "ACGT"[:alleles]]))
        reads = draw(st.integers(0, 12))
        values = st.sampled_from([0.0, -1e-4, -0.5, -3.5, -9.0, -30.0])
        tables.append(
            draw(st.lists(st.lists(values, min_size=alleles, max_size=alleles), min_size=reads, max_size=reads))
        )
        shown.append(draw(st.lists(st.integers(-2, alleles - 1), min_size=reads, max_size=reads)))
        samples.append(draw(st.lists(st.integers(0, SAMPLES - 1), min_size=reads, max_size=reads)))
    rates = st.sampled_from([0.0, 1e-5, 0.01, 0.9])
    pairs, alleles = sum(map(len, tables)), sum(len(own) for _, own in places)
    sides = draw(st.lists(st.integers(0, 1), min_size=pairs, max_size=pairs))
    damage = np.array(draw(st.lists(rates, min_size=alleles * SAMPLES * 2, max_size=alleles * SAMPLES * 2)))
    damage = damage.reshape(alleles, SAMPLES, 2)
    first = np.cumsum([0, *(len(own) for _, own in places)])[:-1]
    damage[first] = 0.0
    return places, tables, shown, samples, sides, damage


@settings(max_examples=60)
@given(made())
def test_equals_plain_python(given_):
    places, tables, shown, samples, sides, damage = given_
    sites = made_sites(places)
    likelihoods = made_likelihoods(tables, shown, sample=samples)
    items, found = contrast(sites, likelihoods, np.array(sides, np.uint8), damage, SAMPLES)
    assert items.allele.tolist() == [a for a in range(sites.deleted.size) for _ in range(SAMPLES)]
    assert items.sample.tolist() == list(range(SAMPLES)) * sites.deleted.size
    item, pair = 0, 0
    for site, (_, own) in enumerate(places):
        first, by_sample = int(sites.allele_offsets[site]), []
        number = len(tables[site])
        of_site = slice(pair, pair + number)
        for s in range(SAMPLES):
            picked = [i for i in range(number) if samples[site][i] == s]
            columns = ([column[i] for i in picked] for column in (tables[site], shown[site], sides[of_site]))
            rows = slow_rows(*columns, damage[first : first + len(own), s].tolist())
            by_sample.append((rows, slow_shares(rows, len(own))))
        for a in range(len(own)):
            for rows, share in by_sample:
                assert items.depth[item] == len(rows)
                assert items.share[item] == pytest.approx(share[a] if rows else 0.0, rel=1e-9, abs=1e-15)
                reads = slice(*found.read_offsets[item : item + 2])
                others = [slow_others(row, share, a) for row in rows]
                assert found.others[reads].tolist() == pytest.approx(others, rel=1e-6)
                assert (found.gain + found.others)[reads].tolist() == pytest.approx([row[a] for row in rows], rel=1e-3)
                assert (found.others[reads] >= LEAST).all()
                item += 1
        pair += number
    assert item == len(items.share) == found.read_offsets.size - 1


@pytest.mark.parametrize("shown, expected", [((50, 50), 0.5), ((97, 3), 0.03), ((100, 0), 0.0), ((0, 100), 1.0)])
def test_certain_reads_are_counted(shown, expected):
    linear = np.array([[1.0, LEAST]] * shown[0] + [[LEAST, 1.0]] * shown[1])
    share, fresh = np.empty((2, 2))
    fit_shares(linear, share, fresh)
    assert share == pytest.approx([1 - expected, expected], abs=1e-12)


def test_uncertain_reads_have_the_likeliest_fraction():
    """Of one in a thousand, by brute force."""
    rng = np.random.default_rng(1)
    linear = np.concatenate(([[1.0, 0.05]] * 60, [[0.1, 1.0]] * 10, rng.uniform(0.2, 1, (30, 2))))
    share, fresh = np.empty((2, 2))
    fit_shares(linear, share, fresh)
    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmax(np.log(np.outer(linear[:, 0], 1 - grid) + np.outer(linear[:, 1], grid)).sum(axis=0))]
    assert share[1] == pytest.approx(best, abs=2e-3)


def test_without_reads_there_are_no_fractions():
    items, found = contrast(
        made_sites([(5, [(1, "A"), (1, "C"), (1, "G")])]),
        made_likelihoods([[]], [[]], sample=[[]]),
        np.empty(0, np.uint8),
        np.zeros((3, 1, 2)),
        1,
    )
    assert items.share.tolist() == [0.0] * 3 and items.depth.tolist() == [0] * 3
    assert found.read_offsets.tolist() == [0] * 4 and np.diff(found.node_offsets).tolist() == [STEP] * 3


@pytest.mark.parametrize("side", [0, 1])
def test_damage_explains_reads_of_its_orientation_alone(side):
    """d of the other base, whose reads are F1R2; of reads that are F2R1 nothing is explained."""
    e = 1e-3
    likelihoods = made_likelihoods([[[math.log10(e / 3), math.log10(1 - e)]]], [[1]])
    damage = np.array([[[0.0, 0.0]], [[0.02, 0.0]]])
    _, found = contrast(made_sites([(5, [(1, "C"), (1, "T")])]), likelihoods, np.array([side], np.uint8), damage, 1)
    p = e / 3 / (1 - e)
    assert found.others[1] == pytest.approx(p + (0.02 if side == 0 else 0.0))


@pytest.mark.parametrize("depth", [0, 1, 100, 374, 375, 20_000])
def test_nodes_are_as_near_as_the_likelihood_is_wide(depth):
    columns = nodes_of(np.array([depth, 3]))
    nodes = columns["fraction"][: columns["node_offsets"][1]]
    between = nodes[1 : len(nodes) + HALF]
    assert nodes.size % STEP == 0
    assert (nodes[NONE], nodes[HALF], nodes[WHOLE]) == (0.0, 0.5, 1.0)
    steps = np.diff(np.arcsin(np.sqrt(between)))
    assert np.allclose(steps, math.pi / 2 / between.size)
    assert steps.max() <= 1 / (2 * math.sqrt(max(1, depth))) + 1e-12
    assert np.allclose(between + between[::-1], 1.0)
