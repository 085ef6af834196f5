"""Which haplotypes of a mixture explain its reads, whatever their fractions: against slow loops in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from readwarp.call.likelihoods.alleles import INDEL_COST, MAX_VARIANTS, SNV_COST
from readwarp.call.likelihoods.alleles.select import ALIVE, ROUNDS, TINY, fit_fractions, mix

ENOUGH = 0.01  # log10: a gain of a round that is the last one
WORST = 10.0**-4.5  # P(read | haplotype) over that of its best, at least


def slow_fit(linear, is_in, share) -> tuple[float, list[float]]:
    """(log10 of the likelihood, fractions), by expectation and maximisation from the given fractions on."""
    last = -math.inf
    for _ in range(ROUNDS):
        sums = [TINY + sum(f * p for f, p in zip(share, row, strict=True)) for row in linear]
        parts = [
            [f * p / total for f, p in zip(share, row, strict=True)] for row, total in zip(linear, sums, strict=True)
        ]
        share = [
            sum(own) / len(linear) if keep else 0.0 for own, keep in zip(zip(*parts, strict=True), is_in, strict=True)
        ]
        score = math.fsum(map(math.log10, sums))
        if score - last < ENOUGH:
            break
        last = score
    return score, share


def slow_mix(linear, variants) -> tuple[set[int], float]:
    """(haplotypes that stay, by how little a decision was made). variants: cost by name, of each haplotype."""
    number = len(variants)
    is_in, share, margin = [True] * number, [1 / number] * number, math.inf

    def price():
        shown = {name: cost for own, keep in zip(variants, is_in, strict=True) if keep for name, cost in own.items()}
        return sum(shown.values()) + sum(is_in)

    fit, share = slow_fit(linear, is_in, share)
    best, first = fit - price(), share
    for least in sorted(range(1, number), key=lambda h: (first[h], -sum(variants[h].values()), -h)):
        is_in[least] = False
        before, left = share, [0.0 if h == least else f for h, f in enumerate(share)]
        rest = sum(left)
        left = [(f / rest if rest > 0 else 0.0) + (ALIVE if keep else 0.0) for f, keep in zip(left, is_in, strict=True)]
        fit, share = slow_fit(linear, is_in, left)
        score = fit - price()
        margin = min(margin, abs(score - best))
        if score >= best:
            best = score
        else:
            is_in[least], share = True, before
    return {h for h in range(number) if is_in[h]}, margin


def fast_mix(linear, variants) -> set[int]:
    names = sorted({name for own in variants for name in own})
    costs, masks = np.zeros(MAX_VARIANTS), np.zeros(len(variants), np.uint64)
    for bit, name in enumerate(names):
        for h, own in enumerate(variants):
            if name in own:
                masks[h] |= np.uint64(1 << bit)
                costs[bit] = own[name]
    table, stays = np.array(linear, np.float64), np.zeros(len(variants), bool)
    stays[0] = True
    mix(table, masks, costs, stays, np.empty(len(table)), np.empty((max(3, len(variants)), len(variants))))
    return set(np.flatnonzero(stays).tolist())


@settings(max_examples=60)
@given(st.data())
def test_equals_plain_python(data):
    number, reads = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 40))
    cost = {"a": SNV_COST, "b": SNV_COST, "c": INDEL_COST}
    names = st.sets(st.sampled_from("abc"))
    variants = [{}, *({name: cost[name] for name in data.draw(names)} for _ in range(number - 1))]
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    linear = (
        10.0 ** rng.uniform(-4.5, 0, (reads, number))
        if rng.uniform() < 0.5
        else 10.0 ** -rng.integers(0, 5, (reads, number))
    )
    linear = linear / linear.max(axis=1, keepdims=True)
    expected, margin = slow_mix(linear.tolist(), variants)
    assume(margin > 1e-6)
    assert fast_mix(linear, variants) == expected


def table(*groups: tuple[int, set[int]], haplotypes: int) -> list[list[float]]:
    """(reads, the haplotypes that they fit)"""
    return [[1.0 if h in fits else WORST for h in range(haplotypes)] for reads, fits in groups for _ in range(reads)]


A, B, GAP = {"a": SNV_COST}, {"b": SNV_COST}, {"gap": INDEL_COST}


@pytest.mark.parametrize(
    "what, reads, variants, expected",
    [
        ("two of a hundred reads", table((98, {0}), (2, {1}), haplotypes=2), [{}, A], {0, 1}),
        ("no reads of their own", table((98, {0}), (5, {1}), haplotypes=3), [{}, A, B], {0, 1}),
        ("none but the reference's", table((98, {0}), haplotypes=3), [{}, A, GAP], {0}),
        ("reads that fit both", table((50, {0, 1}), haplotypes=2), [{}, A], {0}),
        (
            "two spellings of the same bases, of which one has more variants",
            table((90, {0}), (10, {1, 2}), haplotypes=3),
            [{}, {"a": SNV_COST, "b": SNV_COST}, GAP],
            {0, 2},
        ),
        (
            "a crossing of two others, which its few reads fit as well",
            table((60, {0}), (20, {1}), (20, {2}), haplotypes=4),
            [{}, A, B, A | B],
            {0, 1, 2},
        ),
        (
            "five at once, more than copies of a genome could be",
            table((60, {0}), (10, {1}), (10, {2}), (5, {3}), (15, {4}), haplotypes=5),
            [{}, A, B, GAP, A | B],
            {0, 1, 2, 3, 4},
        ),
        ("without the reference", table((30, {1}), (30, {2}), haplotypes=3), [{}, A, B], {0, 1, 2}),
    ],
)
def test_haplotypes_that_explain_reads_stay(what, reads, variants, expected):
    assert fast_mix(reads, variants) == expected == slow_mix(reads, variants)[0], what


def test_one_read_of_a_hundred_does_not_pay_for_a_variant():
    assert fast_mix([[1.0, 0.01]] * 99 + [[0.01, 1.0]], [{}, A]) == {0}


def test_fractions_of_the_greatest_likelihood():
    linear = np.array(table((700, {0}), (250, {1}), (50, {2}), haplotypes=3))
    share, is_in = np.full(3, 1 / 3), np.ones(3, bool)
    fit = fit_fractions(linear, is_in, share, np.empty(3), np.empty(1000))
    slow, expected = slow_fit(linear.tolist(), [True] * 3, [1 / 3] * 3)
    assert fit == pytest.approx(slow, rel=1e-9) and share == pytest.approx(expected, rel=1e-9)
    assert share == pytest.approx([0.7, 0.25, 0.05], abs=1e-3)
