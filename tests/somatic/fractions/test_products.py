"""Evidence from products: against the Beta function where reads are certain, else against fine sums."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.fraction_oracle import certain, contrasts_of, log_integral
from readwarp.somatic.fractions import CREDIBLE, UNEVEN
from readwarp.somatic.fractions.products import (
    FractionEvidence,
    add_logs,
    likelihoods_at,
    log_likelihoods,
    multiply,
    weigh_products,
)
from readwarp.somatic.noise import LEAST as LEAST_FRACTION
from readwarp.somatic.noise import MAX_SHARE

FINE = np.sin(np.linspace(0, math.pi / 2, 200_001)) ** 2
FRACTION, WIDTH = (FINE[1:] + FINE[:-1]) / 2, np.diff(FINE)
NEUTRAL = WIDTH / ((FRACTION + LEAST_FRACTION) * math.log(1 + 1 / LEAST_FRACTION))
POWER, REACH = 2.0, 0.03
SURE = 12.0  # log10, beyond which no odds change a call


def weigh(items, copying=0.0, scattered=0.0, shape=(POWER, REACH)) -> FractionEvidence:
    contrasts = contrasts_of(items)
    number = len(items)
    noise = np.full(number, copying), np.full(number, scattered), np.tile(shape, (number, 1))
    return weigh_products(contrasts, multiply(contrasts), noise)


def fine_likelihood(reads) -> np.ndarray:
    """log10 L at FRACTION."""
    total = np.zeros(FRACTION.size)
    for (p, q), number in Counter(reads).items():
        total += number * np.log10((1 - FRACTION) * q + FRACTION * p)
    return total


def log_beta(a: float, b: float) -> float:
    return (math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)) / math.log(10)


@pytest.mark.parametrize("reads, shown", [(30, 3), (100, 50), (1000, 10), (8, 4), (20_000, 200), (20_000, 6)])
def test_certain_reads_have_the_beta_function(reads, shown):
    """int f^k (1-f)^(n-k) h(f) df, where h is 1 / (f ln(1 + 1 / LEAST)) but for fractions near LEAST."""
    found = weigh([certain(reads, shown)])
    expected = log_beta(shown, reads - shown + 1) - math.log10(math.log(1 + 1 / LEAST_FRACTION))
    near_least = LEAST_FRACTION * reads / (shown - 1)  # the mean of LEAST / f, which h has more
    assert expected - near_least < found.mean[0] < expected + 1e-4
    assert found.none[0] == pytest.approx(-15 * shown)
    assert found.half[0] == pytest.approx(-reads * math.log10(2))
    assert found.whole[0] == pytest.approx(-15 * (reads - shown), rel=1e-4)  # where Q + (P - Q) lost some digits
    assert found.shown[0] == found.mean[0] - found.none[0]
    assert found.others[0] == found.mean[0] - found.whole[0]


@pytest.mark.parametrize(
    "reads, shown", [(0, 0), (5, 1), (5, 5), (30, 3), (100, 50), (1000, 10), (20_000, 200), (400, 0)]
)
def test_interval_holds_95_percent(reads, shown):
    """Between the quantiles of Beta(k + 1, n - k + 1), to a step of the nodes."""
    found = weigh([certain(reads, shown)])
    with np.errstate(divide="ignore"):
        density = shown * np.log(FRACTION) + (reads - shown) * np.log1p(-FRACTION)
    below = np.cumsum(np.exp(density - density.max()) * WIDTH)
    low, high = FRACTION[np.searchsorted(below / below[-1], [(1 - CREDIBLE) / 2, (1 + CREDIBLE) / 2])]
    for bound, expected in ((found.low[0], low), (found.high[0], high)):
        assert abs(bound - expected) < 0.05 * (high - low)


READS = st.lists(st.tuples(*[st.sampled_from([1.0, 0.9, 0.3, 1e-2, 1e-4])] * 2), max_size=40)


@settings(max_examples=25)
@given(st.lists(READS, min_size=1, max_size=3))
def test_uncertain_reads_have_the_sums_over_fine_steps(items):
    found = weigh(items)
    for item, reads in enumerate(items):
        values = fine_likelihood(reads)
        # few reads have few nodes, between which h changes near LEAST; there L does not, so little is lost
        assert found.mean[item] == pytest.approx(log_integral(values, NEUTRAL), abs=0.05)
        is_uneven = (FRACTION >= UNEVEN) & (FRACTION <= 1 - UNEVEN)
        expected = log_integral(values, WIDTH * is_uneven) - math.log10(1 - 2 * UNEVEN)
        assert found.uneven[item] == pytest.approx(expected, abs=0.2)
        assert found.none[item] == pytest.approx(math.fsum(math.log10(q) for _, q in reads))
        assert found.whole[item] == pytest.approx(math.fsum(math.log10(p) for p, _ in reads))
        assert found.half[item] == pytest.approx(math.fsum(math.log10((p + q) / 2) for p, q in reads))


@pytest.mark.parametrize("shape", [(2.0, 0.03), (1.0, 0.01), (2.0, 0.2)])
@pytest.mark.parametrize("reads, shown", [(2000, 4), (2000, 40), (500, 3), (2000, 1200), (30, 3)])
def test_noise_is_of_three_kinds(shape, reads, shown):
    copying, scattered, (power, reach) = 0.01, 0.002, shape
    items = [certain(reads, shown)]
    found, values = weigh(items, copying, scattered, shape), fine_likelihood(items[0])
    is_possible = FRACTION >= LEAST_FRACTION
    copied = WIDTH * np.where(is_possible, FRACTION, 1.0) ** -power * np.exp(-FRACTION / reach) * is_possible
    parts = (
        math.log10(1 - copying - scattered) + found.none[0],
        math.log10(copying) + log_integral(values, copied / copied.sum()),
        math.log10(scattered) + log_integral(values, NEUTRAL * (FRACTION <= MAX_SHARE)),
    )
    expected = log_integral(np.array(parts), np.ones(3))
    tolerance = 0.05 if shown > 4 else 0.4  # where most of the integral is of fractions below the second node
    assert min(found.mean[0] - found.noise[0], SURE) == pytest.approx(
        min(found.mean[0] - expected, SURE), abs=tolerance
    )
    assert found.present[0] == found.mean[0] - found.noise[0]


def test_without_noise_there_is_only_the_likelihood_of_none():
    items = [certain(50, 3), certain(200, 200), []]
    found = weigh(items)
    assert np.allclose(found.noise, found.none)


def test_items_do_not_matter_to_each_other():
    items = [certain(50, 3), [], certain(3000, 21), [(0.3, 0.9)] * 9, certain(2, 2)]
    together = weigh(items, 0.01, 0.001)
    for item, reads in enumerate(items):
        alone = weigh([reads], 0.01, 0.001)
        for name in FractionEvidence._fields:
            assert getattr(together, name)[item] == pytest.approx(getattr(alone, name)[0], rel=1e-12), name


def test_likelihood_between_nodes():
    items = [certain(400, 20), certain(30, 3)]
    contrasts = contrasts_of(items)
    values = log_likelihoods(multiply(contrasts))
    for fraction in (0.05, 0.1, 0.123, 0.5):
        found = likelihoods_at(np.full(2, fraction), contrasts, values)
        for item, reads in enumerate(items):
            exact = sum(math.log10((1 - fraction) * q + fraction * p) for p, q in reads)
            assert found[item] == pytest.approx(exact, rel=2e-3, abs=0.1)
    at_ends = likelihoods_at(np.array([0.0, 1.0]), contrasts, values)
    assert at_ends.tolist() == [values[0], values[-1]]


def test_no_items():
    assert all(column.size == 0 for column in weigh([]))


def test_logs_are_added():
    a, b = np.array([-1.0, -np.inf, -400.0, 3.0]), np.array([-1.0, -2.0, -401.0, -np.inf])
    assert add_logs(a, b) == pytest.approx([math.log10(0.2), -2.0, -400 + math.log10(1.1), 3.0])
