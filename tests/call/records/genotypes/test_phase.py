"""Genotypes in the order of haplotypes."""

import numpy as np
import pytest

from helpers.making_sites import call_sites, from_bases, substitutions
from readwarp.call.likelihoods.batches import Phase
from readwarp.formats.variants.calls import Calls

HALF = "A" * 10 + "G" * 10


def call(
    bases: list[str], shown: list, *, region=None, alleles="AG", ploidy: int = 2, samples: int = 1, sample=None
) -> Calls:
    """Calls at 10, 20, ... `shown`: the alleles of each site on the haplotypes of each sample."""
    n = len(bases)
    letters = [alleles] * n
    regions = np.array(region or [7] * n), *np.zeros((2, n), np.int64)
    phase = Phase(*regions, np.array(shown, np.int8).reshape(n, samples, -1))
    sites = substitutions(*((10 * (i + 1), own) for i, own in enumerate(letters)))
    return call_sites(sites, from_bases(bases, letters, sample), samples=samples, ploidy=ploidy, phase=phase)


def test_two_heterozygous_calls_of_a_region():
    calls = call([HALF, HALF], [[0, 1], [1, 0]])
    assert calls.genotype == [((0, 1),), ((1, 0),)]
    assert calls.phase_set.tolist() == [[10], [10]]


@pytest.mark.parametrize(
    ("bases", "shown", "region"),
    [
        ([HALF, HALF], [[0, 1], [1, 0]], [1, 2]),  # regions know nothing of each other
        ([HALF, "G" * 20], [[0, 1], [1, 1]], None),  # only one is heterozygous
        ([HALF, HALF], [[0, 1], [1, 1]], None),  # the haplotypes disagree with a genotype
        ([HALF, HALF], [[0, 1], [1, -1]], None),  # an allele that was not among those of the site
    ],
)
def test_not_phased(bases, shown, region):
    calls = call(bases, shown, region=region)
    assert (calls.phase_set == -1).all()
    assert all(genotype == tuple(sorted(genotype)) for (genotype,) in calls.genotype)


def test_homozygous_calls_between_are_left_as_they_are():
    calls = call([HALF, "G" * 20, HALF, HALF], [[1, 0], [1, 1], [0, 1], [1, 0]], region=[1, 1, 1, 5])
    assert calls.phase_set[:, 0].tolist() == [10, -1, 10, -1]
    assert calls.genotype == [((1, 0),), ((1, 1),), ((0, 1),), ((0, 1),)]


def test_alleles_left_out_of_the_record_are_renumbered():
    """Alleles A, C, G, and a deletion across the base, which the record counts as the reference's."""
    calls = call([HALF, "*" * 10 + "G" * 10], [[2, 0], [2, 3]], alleles="ACG*")
    assert calls.alleles == [("A", "G")] * 2
    assert calls.genotype == [((1, 0),), ((1, 0),)] and (calls.phase_set == 10).all()


def test_each_sample_has_its_own_sets():
    sample = [[0] * 20 + [1] * 20] * 2
    calls = call([HALF * 2, HALF + "G" * 20], [[0, 1, 0, 1], [1, 0, 1, 1]], samples=2, sample=sample)
    assert calls.phase_set.tolist() == [[10, -1], [10, -1]]
    assert calls.genotype == [((0, 1), (0, 1)), ((1, 0), (1, 1))]


def test_four_copies():
    shown = [[0, 1, 0, 0], [1, 1, 0, 1]]
    calls = call(["A" * 30 + "G" * 10, "A" * 10 + "G" * 30], shown, ploidy=4)
    assert calls.genotype == [((0, 1, 0, 0),), ((1, 1, 0, 1),)] and (calls.phase_set == 10).all()
