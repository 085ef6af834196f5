"""Odds of a mutation against errors, inheritance and artefacts, by the formulas of the package's text."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.config import FractionParameters
from readwarp.somatic.fractions import INDEL_PRIOR, RARE
from readwarp.somatic.fractions.products import (
    MAX_PHRED,
    FractionEvidence,
    Odds,
    SomaticPriors,
    phred_of,
    subtract_logs,
    weigh_alleles,
    weigh_foreign,
)

PARAMETERS = FractionParameters(is_somatic=True, mutation_prior=1e-5)
FIELDS = ("mean", "none", "noise", "half", "whole", "uneven")
LOGS = st.floats(-40, 0)
ROUNDED = st.integers(-4000, 0).map(lambda hundredths: hundredths / 100)  # whose differences are exact enough


def evidence_of(values: list[list[list[float]]]) -> FractionEvidence:
    """values: by allele, by sample, of FIELDS."""
    columns = np.array(values, np.float64).reshape(len(values), -1 if values else 1, len(FIELDS))
    named = {name: columns[:, :, k] for k, name in enumerate(FIELDS)}
    return FractionEvidence(**named, low=named["mean"], high=named["mean"])


def weigh(values, normals, *, at_tumour=None, variants=0.0, is_indel=False, frequency=math.nan, parameters=PARAMETERS):
    """Of one allele."""
    shape = 1, len(normals)
    return weigh_alleles(
        evidence_of([values]),
        np.zeros(shape) if at_tumour is None else np.array([at_tumour]),
        SomaticPriors(np.full(shape, variants), np.array([is_indel]), np.array([frequency])),
        np.array(normals),
        parameters,
    )


@settings(max_examples=60)
@given(st.data())
def test_equals_the_formulas(data):
    samples = data.draw(st.integers(1, 3))
    normals = data.draw(st.lists(st.booleans(), min_size=samples, max_size=samples).filter(lambda own: not all(own)))
    values = data.draw(st.lists(st.lists(LOGS, min_size=6, max_size=6), min_size=samples, max_size=samples))
    at_tumour = data.draw(st.lists(LOGS, min_size=samples, max_size=samples))
    is_indel, variants = data.draw(st.booleans()), data.draw(st.sampled_from([0.0, 1e-7, 1e-3]))
    frequency = data.draw(st.sampled_from([math.nan, 0.0, 1e-4, 0.3, 1.0]))
    found = weigh(values, normals, at_tumour=at_tumour, variants=variants, is_indel=is_indel, frequency=frequency)
    mean, none, noise, half, whole, uneven = zip(*values, strict=True)
    tumours, own = [s for s in range(samples) if not normals[s]], [s for s in range(samples) if normals[s]]
    tlod = sum(max(0.0, mean[s] - noise[s]) for s in tumours)
    prior = math.log10(max(1e-5 * (INDEL_PRIOR if is_indel else 1), variants))
    assert found.tumour[0] == pytest.approx(tlod)
    assert found.error[0] == pytest.approx(-tlod - prior)
    if own:
        assert found.normal[0] == pytest.approx(sum(none[s] - half[s] for s in own))
        assert found.artefact[0] == pytest.approx(sum(none[s] - at_tumour[s] for s in own))
    else:
        assert np.isnan(found.normal[0]) and np.isnan(found.artefact[0])
    p = RARE if math.isnan(frequency) else min(max(frequency, RARE), 1 - RARE)
    one = math.log10(2 * p * (1 - p)) + sum(uneven[s] for s in tumours) + sum(half[s] for s in own)
    both = 2 * math.log10(p) + sum(whole)
    high = max(one, both)
    inherited = high + math.log10(10 ** (one - high) + 10 ** (both - high))
    mutated = 2 * math.log10(1 - p) + prior + sum(mean[s] for s in tumours) + sum(none[s] for s in own)
    assert found.germline[0] == pytest.approx(inherited - mutated)


@settings(max_examples=60)
@given(st.data())
def test_foreign_molecules(data):
    """All ways in which another person's molecules may have the allele, of each tumour by itself."""
    samples = data.draw(st.integers(1, 3))
    normals = data.draw(st.lists(st.booleans(), min_size=samples, max_size=samples).filter(lambda own: not all(own)))
    values = data.draw(st.lists(st.lists(ROUNDED, min_size=6, max_size=6), min_size=samples, max_size=samples))
    half, whole = (data.draw(st.lists(ROUNDED, min_size=samples, max_size=samples)) for _ in range(2))
    frequency = data.draw(st.sampled_from([math.nan, 1e-4, 0.3]))
    expected = SomaticPriors(np.zeros((1, samples)), np.array([False]), np.array([frequency]))
    at_copies = np.array([half]), np.array([whole])
    found = weigh_foreign(evidence_of([values]), at_copies, expected, np.array(normals), PARAMETERS)
    tumours = [s for s in range(samples) if not normals[s]]
    p, came = RARE if math.isnan(frequency) else frequency, 0.0
    for copies in itertools.product(range(3), repeat=len(tumours)):
        if any(copies):
            part = 1.0
            for s, n in zip(tumours, copies, strict=True):
                none = 10 ** values[s][1]
                beyond = [none, max(0.0, 10 ** half[s] - none), max(0.0, 10 ** whole[s] - none)]
                part *= math.comb(2, n) * p**n * (1 - p) ** (2 - n) * beyond[n]
            came += part
    mutated = 1e-5 * math.prod(10 ** values[s][0] for s in tumours)
    if came == 0:
        assert found[0] == -math.inf
    else:
        assert found[0] == pytest.approx(math.log10(came / mutated), abs=1e-6)


