"""Multiply over reads, and turn the products into fractions, their intervals, and odds of what an allele is.

An allele is a tumour's mutation, an error, inherited, or an artefact of tumour and normal.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import VECTOR_BYTES, fused, load, plus, splat, store, where_greater
from readwarp.config import FractionParameters
from readwarp.somatic.fractions import AT_ONCE, CREDIBLE, GROWTH, INDEL_PRIOR, RARE, SMALL, UNEVEN
from readwarp.somatic.fractions.contrasts import HALF, NONE, WHOLE, Contrasts, angles
from readwarp.somatic.noise import MAX_SHARE
from readwarp.somatic.noise.fit import mass_between, variant_density

LOG_GROWTH = math.log10(GROWTH)
MAX_PHRED = 999.0
VECTORS = 4  # of nodes, whose products are in registers


class Products(NamedTuple):
    """L(f) of each node: the product, divided by GROWTH `growths` times."""

    product: Annotated[ndarray, "float64 [nodes]"]
    growths: Annotated[ndarray, "float64 [nodes]"]  # whole numbers


class FractionEvidence(NamedTuple):
    """log10 likelihoods of each item's reads, float64 [items]; the bounds are fractions."""

    mean: Annotated[ndarray, "float64 [items]"]  # mean of L over all fractions, with the density of variants
    none: Annotated[ndarray, "float64 [items]"]  # L(0)
    noise: Annotated[ndarray, "float64 [items]"]  # mean of L over 0 and the fractions of copying errors
    half: Annotated[ndarray, "float64 [items]"]  # L(1/2)
    whole: Annotated[ndarray, "float64 [items]"]  # L(1)
    uneven: Annotated[ndarray, "float64 [items]"]  # mean of L over [UNEVEN, 1 - UNEVEN]: uneven copies
    low: Annotated[ndarray, "float64 [items]"]  # bounds of AFCI
    high: Annotated[ndarray, "float64 [items]"]

    @property
    def present(self) -> ndarray:
        """Return the LOD that the sample has the allele, against noise."""
        return np.asarray(self.mean - self.noise)

    @property
    def shown(self) -> ndarray:
        """Return the LOD that some molecules have the allele, by whatever cause, against read errors."""
        return np.asarray(self.mean - self.none)

    @property
    def others(self) -> ndarray:
        """Return the LOD that some molecules have another allele, against none."""
        return np.asarray(self.mean - self.whole)


def multiply(contrasts: Contrasts) -> Products:
    """Multiply over reads; see the step's contract."""
    products, growths = np.empty((2, contrasts.fraction.size))
    multiply_all(contrasts, products, growths)
    return Products(products, growths)


@kernel
def multiply_all(contrasts, products, growths):
    read_offsets, others, gain, node_offsets, fraction = contrasts
    lanes = VECTOR_BYTES // products.itemsize
    zero, one = splat(products, 0.0), splat(products, 1.0)
    small, growth = splat(products, SMALL), splat(products, GROWTH)
    for item in range(node_offsets.size - 1):
        low, high = read_offsets[item], read_offsets[item + 1]
        for node in range(node_offsets[item], node_offsets[item + 1], VECTORS * lanes):
            f0, f1 = load(fraction, node), load(fraction, node + lanes)
            f2, f3 = load(fraction, node + 2 * lanes), load(fraction, node + 3 * lanes)
            p0 = p1 = p2 = p3 = one
            n0 = n1 = n2 = n3 = zero
            for start in range(low, high, AT_ONCE):
                for r in range(start, min(start + AT_ONCE, high)):
                    g, q = splat(products, gain[r]), splat(products, others[r])
                    p0, p1 = fused(p0, fused(g, f0, q), zero), fused(p1, fused(g, f1, q), zero)
                    p2, p3 = fused(p2, fused(g, f2, q), zero), fused(p3, fused(g, f3, q), zero)
                n0, p0 = grow(p0, n0, one, small, growth, zero)
                n1, p1 = grow(p1, n1, one, small, growth, zero)
                n2, p2 = grow(p2, n2, one, small, growth, zero)
                n3, p3 = grow(p3, n3, one, small, growth, zero)
            store(products, node, p0)
            store(products, node + lanes, p1)
            store(products, node + 2 * lanes, p2)
            store(products, node + 3 * lanes, p3)
            store(growths, node, n0)
            store(growths, node + lanes, n1)
            store(growths, node + 2 * lanes, n2)
            store(growths, node + 3 * lanes, n3)


@kernel
def grow(product, number, one, small, growth, zero):
    """Return (number of times it grew, product)."""
    more = where_greater(small, product, plus(number, one), number)
    return more, where_greater(small, product, fused(product, growth, zero), product)


