"""Rates of noise from tables of sites with known rates, and what they say of alleles."""

import numpy as np
import pytest

from helpers.making import window_of
from helpers.making_sites import made_sites
from readwarp.somatic.noise import (
    CLASSES,
    CONTEXTS,
    LEAST,
    MOST_VARIANTS,
    RUNS,
    SHAPES,
    SUBSTITUTIONS,
)
from readwarp.somatic.noise.counts import DAMAGES, bin_of, no_counts
from readwarp.somatic.noise.fit import SHRINKAGE, Noise, fit_noise, mass_between, no_noise, noise_of, variant_density

CT = 2  # a class
GRID = np.geomspace(LEAST, 1, 20_001)


def draw_fractions(rng, number: int, density) -> np.ndarray:
    """Of a density, given at GRID."""
    below = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(GRID))))
    return np.interp(rng.uniform(0, below[-1], number), below, GRID)


def simulate(rng, depth: int, number: int, *, error=2e-4, pi=0.0, rho=0.0, shape=(2.0, 0.02)):
    """Reads that show an allele at so many sites."""
    fraction, drawn = np.zeros(number), rng.uniform(size=number)
    is_copied, is_variant = drawn < pi, (drawn >= pi) & (drawn < pi + rho)
    fraction[is_copied] = draw_fractions(rng, is_copied.sum(), copying_density(*shape))
    fraction[is_variant] = draw_fractions(rng, is_variant.sum(), variant_density(GRID))
    return rng.binomial(depth, np.minimum(1, error + fraction))


def counts_of(tables, error=2e-4, samples=1):
    """tables: (class, depth, reads of each site)"""
    counts = no_counts(samples)
    for kind, depth, shown in tables:
        row = slice(16 * kind, 16 * kind + 16) if kind < SUBSTITUTIONS else CONTEXTS + kind - SUBSTITUTIONS
        share = 32 if kind < SUBSTITUTIONS else 2
        few = shown <= max(2, 0.02 * depth)
        counts.reads[0, row] += depth * few.sum() / share
        counts.expected[0, row] += error * depth * few.sum() / share
        counts.shown[0, row] += shown[few].sum() / share
        for k in shown[shown <= 0.3 * depth].tolist():
            counts.sites[0, kind, bin_of.py_func(depth), bin_of.py_func(k)] += 1
    return counts


def copying_density(power: float, reach: float) -> np.ndarray:
    """g at GRID."""
    return GRID**-power * np.exp(-GRID / reach)


def beyond(fraction: float, density: np.ndarray) -> float:
    """The share of a density that lies above a fraction."""
    below = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(GRID))))
    return 1 - float(np.interp(fraction, GRID, below)) / below[-1]


@pytest.mark.parametrize("depth", [300, 2000])
@pytest.mark.parametrize("shape", [(1.0, 0.02), (2.0, 0.02), (2.0, 0.08)])
def test_finds_copying_errors(shape, depth):
    """How many sites have one of 0.5 % of the molecules or more; smaller ones are as well errors of the reads."""
    pi, rng = 0.05, np.random.default_rng(5)
    tables = [(CT, depth, simulate(rng, depth, 100_000, pi=pi, shape=shape))]
    found = fit_noise(counts_of(tables))
    assert tuple(found.shape[0]) in SHAPES
    expected = pi * beyond(0.005, copying_density(*shape))
    own = found.copying[0, CT] * beyond(0.005, copying_density(*found.shape[0]))
    assert 0.6 < own / expected < 1.6
    assert found.variants[0, CT] < 0.05 * found.copying[0, CT]
    if shape[0] == 1:  # whose small errors are few
        assert found.copying[0, CT] == pytest.approx(pi, rel=0.5)
        assert found.shape[0, 1] == pytest.approx(shape[1], rel=0.6)
    assert np.delete(found.copying[0], CT) == pytest.approx(found.copying[0, CT], rel=0.02)  # of which nothing is seen


def test_finds_variants():
    """Those that the tables lack, above MAX_SHARE, are not taken for a limit of fractions that only errors have."""
    rng = np.random.default_rng(6)
    tables = [(kind, 1000, simulate(rng, 1000, 100_000, rho=0.002)) for kind in range(SUBSTITUTIONS)]
    found = fit_noise(counts_of(tables))
    assert found.variants[0, :SUBSTITUTIONS] == pytest.approx([0.002] * SUBSTITUTIONS, rel=0.35)
    assert (found.copying == 0).all() and (found.scattered == 0).all()


