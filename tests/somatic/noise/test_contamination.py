"""How much of a sample is another person's: the likelihood in plain Python, and simulated samples."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.somatic.noise.contamination import (
    LEAST_SITES,
    LOST,
    ODD,
    CommonSites,
    SitePiles,
    estimate_contamination,
    given_contamination,
    log_likelihoods,
    pile_common,
    terms_of,
)

ERROR = 1e-3


def simulate(contamination, *, depth=30, sites=8000, seed=1, normal=True, lost=0.0):
    """Piles of a tumour, that lost REF on most molecules at some sites, and of its normal."""
    rng = np.random.default_rng(seed)
    frequency = rng.uniform(0.02, 0.8, sites)
    own, other = rng.binomial(2, 1 - frequency), rng.binomial(2, 1 - frequency)  # copies of REF
    share = np.where((own == 1) & (rng.random(sites) < lost), 0.1, own / 2)
    share = np.stack((share * (1 - contamination) + contamination * other / 2, own / 2), axis=1)[:, : 1 + normal]
    number = rng.poisson(depth, share.shape)
    old = rng.binomial(number, ERROR + (1 - 2 * ERROR) * share)
    reads = np.stack((old, number - old, rng.binomial(number, 2 * ERROR)), axis=2)
    total = reads.sum(axis=1)
    chosen = (total[:, 1] >= 0.6 * total.sum(axis=1)) & (total[:, :2].sum(axis=1) >= 10)
    return SitePiles(frequency[chosen], reads[chosen])


@pytest.mark.parametrize("contamination", [0.0, 0.004, 0.02, 0.1, 0.3])
def test_a_tumour_and_its_normal(contamination):
    """Within four standard errors, which are small; lost copies do not matter, and the normal is clean."""
    found = estimate_contamination([simulate(contamination, lost=0.3)], np.array([False, True]))
    (own, other), (error, _) = found.fraction, found.error
    assert own == pytest.approx(contamination, abs=4 * error)
    assert error < 0.0015 + 0.05 * contamination and other < 0.002
    assert (found.sites > 500).all()


def test_errors_are_those_of_repeated_samples():
    found = [estimate_contamination([simulate(0.03, seed=s, sites=2000)], np.array([False, True])) for s in range(30)]
    spread = np.std([own.fraction[0] for own in found])
    assert np.mean([own.error[0] for own in found]) == pytest.approx(spread, rel=0.5)


def test_alone_and_in_parts():
    """One sample without its normal; cut in windows, the same."""
    piles = simulate(0.05, normal=False)
    is_normal = np.array([False])
    whole = estimate_contamination([piles], is_normal)
    assert whole.fraction[0] == pytest.approx(0.05, abs=4 * whole.error[0]) and whole.error[0] < 0.003
    parts = [SitePiles(*(column[low : low + 100] for column in piles)) for low in range(0, piles.frequency.size, 100)]
    for own, other in zip(estimate_contamination(parts, is_normal), whole, strict=True):
        assert np.array_equal(own, other)


def test_lost_copies_look_like_contamination_without_a_normal():
    """Where they are lost at a third of the sites, which a normal tells (above)."""
    found = estimate_contamination([simulate(0.0, lost=0.3, normal=False)], np.array([False]))
    assert 0 <= found.fraction[0] < 0.01


def test_few_sites_say_nothing():
    piles = simulate(0.05)
    for number in (0, LEAST_SITES - 1):
        few = SitePiles(*(column[:number] for column in piles))
        found = estimate_contamination([few], np.array([False, True]))
        assert np.isnan(found.fraction).all() and np.isnan(found.error).all() and found.sites.tolist() == [number] * 2
    reads = piles.reads.copy()
    reads[5:, 1] = 0  # of the normal, all but a few
    found = estimate_contamination([piles._replace(reads=reads)], np.array([False, True]))
    assert np.isfinite(found.fraction[0]) and np.isnan(found.fraction[1])
    assert np.isnan(estimate_contamination([], np.array([False])).fraction).all()


def binomial(k: int, n: int, p: float) -> float:
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@settings(max_examples=40)
@given(st.data())
def test_likelihoods_are_those_of_the_text(data):
    samples = data.draw(st.integers(1, 3))
    is_normal = data.draw(st.lists(st.booleans(), min_size=samples, max_size=samples))
    sites = data.draw(st.integers(1, 4))
    counts = st.lists(st.integers(0, 12), min_size=3, max_size=3)
    reads = np.array([[data.draw(counts) for _ in range(samples)] for _ in range(sites)])
    frequency = np.array([data.draw(st.floats(0.01, 0.8)) for _ in range(sites)])
    fraction = np.array([data.draw(st.floats(0, 0.5)) for _ in range(samples)])
    sample, tried = data.draw(st.integers(0, samples - 1)), data.draw(st.floats(0, 0.5))
    expected, lost = 0.0, data.draw(st.sampled_from(LOST))
    used = fraction.copy()
    used[sample] = tried
    rates = [(reads[:, s, 2].sum() + 1) / 2 / (reads[:, s].sum() + 2) for s in range(samples)]
    for site in range(sites):
        f = frequency[site]
        alternate, one = f * f, 2 * f * (1 - f)
        for s in range(samples):
            k, n, e = int(reads[site, s, 0]), int(reads[site, s, :2].sum()), rates[s]
            alternate *= sum(
                math.comb(2, g) * (1 - f) ** g * f ** (2 - g) * binomial(k, n, e + (1 - 2 * e) * used[s] * g / 2)
                for g in range(3)
            )
            w = ODD if is_normal[s] else lost
            one *= (1 - w) * binomial(k, n, 0.5) + w / (n + 1)
        expected += math.log(alternate + one)
    terms = terms_of(frequency, reads, np.array(is_normal), lost)
    found = log_likelihoods(terms, fraction, sample, np.array([0.1, tried]))
    assert found[1] == pytest.approx(expected)


def test_piles_of_a_window():
    """Of four sites: one of ALT, one that half of the reads show, one beyond the window, and one with few reads."""
    common = CommonSites(np.array([101, 103, 120, 104]), np.array([2, 2, 1, 3]), np.array([0.1, 0.2, 0.3, 0.4]))
    reference = np.array([0, 1, 2, 3, 0, 1], np.uint8)
    first, second = np.zeros((2, 6, 4), np.int64)
    first[1], second[1] = (1, 2, 20, 0), (0, 0, 0, 1)
    first[3] = 0, 0, 10, 10
    first[4] = 0, 0, 0, 9
    found = pile_common(common, reference, 100, [first, second])
    assert found.frequency.tolist() == [0.1]
    assert found.reads.tolist() == [[[2, 20, 1], [0, 0, 1]]]


def test_given():
    found = given_contamination(0.02, 2)
    assert found.fraction.tolist() == [0.02, 0.02] and np.isnan(found.error).all()