def weigh_products(contrasts: Contrasts, products: Products, noise: Sequence[ndarray]) -> FractionEvidence:
    """Weigh the products. noise: copying, scattered and shape of `somatic.noise`, per item (float64 [items])."""
    copying, scattered, shape = noise
    offsets = contrasts.node_offsets
    first, stop = offsets[:-1], offsets[1:]
    likelihood = log_likelihoods(products)
    if first.size == 0:
        return FractionEvidence(*np.empty((len(FractionEvidence._fields), 0)))
    weight = np.concatenate([weights_of(number) for number in (stop - first).tolist()])
    is_uneven = (contrasts.fraction >= UNEVEN) & (contrasts.fraction <= 1 - UNEVEN)
    mean, _ = integrate(likelihood, weight * variant_density(contrasts.fraction), offsets)
    is_low = contrasts.fraction <= MAX_SHARE
    scatter, _ = integrate(likelihood, weight * variant_density(contrasts.fraction) * is_low, offsets)
    _, mass = integrate(likelihood, weight, offsets)
    sizes = zip((stop - first).tolist(), shape.tolist(), strict=True)
    copied = np.concatenate([np.pad(mass_between(number - 2, *own), (1, 2)) for number, own in sizes])
    copies, _ = integrate(likelihood, copied, offsets)
    uneven, _ = integrate(likelihood, weight * is_uneven, offsets)
    bounds = find_interval(mass, offsets)
    width = math.log10(1 - 2 * UNEVEN)
    none, half, whole = (likelihood[at] for at in (first + NONE, stop + HALF, stop + WHOLE))
    with np.errstate(divide="ignore"):
        clean = none + np.log10(1 - copying - scattered)
        null = add_logs(clean, add_logs(copies + np.log10(copying), scatter + np.log10(scattered)))
    return FractionEvidence(mean, none, null, half, whole, uneven - width, *bounds)


def integrate(likelihood: ndarray, weight: ndarray, offsets: ndarray) -> tuple[ndarray, ndarray]:
    """Return log10 of the sum of weight x 10^likelihood of each item, and each node's share of it."""
    first, number = offsets[:-1], np.diff(offsets)
    with np.errstate(divide="ignore"):
        mass = likelihood + np.log10(weight)
    highest = np.maximum.reduceat(mass, first)
    linear = 10.0 ** (mass - np.repeat(highest, number))
    total = np.add.reduceat(linear, first)
    return np.asarray(highest + np.log10(total)), linear / np.repeat(total, number)


def find_interval(mass: ndarray, offsets: ndarray) -> tuple[ndarray, ndarray]:
    """Return the fractions that enclose CREDIBLE of each item's mass. mass: around each node, uniform in t."""
    bounds = np.empty((2, offsets.size - 1))
    for item, (first, stop) in enumerate(pairwise(offsets.tolist())):
        below = np.concatenate(([0.0], np.cumsum(mass[first + 1 : stop + HALF])))
        t = np.interp(((1 - CREDIBLE) / 2, (1 + CREDIBLE) / 2), below, np.linspace(0, math.pi / 2, below.size))
        bounds[:, item] = np.sin(t) ** 2
    return bounds[0], bounds[1]


def log_likelihoods(products: Products) -> ndarray:
    """Return log10 L of each node (float64 [nodes])."""
    return np.asarray(np.log10(products.product) - LOG_GROWTH * products.growths)


def likelihoods_at(fraction: ndarray, contrasts: Contrasts, likelihood: ndarray) -> ndarray:
    """Interpolate log10 L of each item at its fraction (float64 [items]), between the nodes of `log_likelihoods`."""
    out = np.empty(fraction.size)
    for item, (first, stop) in enumerate(zip(contrasts.node_offsets[:-1], contrasts.node_offsets[1:], strict=True)):
        nodes = np.r_[first : stop + HALF, stop + WHOLE]
        out[item] = np.interp(fraction[item], contrasts.fraction[nodes], likelihood[nodes])
    return out


def add_logs(a: ndarray, b: ndarray) -> ndarray:
    """Return log10(10^a + 10^b), either of which may be -inf."""
    high = np.maximum(np.maximum(a, b), -1e300)
    return np.asarray(high + np.log10(10.0 ** (a - high) + 10.0 ** (b - high)))


def weights_of(number: int) -> ndarray:
    """Return df of each of `number` nodes; 0 for nodes not at midpoints."""
    t = angles(number)
    return np.concatenate(([0.0], np.sin(2 * t) * (math.pi / 2 / t.size), [0.0, 0.0]))


class PopulationAlleles(NamedTuple):
    """Alleles of sites in other people."""

    frequency: Annotated[ndarray, "float64 [alleles]"]  # AF in the population; NaN: unknown
    in_panel: Annotated[ndarray, "bool [alleles]"]  # in the panel of normals


