"""Estimate the fraction of each sample's molecules that are another person's, from reads at common sites (host only).

At a site where the person has two copies of a common allele, REF reads other than errors are another person's. With g
copies of REF in that person, of probability Bin(g; 2, 1 - AF), and a contamination c, a sample's k REF reads of the n
of both alleles have

    A(c) = sum_g Bin(g; 2, 1 - AF) Bin(k; n, e + (1 - 2 e) c g / 2)

where e is the sample's rate of errors from one base to another, by reads of third bases at these sites. Or the person
has one copy of REF, on half of the molecules, or on any share where a tumour lost or gained copies or reads are
misplaced:

    H = (1 - w) Bin(k; n, 1/2) + w / (n + 1)               w is ODD for a normal, and the likeliest of LOST for tumours

Samples are from one person, so a site has the likelihood

    AF^2 prod A(c_s) + 2 AF (1 - AF) prod H_s

and the c_s maximise it over all sites, one sample after the other. The standard error is the distance above c_s at
which the log likelihood falls by 1/2. Sites need ALT on LEAST_SHARE of their reads. To compare w, the likelihood is
divided by the probability of such a site, AF^2 + 2 AF (1 - AF) ((1 - w) Phi + w (1 - LEAST_SHARE)), with Phi for so few
REF reads at a half.

A normal tells loss from contamination; without one, a tumour that lost copies on most of its genome looks contaminated.
(After GATK's CalculateContamination, which counts the REF reads of such sites.)

*Kinship* tells whether samples are from one person, or have the same reads. For samples a and b, at positions that DEEP
reads or more of both cover:

    COVERED    positions
    EQUAL      where both have the same number of each base
    CARRIED    bases other than the reference's that HAS or more of a's reads show
    LACKED     those of CARRIED that LACKS or less of b's reads show

Of two people, each lacks about half of the other's bases. A tumour has mutations that its normal lacks, or lost alleles
that the normal has, but hardly both at so many sites.
"""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

LEAST_FREQUENCY, MOST_FREQUENCY = 0.01, 0.8  # AF of common sites
LEAST_SHARE, LEAST_READS = 0.6, 10  # least share and reads of the common allele, in all samples together
LEAST_SITES = 20
HIGHEST = 0.5
ODD, LOST = 0.01, (0.01, 0.03, 0.1, 0.3, 1.0)
ROUNDS = 20  # most rounds over the samples
STEPS = 33  # values of c at a time, between the limits
ENOUGH = 1e-6
DEEP = 15
HAS, LACKS = 0.35, 0.05
COVERED, EQUAL, CARRIED, LACKED = range(4)
LEAST_CARRIED, MOST_LACKED = 20, 0.3
LEAST_COVERED, SAME = 500, 0.999


class CommonSites(NamedTuple):
    """Common substitutions of the population in a window, one per position."""

    position: Annotated[ndarray, "int64 [sites]"]
    base: Annotated[ndarray, "uint8 [sites]"]  # ALT
    frequency: Annotated[ndarray, "float64 [sites]"]


class SitePiles(NamedTuple):
    frequency: Annotated[ndarray, "float64 [sites]"]
    reads: Annotated[ndarray, "int64 [sites, samples, 3]"]  # reads of REF, of ALT, and of the two other bases


class Terms(NamedTuple):
    """Terms of the likelihoods."""

    log_copies: Annotated[ndarray, "float64 [3, sites]"]  # priors of no, one and two copies of REF
    old: Annotated[ndarray, "int64 [sites, samples]"]  # reads of REF
    new: Annotated[ndarray, "int64 [sites, samples]"]  # reads of ALT
    log_ways: Annotated[ndarray, "float64 [sites, samples]"]  # binomial coefficients
    log_one: Annotated[ndarray, "float64 [sites]"]  # log prior of one copy of REF, and H of all samples
    rate: Annotated[ndarray, "float64 [samples]"]  # e
    log_chosen: float  # log probability that all sites show ALT


