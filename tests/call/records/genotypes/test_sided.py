"""Genotypes weighed by the haplotypes that reads are of, and the order of their alleles."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.making_sites import from_bases, made_likelihoods, substitutions
from readwarp.call.places.bases import Window
from readwarp.call.records.genotypes.genotype import genotype_sites
from readwarp.call.records.genotypes.order import tables_for
from readwarp.call.records.genotypes.score import GenotypeScores, score_genotypes
from readwarp.call.records.genotypes.surroundings import PairSides, SitePriors
from readwarp.config import CallParameters
from readwarp.ragged import offsets_of

rows = st.lists(st.tuples(st.lists(st.floats(-6, 0), min_size=3, max_size=3), st.floats(-3, 3)), min_size=1, max_size=9)


@given(rows, st.sampled_from([1, 2, 3]))
def test_likelihoods_are_those_of_both_orders(reads, ploidy):
    tables, odds = [row for row, _ in reads], [own for _, own in reads]
    sites, likelihoods = substitutions((3, "ACG")), made_likelihoods([tables], [[0] * len(reads)])
    copies = np.array([[ploidy]], np.int8)
    genotypes = tables_for(copies, np.array([[3]]))
    size = int(genotypes.size[ploidy, 3])
    scores = GenotypeScores(copies, offsets_of([size]), np.zeros(size), np.zeros((1, 1), np.int32))
    score_genotypes(sites, likelihoods, np.array(odds), genotypes, scores)

    def log_of(shares):
        sums = (sum(w * 10 ** row[a] for w, a in own) for row, own in zip(tables, shares, strict=True))
        return sum(map(math.log10, sums))

    first = int(genotypes.first[ploidy, 3])
    for g in range(size):
        alleles = genotypes.alleles[first + g, :ploidy].tolist()
        expected = log_of([[(1 / ploidy, a) for a in alleles]] * len(reads))
        if ploidy == 2:
            weights = [10**own / (1 + 10**own) for own in odds]
            orders = [[list(zip((w, 1 - w), own, strict=True)) for w in weights] for own in (alleles, alleles[::-1])]
            expected = math.log10(sum(10 ** log_of(order) for order in orders) / 2)
        assert scores.values[g] == pytest.approx(expected, abs=1e-9)


def call(bases: str, odds: list[float], name: int = 7, strands: str = "", whole: list[float] | None = None):
    sites, likelihoods = substitutions((40, "AG")), from_bases([bases], ["AG"], quality=12)
    likelihoods.strand[:] = [strand == "-" for strand in strands or "+" * len(bases)]
    sides = PairSides(np.array(odds), np.array(whole or odds), np.array([[name]]))
    expected = SitePriors(np.full((1, 1), 2, np.int8), None, sides)
    window = Window(0, 0, 99, np.zeros(99, np.uint8), 0)
    return genotype_sites(sites, likelihoods, window, expected, CallParameters())


def test_alleles_that_keep_to_their_haplotypes_are_more_certain():
    bases = "A" * 6 + "G" * 6
    split, mixed = call(bases, [3.0] * 6 + [-3.0] * 6), call(bases, [3.0, -3.0] * 6)
    unknown = call(bases, [0.0] * 12)
    assert split.quality[0] > unknown.quality[0] + 25 and (mixed.quality[0] < 1 if len(mixed) else True)
    assert split.genotype == [((0, 1),)] and split.phase_set.tolist() == [[7]] and split.phase_name == [("8",)]
    assert call(bases, [-3.0] * 6 + [3.0] * 6).genotype == [((1, 0),)]
    assert unknown.phase_set.tolist() == [[-1]] and unknown.phase_name == [("",)]


def test_a_site_is_in_the_phase_set_that_it_makes():
    """Its genotype and its strands are weighed as if it were not."""
    bases, strands = "A" * 6 + "G" * 6, "+-" * 6
    made, unknown = (call(bases, [0.0] * 12, strands=strands, whole=own) for own in ([-3.0] * 6 + [3.0] * 6, None))
    assert made.genotype == [((1, 0),)] and made.phase_set.tolist() == [[7]]
    assert made.quality == unknown.quality and made.annotations["FS"] == unknown.annotations["FS"]
    assert made.genotype_quality.tolist() == unknown.genotype_quality.tolist()


def test_strands_of_a_haplotype_are_no_bias_of_its_alleles():
    """Those of reads that contradict their haplotype are, as in an error of one strand."""
    bases, strands, sure = "A" * 14 + "G" * 14, "+" * 13 + "-" * 14 + "+", [3.0] * 14 + [-3.0] * 14
    by_chance, unknown = call(bases, sure, strands=strands), call(bases, [0.0] * 28, strands=strands)
    assert unknown.annotations["FS"][0] > 50 and by_chance.annotations["FS"][0] == 0
    assert by_chance.strands.tolist() == unknown.strands.tolist()
    most = [3.0, 3.0, 3.0, 3.0, -3.0, -3.0, -3.0] * 2
    error = call(bases, [*most, *(-odds for odds in most)], strands=strands)
    assert error.phase_set.tolist() == [[7]] and 5 < error.annotations["FS"][0] < unknown.annotations["FS"][0]


def test_no_set_no_phase():
    assert call("A" * 6 + "G" * 6, [3.0] * 6 + [-3.0] * 6, name=-1).phase_set.tolist() == [[-1]]


def test_homozygous_genotypes_are_not_phased():
    calls = call("G" * 12, [3.0] * 6 + [-3.0] * 6)
    assert calls.genotype == [((1, 1),)] and calls.phase_set.tolist() == [[-1]]