class Odds(NamedTuple):
    """log10 odds of each allele."""

    tumour: Annotated[ndarray, "float64 [alleles]"]  # TLOD
    normal: Annotated[ndarray, "float64 [alleles]"]  # NLOD; NaN without a normal
    artefact: Annotated[ndarray, "float64 [alleles]"]  # NALOD; NaN without a normal
    error: Annotated[ndarray, "float64 [alleles]"]  # read errors made it, against a mutation
    germline: Annotated[ndarray, "float64 [alleles]"]  # it is inherited, against a mutation; NaN in a mixture
    foreign: Annotated[ndarray, "float64 [alleles]"]  # contamination, against a mutation; NaN: fraction unknown


class SomaticPriors(NamedTuple):
    """Prior rates and frequencies of alleles."""

    variants: Annotated[ndarray, "float64 [alleles, samples]"]  # rho of `readwarp.somatic.noise`
    is_indel: Annotated[ndarray, "bool [alleles]"]
    frequency: Annotated[ndarray, "float64 [alleles]"]  # AF in the population; NaN: unknown


def weigh_alleles(
    evidence: FractionEvidence,
    at_tumour: ndarray,
    expected: SomaticPriors,
    is_normal: ndarray,
    parameters: FractionParameters,
) -> Odds:
    """Weigh alleles. evidence, and log10 L at the tumour's fraction: [alleles, samples] each. is_normal: [samples]."""
    tumours, normals = ~is_normal, is_normal
    tumour = np.maximum(0.0, evidence.present[:, tumours]).sum(axis=1)
    prior, p = log_prior(expected, tumours, parameters), population_of(expected)
    unknown = np.full(p.size, np.nan)
    normal, artefact = unknown, unknown
    if normals.any():
        normal = (evidence.none - evidence.half)[:, normals].sum(axis=1)
        artefact = (evidence.none - at_tumour)[:, normals].sum(axis=1)
    one = np.log10(2 * p * (1 - p)) + evidence.uneven[:, tumours].sum(axis=1) + evidence.half[:, normals].sum(axis=1)
    both = 2 * np.log10(p) + evidence.whole.sum(axis=1)
    mutated = (
        2 * np.log10(1 - p) + prior + evidence.mean[:, tumours].sum(axis=1) + evidence.none[:, normals].sum(axis=1)
    )
    germline = add_logs(one, both) - mutated if parameters.is_somatic else unknown
    return Odds(tumour, normal, artefact, -tumour - prior, germline, unknown)


def weigh_foreign(
    evidence: FractionEvidence,
    at_copies: tuple[ndarray, ndarray],
    expected: SomaticPriors,
    is_normal: ndarray,
    parameters: FractionParameters,
) -> ndarray:
    """Return Odds.foreign. at_copies: log10 L at c / 2 and at c of each sample: [alleles, samples] each."""
    p, tumours = population_of(expected), ~is_normal
    beyond = [subtract_logs(likelihood, evidence.none) for likelihood in at_copies]
    came, absent = np.full(p.size, -np.inf), np.zeros(p.size)
    for sample in np.flatnonzero(tumours).tolist():  # each is contaminated by a person of its own
        one, both = np.log10(2 * p * (1 - p)) + beyond[0][:, sample], 2 * np.log10(p) + beyond[1][:, sample]
        with np.errstate(divide="ignore"):  # none exceeds L(0)
            some, none = add_logs(one, both), 2 * np.log10(1 - p) + evidence.none[:, sample]
            came, absent = add_logs(came + add_logs(none, some), absent + some), absent + none
    return np.asarray(came - log_prior(expected, tumours, parameters) - evidence.mean[:, tumours].sum(axis=1))


def log_prior(expected: SomaticPriors, tumours: ndarray, parameters: FractionParameters) -> ndarray:
    """Return log10 of the prior of a mutation (float64 [alleles])."""
    usual = parameters.mutation_prior * np.where(expected.is_indel, INDEL_PRIOR, 1.0)
    return np.asarray(np.log10(np.maximum(usual, np.max(expected.variants, axis=1, where=tumours, initial=0.0))))


def population_of(expected: SomaticPriors) -> ndarray:
    """Return p (float64 [alleles])."""
    frequency = expected.frequency
    return np.where(np.isnan(frequency), RARE, np.clip(frequency, RARE, 1 - RARE))


def subtract_logs(a: ndarray, b: ndarray) -> ndarray:
    """Return log10(10^a - 10^b); -inf where that is not positive."""
    with np.errstate(divide="ignore"):
        return np.asarray(a + np.log10(-np.expm1(np.minimum(0.0, b - a) * math.log(10))))


def phred_of(odds: ndarray) -> ndarray:
    """Return the Phred of the probability with these log10 odds; at most MAX_PHRED."""
    likely = np.clip(-odds, -300, 300)
    return np.asarray(np.minimum(MAX_PHRED, 10 * np.where(likely > 15, likely, np.log10(1.0 + 10.0**likely))))