class Contamination(NamedTuple):
    """Contamination of each sample; NaN if there are too few sites."""

    fraction: Annotated[ndarray, "float64 [samples]"]
    error: Annotated[ndarray, "float64 [samples]"]  # standard error
    sites: Annotated[ndarray, "int64 [samples]"]  # sites with reads of the sample


def pile_common(common: CommonSites, reference: ndarray, start: int, bases: Sequence[ndarray]) -> SitePiles:
    """Return the piles of sites that most reads show as ALT.

    reference: uint8 [positions], from `start` on; bases: int [positions, 4] of each sample.
    """
    rows = common.position - start
    inside = (rows >= 0) & (rows < reference.size)
    rows, base = rows[inside], common.base[inside]
    frequency = common.frequency[inside]
    counts = np.stack([own[rows] for own in bases], axis=1).astype(np.int64)
    old, new = (
        np.take_along_axis(counts, column.astype(np.int64)[:, None, None], axis=2)
        for column in (np.minimum(reference[rows], 3), base)
    )
    reads = np.concatenate((old, new, counts.sum(axis=2, keepdims=True) - old - new), axis=2)
    total = reads.sum(axis=1)
    chosen = (total[:, 1] >= LEAST_SHARE * total.sum(axis=1)) & (total[:, :2].sum(axis=1) >= LEAST_READS)
    return SitePiles(frequency[chosen], reads[chosen])


def given_contamination(fraction: float, samples: int) -> Contamination:
    return Contamination(np.full(samples, fraction), np.full(samples, np.nan), np.zeros(samples, np.int64))


def estimate_contamination(piles: Sequence[SitePiles], is_normal: ndarray) -> Contamination:
    """Estimate contamination. piles: of all windows, in order. is_normal: bool [samples]."""
    samples = is_normal.size
    frequency = np.concatenate([np.empty(0), *(own.frequency for own in piles)])
    reads = np.concatenate([np.empty((0, samples, 3), np.int64), *(own.reads for own in piles)])
    sites = (reads[:, :, :2].sum(axis=2) > 0).sum(axis=0)
    fraction, error = np.zeros(samples), np.zeros(samples)
    if (sites >= LEAST_SITES).any():
        tried = [terms_of(frequency, reads, is_normal, lost) for lost in LOST]
        fits = [fit_fractions(terms, samples) for terms in tried]
        heights = [
            log_likelihoods(terms, fit, 0, fit[:1])[0] - terms.log_chosen
            for terms, fit in zip(tried, fits, strict=True)
        ]
        best = int(np.argmax(heights))
        terms, fraction = tried[best], fits[best]
        error = np.array([find_error(terms, fraction, sample) for sample in range(samples)])
    fraction, error = (np.where(sites >= LEAST_SITES, own, np.nan) for own in (fraction, error))
    return Contamination(fraction, error, sites)


def fit_fractions(terms: Terms, samples: int) -> ndarray:
    """Return the likeliest c of all samples (float64 [samples])."""
    fraction = np.zeros(samples)
    for _ in range(ROUNDS):
        before = fraction.copy()
        for sample in range(samples):
            fraction[sample] = find_likeliest(terms, fraction, sample)
        if np.abs(fraction - before).max() < ENOUGH:
            break
    return fraction


def terms_of(frequency: ndarray, reads: ndarray, is_normal: ndarray, lost: float) -> Terms:
    """Return the terms. lost: w of tumours."""
    old, new, third = np.moveaxis(reads, 2, 0)
    copies = np.stack((frequency**2, 2 * frequency * (1 - frequency), (1 - frequency) ** 2))
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1.0, (old + new).max(initial=1) + 1)))))  # log factorials
    rate = (third.sum(axis=0) + 1) / 2 / (reads.sum(axis=(0, 2)) + 2)
    ways = logs[old + new] - logs[old] - logs[new]
    odd = np.where(is_normal, ODD, lost)
    half, anyhow = np.exp(ways + (old + new) * math.log(0.5)), 1 / (old + new + 1)
    one = np.log(copies[1]) + np.log((1 - odd) * half + odd * anyhow).sum(axis=1)
    few, even = math.prod(1 - odd), phi((0.5 - LEAST_SHARE) * 2 * np.sqrt((old + new).sum(axis=1)))
    chosen = np.log(copies[0] + copies[1] * (few * even + (1 - few) * (1 - LEAST_SHARE)))
    return Terms(np.log(copies), old, new, ways, one, rate, float(chosen.sum()))