def test_more_variants_than_there_can_be_are_errors():
    rng = np.random.default_rng(7)
    found = fit_noise(counts_of([(CT, 1000, simulate(rng, 1000, 20_000, rho=0.03))]))
    assert found.variants[0, CT] == MOST_VARIANTS
    assert 0.005 < found.scattered[0, CT] + found.copying[0, CT] < 0.05


def test_clean_libraries_have_no_noise():
    """Reads show no more than their qualities say. Depths vary, as their bins are a tenth wide."""
    rng, depths = np.random.default_rng(8), range(900, 1110, 10)
    tables = [(kind, depth, rng.binomial(depth, 2e-4, 2500)) for kind in range(CLASSES) for depth in depths]
    found = fit_noise(counts_of(tables))
    assert (found.damage < 1e-5).all()
    assert (found.copying < 2e-4).all() and (found.variants < 2e-4).all() and (found.scattered == 0).all()


@pytest.mark.parametrize("shown", [0, 1, 5])
def test_few_sites_say_little(shown):
    """One site of ten with 50 of 1000 reads is no rate of a tenth."""
    found = fit_noise(counts_of([(CT, 1000, np.array([50] * shown + [0] * (10 - shown)))]))
    assert (found.copying + found.variants + found.scattered)[0, CT] <= shown / 1000


def tables_of(rng, sites: int, depth: int = 200, **rates) -> list:
    return [(kind, depth, simulate(rng, depth, sites, **rates)) for kind in range(SUBSTITUTIONS)]


def test_few_sites_of_each_class_say_together_what_none_does():
    """A panel of 2.5 kb, whose library has errors of copying: 1,200 sites of each class."""
    rng = np.random.default_rng(9)
    tables = tables_of(rng, 1200, pi=0.03, shape=(1.0, 0.03))
    alone = [fit_noise(counts_of([table])).copying[0, kind] for kind, table in enumerate(tables)]
    assert 0.0 in alone
    together = fit_noise(counts_of(tables)).copying[0, :SUBSTITUTIONS]
    assert together == pytest.approx([0.03] * SUBSTITUTIONS, rel=0.7)


def test_few_sites_with_variants_alone_are_no_errors():
    for seed in range(10, 16):
        found = fit_noise(counts_of(tables_of(np.random.default_rng(seed), 1200, rho=0.004)))
        assert (found.copying == 0).all()


def test_a_class_of_many_sites_keeps_its_own_rate():
    rng = np.random.default_rng(17)
    (_, *noisy), (clean, *_) = tables_of(rng, 50_000, pi=0.02, shape=(1.0, 0.03)), tables_of(rng, 50_000, rho=1e-4)
    found = fit_noise(counts_of([clean, *noisy])).copying[0]
    assert found[0] < 0.2 * found[1] and found[1:SUBSTITUTIONS] == pytest.approx([0.02] * 5, rel=0.6)


def test_nothing_is_known_without_sites():
    found, none = fit_noise(no_counts(2)), no_noise(2)
    for name in Noise._fields[:-1]:
        assert (getattr(found, name) == 0).all() and getattr(found, name).shape == getattr(none, name).shape
    assert found.shape.shape == none.shape.shape == (2, 2)


def test_damage_is_what_qualities_do_not_expect():
    counts = no_counts(1)
    counts.reads[:], counts.expected[:], counts.shown[:] = 1000, 3, 2
    counts.shown[0, 7, 1], counts.shown[0, CONTEXTS + 3, 0] = 13, 5
    found = fit_noise(counts).damage
    mean = 10 / 16_000
    assert found[0, 7, 1] == pytest.approx((10 + SHRINKAGE) / (1000 + SHRINKAGE / mean))
    assert found[0, :16, 1][8] == pytest.approx(SHRINKAGE / (1000 + SHRINKAGE / mean))
    assert found[0, CONTEXTS + 3, 0] == 0.002
    found[0, :16, 1] = found[0, CONTEXTS + 3, 0] = 0
    assert (found == 0).all()


def test_samples_have_their_own_noise():
    rng = np.random.default_rng(9)
    noisy = counts_of([(CT, 1000, simulate(rng, 1000, 20_000, pi=0.05))], samples=2)
    alone = counts_of([(CT, 1000, simulate(np.random.default_rng(9), 1000, 20_000, pi=0.05))])
    found, one = fit_noise(noisy), fit_noise(alone)
    for name in Noise._fields:
        assert np.array_equal(getattr(found, name)[0], getattr(one, name)[0])
    assert found.copying[1].sum() == 0 and found.damage[1].sum() == 0


