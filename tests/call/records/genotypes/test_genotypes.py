"""Genotype likelihoods, priors and Phreds compared with plain Python, and whether the fields of a call agree."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making_sites import call_sites, from_bases, made_likelihoods, substitutions
from helpers.vcf_checks import genotype_quality
from readwarp.call.likelihoods.evidence import NOTHING
from readwarp.call.records.genotypes.annotations import ANNOTATIONS, BY_ALLELE, fisher_phred
from readwarp.call.records.genotypes.filters import FILTERS
from readwarp.call.records.genotypes.order import genotypes_of
from readwarp.call.records.genotypes.quality import indel_prior
from readwarp.call.records.genotypes.score import MAX_GENOTYPE_QUALITY, genotype_phred
from readwarp.config import CallParameters


def call(bases: str, alleles: str, ploidy: int = 2):
    return call_sites(substitutions((3, alleles)), from_bases([bases], [alleles]), ploidy=ploidy)


def oracle_scores(table, alleles: int, ploidy: int) -> list[float]:
    out = []
    for genotype in sorted(combinations_with_replacement(range(alleles), ploidy), key=lambda g: g[::-1]):
        out.append(sum(math.log10(math.fsum(10 ** row[a] for a in genotype) / ploidy) for row in table))
    return out


@settings(max_examples=80)
@given(
    st.integers(2, 4),
    st.integers(1, 4),
    st.lists(st.lists(st.floats(-8, 0), min_size=4, max_size=4), min_size=1, max_size=30),
)
def test_equals_plain_python(alleles, ploidy, rows):
    table = [row[:alleles] for row in rows]
    expected = oracle_scores(table, alleles, ploidy)
    exact = [10 * (max(expected) - score) for score in expected]
    if any(abs(x % 1 - 0.5) < 1e-6 for x in exact):  # rounds either way
        return
    phred = [math.floor(x + 0.5) for x in exact]
    genotype = genotypes_of(alleles, ploidy)[phred.index(0)]
    sites = substitutions((0, "ACGT"[:alleles]))
    shown = [int(np.argmax(row)) for row in table]
    calls = call_sites(sites, made_likelihoods([table], [shown]), ploidy=ploidy)
    if not any(genotype):
        assert len(calls) == 0
        return
    kept = [0, *sorted(set(genotype) - {0})]
    assert calls.alleles[0] == tuple("ACGT"[a] for a in kept)
    of = dict(zip(genotypes_of(alleles, ploidy), exact, strict=True))
    best = min(of[tuple(kept[a] for a in g)] for g in genotypes_of(len(kept), ploidy))  # > 0: a tie, as PLs are rounded
    own = [math.floor(of[tuple(kept[a] for a in g)] - best + 0.5) for g in genotypes_of(len(kept), ploidy)]
    assert calls.genotype[0] == (genotypes_of(len(kept), ploidy)[own.index(0)],)
    assert np.allclose(calls.likelihoods[0][0], own, atol=1 if best else 0)


def test_order_of_genotypes_is_that_of_the_specification():
    """Index of genotype (a, b) is b (b + 1) / 2 + a."""
    for index, (a, b) in enumerate(genotypes_of(5, 2)):
        assert index == b * (b + 1) // 2 + a
    assert genotypes_of(2, 3) == ((0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1))


@pytest.mark.parametrize(
    ("bases", "ploidy", "genotype"),
    [
        ("A" * 20 + "G" * 20, 2, (0, 1)),
        ("G" * 20, 2, (1, 1)),
        ("G" * 20, 1, (1,)),
        ("A" * 5 + "G" * 15, 4, (0, 1, 1, 1)),
    ],
)
def test_genotypes(bases, ploidy, genotype):
    assert call(bases, "AG", ploidy).genotype == [(genotype,)]


@pytest.mark.parametrize("bases", ["", "A" * 30, "A" * 30 + "G"])
def test_nothing_to_call(bases):
    assert len(call(bases, "AG").alleles) == 0


def test_two_other_alleles():
    calls = call("C" * 12 + "G" * 12 + "T", "ACGT")
    assert calls.alleles == [("A", "C", "G")] and calls.genotype == [((1, 2),)]
    assert calls.allele_depth == [((0, 12, 12),)] and calls.depth.tolist() == [[25]]
    assert len(calls.likelihoods[0][0]) == 6


def test_a_deletion_across_the_base_is_written_as_the_reference():
    calls = call("*" * 12 + "G" * 12, "AG*")
    assert calls.alleles == [("A", "G")] and calls.genotype == [((0, 1),)]
    assert calls.likelihoods[0][0][1] == 0


def test_a_lone_deletion_across_the_base_is_no_call():
    assert len(call("*" * 12 + "A" * 12, "AG*").alleles) == 0


@settings(max_examples=60)
@given(st.text("ACG", min_size=4, max_size=40), st.integers(1, 3))
def test_fields_of_a_call_agree(bases, ploidy):
    calls = call(bases, "ACG", ploidy)
    for i, alleles in enumerate(calls.alleles):
        (phred,), (genotype,) = calls.likelihoods[i], calls.genotype[i]
        order = list(genotypes_of(len(alleles), ploidy))
        assert min(phred) == 0 == phred[order.index(genotype)]
        assert calls.genotype_quality[i, 0] == genotype_quality(phred, order)
        assert sum(calls.allele_depth[i][0]) <= calls.depth[i, 0] == len(bases)
        assert set(genotype) - {0} == set(range(1, len(alleles)))
        assert list(calls.annotations) == [row.name for row in (*ANNOTATIONS, *BY_ALLELE)]
        assert set(calls.filters[i]) <= {row.name for row in FILTERS}
        assert ("LowQual" in calls.filters[i]) == (calls.quality[i] < CallParameters().min_quality)


def test_quality_is_the_posterior_of_no_variant():
    """Each of the three other bases has a third of the heterozygosity."""
    theta = CallParameters().snv_prior / 3
    prior = {0: 1 - 1.5 * theta, 1: theta, 2: theta / 2}
    scores = oracle_scores(
        [[math.log10(1 - 1e-3), math.log10(1e-3 / 3)][:: 1 if b == "A" else -1] for b in "AAGG"], 2, 2
    )
    weights = [prior[k] * 10**score for k, score in enumerate(scores)]
    expected = -10 * math.log10(weights[0] / sum(weights))
    assert call("AAGG", "AG").quality[0] == pytest.approx(expected, abs=0.006)


def test_reads_that_say_nothing_do_not_count():
    table = [[0.0, 0.0]] * 3 + [[-3.5, 0.0]] * 8
    calls = call_sites(substitutions((0, "AG")), made_likelihoods([table], [[NOTHING] * 3 + [1] * 8]))
    assert calls.depth.tolist() == [[8]] and calls.genotype == [((1, 1),)]


def exact_fisher(a, b, c, d) -> Fraction:
    def p(x):
        return Fraction(math.comb(a + b, x) * math.comb(c + d, a + c - x), math.comb(a + b + c + d, a + c))

    return sum((p(x) for x in range(max(0, a - d), min(a + b, a + c) + 1) if p(x) <= p(a)), Fraction(0))


@pytest.mark.parametrize("table", set(permutations([0, 3, 9, 14])) | {(5, 5, 5, 5), (0, 0, 7, 3), (40, 0, 0, 40)})
def test_fisher_is_exact(table):
    assert fisher_phred(*table) == pytest.approx(-10 * math.log10(exact_fisher(*table)), abs=1e-6)


def test_longer_repeats_vary_more():
    priors = [indel_prior(1e-4, 1, n) for n in (1, 4, 8, 12, 30)]
    assert priors[0] == priors[1] == 1e-4 and sorted(priors) == priors and priors[-1] == 0.01


def test_quality_where_no_genotype_has_a_chance_that_a_float_holds():
    """PLs of 4,000 and more are probabilities of 0: no share of these is a number."""
    genotypes = np.array([[0, 0], [0, 1], [1, 1]], np.int8)
    phred = np.array([4000, 5000, 6000], np.int32)
    assert genotype_phred(phred, genotypes, 2, 0, False) == MAX_GENOTYPE_QUALITY