def phi(values: ndarray) -> ndarray:
    """Return the cumulative normal distribution."""
    return np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in values.tolist()])


def log_likelihoods(terms: Terms, fraction: ndarray, sample: int, tried: ndarray) -> ndarray:
    """Return log likelihoods of the values of c tried for one sample (float64 [tried]). fraction: c of all samples."""
    alternate = terms.log_copies[0][:, None] + log_pure(terms, sample, tried)
    for other in range(fraction.size):
        if other != sample:
            alternate = alternate + log_pure(terms, other, fraction[other : other + 1])
    return np.asarray(np.logaddexp(alternate, terms.log_one[:, None]).sum(axis=0))


def log_pure(terms: Terms, sample: int, fraction: ndarray) -> ndarray:
    """Return log A at each c (float64 [sites, fractions])."""
    old, new = terms.old[:, sample, None], terms.new[:, sample, None]
    rate = terms.rate[sample]
    parts = []
    for copies, weight in enumerate(terms.log_copies):
        share = rate + (1 - 2 * rate) * fraction * copies / 2
        parts.append(weight[:, None] + old * np.log(share) + new * np.log1p(-share))
    return np.asarray(terms.log_ways[:, sample, None] + np.logaddexp.reduce(parts))


def find_likeliest(terms: Terms, fraction: ndarray, sample: int) -> float:
    low, high = 0.0, HIGHEST
    while high - low > ENOUGH:
        tried = low + (high - low) * np.linspace(0, 1, STEPS) ** 2
        best = int(np.argmax(log_likelihoods(terms, fraction, sample, tried)))
        low, high = float(tried[max(0, best - 1)]), float(tried[min(STEPS - 1, best + 1)])
    return (low + high) / 2 if low else 0.0


def find_error(terms: Terms, fraction: ndarray, sample: int) -> float:
    """Return the distance from the likeliest c to the one above it that is half a unit less likely."""
    low, high = float(fraction[sample]), 1.0 - ENOUGH
    wanted = log_likelihoods(terms, fraction, sample, fraction[sample : sample + 1])[0] - 0.5
    while high - low > ENOUGH / 10:
        middle = (low + high) / 2
        is_near = log_likelihoods(terms, fraction, sample, np.array([middle]))[0] > wanted
        low, high = (middle, high) if is_near else (low, middle)
    return high - float(fraction[sample])


def count_kinship(reference: ndarray, bases: Sequence[ndarray]) -> ndarray:
    """Count int64 [samples, samples, 4]. reference: uint8 [positions]; bases: int [positions, 4] of each sample."""
    out = np.zeros((len(bases), len(bases), 4), np.int64)
    if len(bases) < 2:
        return out
    depth = np.stack([own.sum(axis=1) for own in bases])
    is_other = np.arange(4) != reference[:, None]
    for a, own in enumerate(bases):
        for b, others in enumerate(bases):
            if a != b:
                is_deep = (np.minimum(depth[a], depth[b]) >= DEEP) & (reference < 4)
                carried = is_other & is_deep[:, None] & (own >= HAS * depth[a][:, None])
                lacked = carried & (others <= LACKS * depth[b][:, None])
                equal = is_deep & (own == others).all(axis=1)
                out[a, b] = is_deep.sum(), equal.sum(), carried.sum(), lacked.sum()
    return out


def have_same_reads(kinship: ndarray, a: int, b: int) -> bool:
    covered, equal = kinship[a, b, [COVERED, EQUAL]].tolist()
    return bool(covered >= LEAST_COVERED and equal >= SAME * covered)


def are_two_people(kinship: ndarray, a: int, b: int) -> bool:
    sides = kinship[[a, b], [b, a]][:, [CARRIED, LACKED]]
    return all(carried >= LEAST_CARRIED and lacked > MOST_LACKED * carried for carried, lacked in sides.tolist())