@pytest.mark.parametrize("power, reach", [SHAPES[0], SHAPES[5], SHAPES[9], SHAPES[-1]])
def test_mass_of_copying_errors_adds_up(power, reach):
    mass = mass_between(462, power, reach)
    assert mass.size == 461 and (mass >= 0).all() and mass.sum() == pytest.approx(1, abs=1e-9)
    at, density = np.sin(np.linspace(0, np.pi / 2, 462)) ** 2, copying_density(power, reach)
    step = (density[1:] + density[:-1]) / 2 * np.diff(GRID)
    for cell in (0, 3, 10):
        is_in = (GRID[1:] <= at[cell + 1]) & (GRID[:-1] >= at[cell])
        assert mass[cell] == pytest.approx(step[is_in].sum() / step.sum(), abs=2e-3)


def test_density_of_variants_is_one_in_all():
    at = np.linspace(0, 1, 4_000_001)
    assert np.trapezoid(variant_density(at), at) == pytest.approx(1, abs=1e-4)


def numbered() -> Noise:
    """Of two samples; every rate tells its place."""
    damage = np.arange(2.0 * DAMAGES * 2).reshape(2, DAMAGES, 2)
    classes = np.arange(2.0 * CLASSES).reshape(2, CLASSES)
    return Noise(damage, classes, classes + 100, classes + 200, np.array([[2.0, 0.02], [1.0, 0.03]]))


#            0123456789
REFERENCE = "GACGTTTTTCAN"
SITES = made_sites(
    [
        (2, [(1, "C"), (1, "T"), (1, "A"), (1, "*")]),  # A[C>T]G, A[C>A]G
        (3, [(1, "G"), (1, "A")]),  # C[G>A]T, which is A[C>T]G of the other strand
        (4, [(0, ""), (1, ""), (0, "T"), (2, "G")]),  # a run of five T: a deletion, an insertion, and both
        (10, [(1, "A"), (1, "C")]),  # beside an N
    ]
)
ACG = 0 * 4 + 2  # neighbours A and G


def test_noise_of_alleles():
    noise = numbered()
    found = noise_of(SITES, window_of(REFERENCE), noise)
    first = SITES.allele_offsets
    ct, ca, missing = first[0] + 1, first[0] + 2, first[0] + 3
    ga = first[1] + 1
    gone, inserted, both = first[2] + 1, first[2] + 2, first[2] + 3
    insertion = SUBSTITUTIONS + 1
    assert RUNS[1] <= 5 < RUNS[2]
    deletion = insertion + len(RUNS)
    for sample in range(2):
        for allele, kind in ((ct, CT), (ca, 0), (ga, CT), (gone, deletion), (inserted, insertion)):
            assert found.copying[allele, sample] == noise.copying[sample, kind]
            assert found.variants[allele, sample] == noise.variants[sample, kind]
            assert found.scattered[allele, sample] == noise.scattered[sample, kind]
        assert found.damage[ct, sample].tolist() == noise.damage[sample, 16 * CT + ACG].tolist()
        assert found.damage[ca, sample].tolist() == noise.damage[sample, ACG].tolist()
        assert found.damage[ga, sample].tolist() == noise.damage[sample, 16 * CT + ACG, ::-1].tolist()
        for allele, kind in ((gone, deletion), (inserted, insertion)):
            row = noise.damage[sample, CONTEXTS + kind - SUBSTITUTIONS]
            assert found.damage[allele, sample].tolist() == [row[0]] * 2  # whatever the orientation
    known = [ct, ca, ga, gone, inserted]
    for column in (found.damage, found.copying, found.variants, found.scattered):
        assert (np.delete(column, known, axis=0) == 0).all()
    assert found.context[[ct, ca, ga]].tolist() == [16 * CT + ACG, ACG, 16 * CT + ACG]
    assert (np.delete(found.context, [ct, ca, ga]) == -1).all() and missing < both
    assert np.array_equal(found.shape, noise.shape)


def test_noise_at_the_ends_of_what_is_known():
    """The first and the last base have one neighbour; a run ends with the window."""
    sites = made_sites([(0, [(1, "G"), (1, "A")]), (9, [(0, ""), (1, "")])])
    found = noise_of(sites, window_of("GACGTTTTTC"), numbered())
    assert found.context.tolist() == [-1] * 4
    assert found.copying[1].tolist() == [0, 0] and found.copying[3, 0] == numbered().copying[0, SUBSTITUTIONS + 5]