def test_subtracted_logarithms():
    assert subtract_logs(np.array([2.0]), np.array([1.0]))[0] == pytest.approx(math.log10(90))
    assert subtract_logs(np.array([1.0, 1.0]), np.array([1.0, 2.0])).tolist() == [-math.inf] * 2
    assert subtract_logs(np.array([-400.0]), np.array([-800.0]))[0] == pytest.approx(-400)


HETEROZYGOUS = [-30.0, -150.0, -150.0, -28.0, -300.0, -29.0]  # half of the reads of one sample
ABSENT = [-1.0, 0.0, 0.0, -30.0, -300.0, -45.0]


def test_an_allele_of_tumour_and_normal_is_inherited_and_one_of_the_tumour_is_not():
    assert weigh([HETEROZYGOUS, HETEROZYGOUS], [False, True]).germline[0] > 50
    assert weigh([HETEROZYGOUS, ABSENT], [False, True]).germline[0] < -20
    without = [weigh([HETEROZYGOUS], [False], frequency=p).germline[0] for p in (math.nan, 1e-4, 0.3)]
    assert without == sorted(without) and without[2] - without[0] > 4  # a common allele is rather inherited


def test_nothing_is_inherited_in_a_mixture():
    mixture = FractionParameters()
    assert np.isnan(weigh([HETEROZYGOUS], [False], parameters=mixture).germline[0])


def test_no_alleles():
    none = np.zeros((0, 1))
    found = weigh_alleles(
        evidence_of([]), none, SomaticPriors(none, np.zeros(0, bool), np.zeros(0)), np.array([False]), PARAMETERS
    )
    assert all(column.size == 0 for column in found) and len(found) == len(Odds._fields)


@pytest.mark.parametrize("odds", [-400.0, -99.0, -20.0, -3.0, 0.0, 2.0, 20.0, 400.0])
def test_phred_of_odds(odds):
    """-10 log10(x / (1 + x)) of x = 10^odds"""
    expected = 10 * math.log10(1 + 10**-odds) if odds > -300 else MAX_PHRED
    assert phred_of(np.array([odds]))[0] == pytest.approx(min(expected, MAX_PHRED), abs=1e-9)


def test_phred_of_what_is_not_known():
    assert np.isnan(phred_of(np.array([math.nan]))[0])
