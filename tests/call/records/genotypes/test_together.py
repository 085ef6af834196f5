"""Several samples: QUAL and the prior of genotypes compared with plain Python that tries everything."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making_sites import call_sites, from_bases, substitutions
from readwarp.call.records.genotypes.genotype import REFERENCES, add_priors, mark_alleles
from readwarp.call.records.genotypes.order import genotypes_of, tables_for
from readwarp.call.records.genotypes.quality import find_qualities
from readwarp.call.records.genotypes.score import GenotypeScores, KeptAlleles, score_genotypes
from readwarp.ragged import offsets_of

SNV, INDEL = 1e-3, 1.25e-4
THETA = SNV / 3  # of each of the three other bases
READS = st.lists(st.tuples(st.sampled_from("AAACG."), st.integers(0, 2)), min_size=1, max_size=20)


def scored(reads, ploidies: list[int], quality: int):
    """Scores of one site with alleles A, C and G."""
    bases, samples = "".join(base for base, _ in reads), [sample for _, sample in reads]
    sites, likelihoods = substitutions((3, "ACG")), from_bases([bases], ["ACG"], [samples], quality)
    ploidy = np.array([ploidies], np.int8)
    tables = tables_for(ploidy, np.array([[3]]))
    offsets = offsets_of(tables.size[ploidy, 3])
    scores = GenotypeScores(ploidy, offsets, np.zeros(offsets[-1]), np.zeros(ploidy.shape, np.int32))
    score_genotypes(sites, likelihoods, np.empty(0), tables, scores)
    return sites, tables, scores


def by_copies(values, ploidy: int, theta: float) -> list[float]:
    """P(D | k copies of ALT alleles) of one sample."""
    out = [0.0] * (ploidy + 1)
    for genotype, value in zip(genotypes_of(3, ploidy), values, strict=True):
        others = [a for a in genotype if a]
        out[len(others)] += 10.0**value * theta ** max(0, len(set(others)) - 1)
    return out


@settings(max_examples=60)
@given(READS, st.lists(st.integers(0, 3), min_size=3, max_size=3), st.sampled_from([10, 37]))
def test_quality_equals_all_ways(reads, ploidies, quality):
    sites, tables, scores = scored(reads, ploidies, quality)
    choice = KeptAlleles(mark_alleles(sites), np.array([True, True, True]), np.zeros(1))
    find_qualities(sites, scores, tables, SNV, INDEL, choice)
    parts = [
        (by_copies(scores.values[scores.offsets[s] : scores.offsets[s + 1]], ploidies[s], THETA), ploidies[s])
        for s in range(3)
        if scores.depth[0, s] and ploidies[s]
    ]
    total = sum(ploidy for _, ploidy in parts)
    none = 1 - THETA * sum(1 / k for k in range(1, total + 1))
    some = 0.0
    for ways in itertools.product(*(range(ploidy + 1) for _, ploidy in parts)):
        own = math.prod(math.comb(p, k) * rows[k] for (rows, p), k in zip(parts, ways, strict=True))
        if sum(ways):
            some += THETA / sum(ways) / math.comb(total, sum(ways)) * own
        else:
            none *= own
    expected = 10 * math.log10(1 + some / none) if parts else 0.0
    assert choice.quality[0] == pytest.approx(expected, abs=1e-6)


@settings(max_examples=60)
@given(READS, st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_prior_is_that_of_the_samples_frequencies(reads, ploidies):
    """In equilibrium, with the frequencies that the copies expected of the samples, and the prior's, have."""
    sites, tables, scores = scored(reads, ploidies, 30)
    values = scores.values.copy()
    add_priors(sites, scores, tables, SNV, INDEL, values)
    copies, found = np.array([REFERENCES, THETA, THETA]), None
    for s, ploidy in enumerate(ploidies):
        own = slice(scores.offsets[s], scores.offsets[s + 1])
        if ploidy == 0:
            continue
        genotypes, prior = genotypes_of(3, ploidy), 10.0 ** (values[own] - scores.values[own])
        frequency = np.array([prior[genotypes.index((a,) * ploidy)] ** (1 / ploidy) for a in range(3)])
        found = frequency if found is None else found
        assert np.allclose(found, frequency)
        for genotype, share in zip(genotypes, prior, strict=True):
            counts = [genotype.count(a) for a in range(3)]
            ways = math.factorial(ploidy) / math.prod(map(math.factorial, counts))
            assert share == pytest.approx(ways * math.prod(f**n for f, n in zip(frequency, counts, strict=True)))
        if scores.depth[0, s]:
            posterior = 10.0 ** (values[own] - values[own].max())
            posterior /= posterior.sum()
            copies += [sum(p * g.count(a) for p, g in zip(posterior, genotypes, strict=True)) for a in range(3)]
    if found is not None:
        assert found.sum() == pytest.approx(1)
        assert np.allclose(found, copies / copies.sum(), atol=2e-3)


def test_samples_share_their_evidence():
    """A read in each of six samples: alone each of them would be homozygous; together they are what is likely."""
    bases, samples = "C" * 6 + "A" * 20, [*range(6), *range(6, 26)]
    calls = call_sites(substitutions((3, "AC")), from_bases([bases], ["AC"], [samples]), samples=30)
    assert calls.genotype[0] == ((0, 1),) * 6 + ((0, 0),) * 20 + ((-1, -1),) * 4
    assert calls.quality[0] > 60
    assert [row[2] for row in calls.likelihoods[0][:6]] == [0] * 6  # PL are those of the reads alone


def test_deep_samples_have_no_ceiling():
    calls = call_sites(substitutions((3, "AC")), from_bases(["C" * 4000], ["AC"], [[0, 1] * 2000]), samples=2)
    assert calls.quality[0] > 30 * 4000 and calls.genotype[0] == ((1, 1), (1, 1))


def test_one_error_in_many_samples_is_none():
    bases, samples = "C" + "A" * 600, [0, *range(60)] + [*range(60)] * 9
    calls = call_sites(substitutions((3, "AC")), from_bases([bases], ["AC"], [samples]), samples=60)
    assert len(calls) == 0
