"""Annotations over samples and alleles, against sums over all ways by hand."""

from collections import Counter
from itertools import combinations, pairwise
from math import log10

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.call.records.genotypes.calls import (
    allele_qualities_by_depth,
    excess_heterozygosity,
    inbreeding_coefficient,
    phred_of_excess,
)
from readwarp.call.records.genotypes.emitted import Emitted, allocate
from readwarp.call.records.genotypes.order import genotypes_of, tables_for


def record(genotypes, alleles: int = 2, phred=None, depth: int = 10) -> Emitted:
    """One record; a genotype is a tuple, of -1 where it is unknown."""
    ploidy = np.array([[len(genotype) for genotype in genotypes]], np.int8)
    out = allocate(
        np.zeros(1, np.int64),
        np.array([alleles]),
        np.arange(alleles),
        ploidy,
        tables_for(ploidy, np.array([[alleles]])),
    )
    for s, genotype in enumerate(genotypes):
        out.genotype[0, s, : len(genotype)] = genotype
    out.depth[:] = depth
    if phred is not None:
        out.phred[:] = phred
    return out


def excess_by_hand(none: int, one: int, both: int) -> float:
    """All ways to pair the copies of the alleles."""
    copies = [0] * (2 * none + one) + [1] * (2 * both + one)
    counts = Counter[int]()
    for marked in combinations(range(len(copies)), sum(copies)):
        has = [i in marked for i in range(len(copies))]
        counts[sum(a != b for a, b in zip(has[::2], has[1::2], strict=True))] += 1
    total = sum(counts.values())
    return -10 * log10((sum(n for h, n in counts.items() if h > one) + 0.5 * counts[one]) / total)


@pytest.mark.parametrize("counts", [(2, 0, 0), (1, 1, 0), (0, 4, 0), (2, 3, 1), (4, 0, 2), (0, 6, 0), (3, 2, 2)])
def test_excess_of_heterozygous_samples(counts):
    assert phred_of_excess(*counts) == pytest.approx(excess_by_hand(*counts), abs=1e-6)


def test_excess_of_many_samples():
    assert phred_of_excess(0, 1000, 0) > 1000 and phred_of_excess(250, 500, 250) == pytest.approx(3.0, abs=0.2)
    assert phred_of_excess(500, 0, 500) == pytest.approx(0, abs=1e-9)


def test_columns_of_genotypes():
    samples = [(0, 1)] * 6 + [(0, 0)] * 2 + [(1, 2)] * 2 + [(-1, -1), (1,), (0, 0, 1)]
    out = record(samples, alleles=3)
    assert excess_heterozygosity(out)[0] == pytest.approx(phred_of_excess(2, 6, 2))
    assert inbreeding_coefficient(out)[0] == pytest.approx(1 - 6 / (2 * 0.5 * 0.5 * 10))
    assert np.isnan(inbreeding_coefficient(record(samples[:9]))[0])
    assert np.isnan(excess_heterozygosity(record([(0, 1)]))[0])
    assert np.isnan(excess_heterozygosity(record([(1,), (0,)]))[0])


@settings(max_examples=50)
@given(st.data())
def test_quality_of_each_allele(data):
    theta, alleles, samples, phred = 1e-3, 3, [], []
    for _ in range(data.draw(st.integers(1, 3))):
        ploidy = data.draw(st.integers(1, 2))
        table = genotypes_of(alleles, ploidy)
        own = data.draw(st.lists(st.integers(0, 90), min_size=len(table), max_size=len(table)))
        samples.append(table[own.index(min(own))])
        phred += [x - min(own) for x in own]
    out = record(samples, alleles, phred)
    (found,) = allele_qualities_by_depth(out, np.array([1.0]), theta)
    for allele in (1, 2):
        total, carriers = 0.0, sum(allele in genotype for genotype in samples)
        for genotype, (first, last) in zip(samples, pairwise(out.phred_offsets.tolist()), strict=True):
            table, own = genotypes_of(alleles, len(genotype)), phred[first:last]
            if not any(own):
                continue
            weights = [
                10 ** (-x / 10)
                * (
                    theta ** len({a for a in g if a}) / sum(a > 0 for a in g)
                    if any(g)
                    else 1 - theta * sum(1 / k for k in range(1, len(g) + 1))
                )
                for g, x in zip(table, own, strict=True)
            ]
            rest = sum(w for g, w in zip(table, weights, strict=True) if allele not in g)
            total -= 10 * log10(rest / sum(weights))
        expected = round(total / (10 * carriers), 2) if carriers else 0.0
        assert found[allele - 1] == pytest.approx(expected, abs=0.011)


def test_one_other_allele_has_qd():
    (found,) = allele_qualities_by_depth(record([(0, 1)]), np.array([12.34]), 1e-3)
    assert found == (12.34,)
