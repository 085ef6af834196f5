"""Alleles that give way where all would make too many genotypes, and genotypes of many copies."""

import math
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making_sites import call_sites, from_bases, made_likelihoods, substitutions
from readwarp.call.likelihoods.batches import Phase
from readwarp.call.records.genotypes.order import MAX_GENOTYPES, genotypes_of, most_alleles, number_of, tables_for
from readwarp.call.records.genotypes.rarest import drop_rarest
from readwarp.ragged import check


def dropped(alleles: str, bases: str, ploidy: int, *, spare: int = 0, forced=(), phase: Phase | None = None):
    sites, likelihoods = substitutions((3, alleles), forced=forced), from_bases([bases], [alleles])
    return drop_rarest(sites, likelihoods, phase, np.full((1, 1), ploidy, np.int8), spare)


def test_the_limit_is_that_of_genotypes():
    for ploidy in range(3, 101):
        most = most_alleles(ploidy)
        assert math.comb(most + ploidy, ploidy) > MAX_GENOTYPES >= math.comb(most + ploidy - 1, ploidy)
    assert most_alleles(100) == 3 and most_alleles(9) == 7


def test_the_commonest_alleles_stay():
    sites, likelihoods, _, lost = dropped("ACGT", "A" * 60 + "C" * 5 + "G" * 20 + "T" * 15, 100)
    check(sites), check(likelihoods)
    assert lost == [(3, 1, b"\1")] and sites.inserted.tolist() == [0, 2, 3]
    assert np.bincount(likelihoods.allele + 1).tolist() == [5, 60, 20, 15]  # those of C say nothing in particular
    assert likelihoods.values.reshape(-1, 3)[60:65].std(axis=1).max() == 0


def test_spare_alleles_count():
    sites, _, _, lost = dropped("ACGT", "A" * 60 + "C" * 5 + "G" * 20 + "T" * 15, 100, spare=1)
    assert lost == [(3, 1, b"\1"), (3, 1, b"\3")] and sites.inserted.tolist() == [0, 2]


def test_what_was_asked_for_comes_first():
    sites, *_ = dropped("ACGT", "A" * 60 + "G" * 20 + "T" * 15, 100, forced=[(0, 1)])
    assert sites.inserted.tolist() == [0, 1, 2] and sites.is_forced.tolist() == [False, True, False]


def test_nothing_changes_below_the_limit():
    sites, likelihoods = substitutions((3, "ACGT")), from_bases(["ACGT"], ["ACGT"])
    found = drop_rarest(sites, likelihoods, None, np.full((1, 1), 9, np.int8), 1)
    assert found[0] is sites and found[1] is likelihoods and found[3] == []


def test_alleles_on_haplotypes_get_their_new_numbers():
    phase = Phase(*np.zeros((3, 1), np.int64), np.array([[[0, 1, 2, 3, -1]]], np.int8))
    _, _, after, _ = dropped("ACGT", "A" * 60 + "C" * 5 + "G" * 20 + "T" * 15, 100, phase=phase)
    assert after is not None and after.allele.tolist() == [[[0, -1, 1, 2, -1]]]


@settings(max_examples=30)
@given(st.integers(9, 100), st.lists(st.lists(st.floats(-6, 0), min_size=3, max_size=3), min_size=1, max_size=12))
def test_genotypes_of_many_copies(ploidy, rows):
    """As the sum over reads of the mean over copies says."""
    copies = [[genotype.count(a) for a in range(3)] for genotype in genotypes_of(3, ploidy)]
    linear = [[10**x for x in row] for row in rows]
    exact = [sum(math.log10(sum(map(mul, row, own)) / ploidy) for row in linear) for own in copies]
    shown = [int(np.argmax(row)) for row in rows]
    sites = substitutions((0, "ACG"), forced=[(0, 1), (0, 2)])  # so that the record has them all
    calls = call_sites(sites, made_likelihoods([rows], [shown]), ploidy=ploidy)
    best = max(exact)
    expected = [10 * (best - x) for x in exact]
    assert np.abs(np.array(calls.likelihoods[0][0]) - expected).max() <= 0.5 + 1e-6


@pytest.mark.parametrize(("alleles", "ploidy"), [(3, 100), (5, 17), (109, 2), (120, 1), (2, 100)])
def test_numbers_of_genotypes(alleles, ploidy):
    genotypes = genotypes_of(alleles, ploidy)
    assert [number_of(np.array(g), ploidy) for g in genotypes] == list(range(len(genotypes)))


def test_tables_are_made_for_what_occurs():
    tables = tables_for(np.array([[2, 100], [1, 2]]), np.array([[3], [5]]))
    assert [int(tables.size[p].max()) for p in (1, 2, 100)] == [5, 15, 5151] and tables.largest == 5151
    assert tables.size[100, 4] == 0


@pytest.mark.parametrize("depth", [30, 3_000, 300_000])
def test_quality_has_no_ceiling(depth):
    """QD is the same at any depth."""
    calls = call_sites(substitutions((3, "AG")), from_bases(["AG" * (depth // 2)], ["AG"]))
    assert calls.genotype == [((0, 1),)]
    assert calls.annotations["QD"][0] == pytest.approx(14.4, abs=1.3)  # the prior matters at 30


def test_no_copies():
    """A sample without the contig has no genotype, and its reads make nothing."""
    sites, likelihoods = substitutions((3, "AG"), forced=[(0, 1)]), from_bases(["G" * 9], ["AG"])
    calls = call_sites(sites, likelihoods, ploidy=0)
    assert calls.genotype == [((),)] and calls.filters == [(".",)] and calls.quality.tolist() == [0.0]
    assert len(call_sites(substitutions((3, "AG")), likelihoods, ploidy=0)) == 0
