"""Fit the noise of a library to its windows' counts, and look it up for alleles. See the package's text."""

import math
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.places.bases import Window
from readwarp.call.records.genotypes.emitted import MISSING_BASE
from readwarp.compiler.jit import kernel
from readwarp.somatic.noise import (
    CLASSES,
    CONTEXTS,
    LEAST,
    MAX_SHARE,
    MOST_VARIANTS,
    ORIENTATIONS,
    SHAPES,
    SUBSTITUTIONS,
)
from readwarp.somatic.noise.counts import DAMAGES, ErrorCounts, class_of_gap, context_of, numbers_of_bins

NODES = np.geomspace(LEAST, 1.0, 97)  # fractions
ROUNDS, ENOUGH = 200, 1e-6
LEAST_RATE = 1e-9  # least rate of errors
SHRINKAGE = 5.0  # reads showing a change, the weight of the substitution's other contexts
CLEAN = 1000.0  # pseudo-sites per class, so that few sites count little
CLEAN_SITES = np.array([CLEAN, 0.0, 0.0])


class Noise(NamedTuple):
    """Noise of each sample, by the classes of the package's text."""

    damage: Annotated[ndarray, "float64 [samples, classes of damage, orientations]"]
    copying: Annotated[ndarray, "float64 [samples, classes]"]  # pi
    variants: Annotated[ndarray, "float64 [samples, classes]"]  # rho, up to MOST_VARIANTS ...
    scattered: Annotated[ndarray, "float64 [samples, classes]"]  # ... and its excess
    shape: Annotated[ndarray, "float64 [samples, 2]"]  # a and r


def no_noise(samples: int) -> Noise:
    damage, classes = np.zeros((samples, DAMAGES, ORIENTATIONS)), np.zeros((samples, CLASSES))
    return Noise(damage, classes, classes, classes, np.tile(SHAPES[0], (samples, 1)))


def fit_noise(counts: ErrorCounts) -> Noise:
    damage = rates_of_damage(counts)
    fits = [fit_sample(*own) for own in zip(rates_of(counts), counts.sites, strict=True)]
    copying, spread, shape = (np.array(column) for column in zip(*fits, strict=True))
    variants = np.minimum(spread, MOST_VARIANTS)
    return Noise(damage, copying, variants, spread - variants, shape)


def rates_of_damage(counts: ErrorCounts) -> ndarray:
    """Return rates (float64 [samples, classes of damage, orientations]), contexts shrunk to the substitution's mean."""
    excess, reads = np.maximum(0.0, counts.shown - counts.expected), np.maximum(1.0, counts.reads)
    shape = len(excess), SUBSTITUTIONS, CONTEXTS // SUBSTITUTIONS, ORIENTATIONS
    own, covered = (column[:, :CONTEXTS].reshape(shape) for column in (excess, reads))
    mean = np.maximum(LEAST_RATE, own.sum(axis=2, keepdims=True) / covered.sum(axis=2, keepdims=True))
    drawn = (own + SHRINKAGE) / (covered + SHRINKAGE / mean) * (own.sum(axis=2, keepdims=True) > 0)
    gaps = excess[:, CONTEXTS:] / reads[:, CONTEXTS:]
    return np.concatenate((drawn.reshape(len(excess), CONTEXTS, ORIENTATIONS), gaps), axis=1)


def rates_of(counts: ErrorCounts) -> ndarray:
    """Return the mean error rate, whatever the cause (float64 [samples, classes])."""
    sums = [column.sum(axis=2) for column in (np.maximum(counts.shown, counts.expected), counts.reads)]
    shown, reads = (
        np.concatenate((own[:, :CONTEXTS].reshape(len(own), SUBSTITUTIONS, -1).sum(axis=2), own[:, CONTEXTS:]), axis=1)
        for own in sums
    )
    return np.asarray(np.maximum(LEAST_RATE, shown / np.maximum(1.0, reads)))


def fit_sample(rates: ndarray, sites: ndarray) -> tuple[ndarray, ndarray, tuple[float, float]]:
    """Return (pi, rho, (a, r)) of one sample. rates: float64 [classes]; sites: int64 [classes, bins, bins].

    The shape is the likeliest one for all classes together.
    """
    tables = [likelihoods_of(rate, own) for rate, own in zip(rates, sites, strict=True)]
    numbers = [number for number, _ in tables]
    ends, number = np.cumsum([own.size for own in numbers]), np.concatenate(numbers)
    likelihood = np.concatenate([own for _, own in tables])
    every = [parts_of(likelihood, density(*shape)) for shape in SHAPES]
    fits = [fit_parts(number, parts, CLEAN_SITES) for parts in every]
    best = max(range(len(SHAPES)), key=lambda i: fits[i][1])
    copying, spread = fit_classes(numbers, np.split(every[best], ends[:-1], axis=1), fits[best][0])
    return copying, spread, SHAPES[best]


def fit_classes(numbers: list[ndarray], parts: list[ndarray], together: ndarray) -> ndarray:
    """Return pi and rho of each class (float64 [2, classes]), shrunk to all classes' if these show copying errors.

    numbers, parts: of each class, see `fit_shares`. together: shares of all.
    """
    expected = np.tile(CLEAN_SITES, (len(numbers), 1))
    if together[1] > 0:
        sites = np.array([posterior_of(together, own) @ number for number, own in zip(numbers, parts, strict=True)])
        others = sites.sum(axis=0) - sites + CLEAN_SITES
        expected = CLEAN * others / others.sum(axis=1, keepdims=True)
    fits = [fit_parts(*own)[0] for own in zip(numbers, parts, expected, strict=True)]
    return np.asarray(np.array(fits)[:, 1:].T)


def parts_of(likelihood: ndarray, copied: ndarray) -> ndarray:
    """Return P(k) of clean sites, copying errors and variants (float64 [3, cells]). likelihood: of `likelihoods_of`."""
    of_variants = np.gradient(NODES) * variant_density(NODES) * (NODES <= MAX_SHARE)  # the tables have no others
    weights = np.zeros((3, 1 + NODES.size))
    weights[0, 0], weights[1, 1:], weights[2, 1:] = 1, copied, of_variants / of_variants.sum()
    return np.asarray(np.maximum(weights @ likelihood.T, 1e-300))


def variant_density(fraction: ndarray) -> ndarray:
    """Return h(f) of the package's text."""
    return np.asarray(1 / ((fraction + LEAST) * np.log1p(1 / LEAST)))


@lru_cache(maxsize=1024)
def mass_between(edges: int, power: float, reach: float) -> ndarray:
    """Return int g(f) df between neighbours of `edges` fractions, sin^2 of even angles (float64 [edges - 1])."""
    fine = np.geomspace(LEAST, 1.0, 4001)
    density = fine**-power * np.exp(-fine / reach)
    below = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(fine))))
    at = np.sin(np.linspace(0, np.pi / 2, edges)) ** 2
    return np.asarray(np.diff(np.interp(np.log(np.maximum(at, LEAST)), np.log(fine), below / below[-1])))


def density(power: float, reach: float) -> ndarray:
    """Return the weights of g on NODES, which sum to 1."""
    weights = np.gradient(NODES) * NODES**-power * np.exp(-NODES / reach)
    return np.asarray(weights / weights.sum())


def likelihoods_of(rate: float, sites: ndarray) -> tuple[ndarray, ndarray]:
    """Return the sites in each filled cell, and P(k) at a fraction of 0 and at NODES (float64 [cells, 1 + nodes])."""
    depth, shown = np.nonzero(sites)
    numbers = numbers_of_bins()
    n, k = numbers[depth], np.minimum(numbers[shown], numbers[depth])
    p = np.minimum(1 - 1e-9, rate + np.concatenate(([0.0], NODES)))
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1.0, n.max(initial=1) + 1)))))  # log factorials
    ways = logs[n.astype(int)] - logs[k.astype(int)] - logs[(n - k).astype(int)]
    values = ways[:, None] + np.outer(k, np.log(p)) + np.outer(n - k, np.log1p(-p))
    return sites[depth, shown], np.exp(values)


def fit_parts(number: ndarray, parts: ndarray, expected: ndarray) -> tuple[ndarray, float]:
    """Return the shares of clean sites, copying errors and variants, and the log likelihood.

    expected: see `fit_shares`. If it has no copying errors, they must pay for themselves.
    """
    share, fit = fit_shares(number, parts, expected)
    if expected[1] == 0:
        bare, least = fit_shares(number, parts[[0, 2]], expected[[0, 2]])
        if fit - least < math.log(max(1, number.sum())) / 2:
            return np.array([bare[0], 0.0, bare[1]]), least
    return share, fit


def posterior_of(share: ndarray, parts: ndarray) -> ndarray:
    """Return the posterior of each part in each cell."""
    joint = share[:, None] * parts
    return np.asarray(joint / joint.sum(axis=0))


def fit_shares(number: ndarray, parts: ndarray, expected: ndarray) -> tuple[ndarray, float]:
    """Return the maximum-likelihood shares of the parts (float64 [parts, cells]), the first of which is clean.

    expected: pseudo-sites of each part.
    """
    share = np.full(len(parts), 0.01)
    share[0] = 1 - share[1:].sum()
    for _ in range(ROUNDS):
        fresh = posterior_of(share, parts) @ number + expected
        fresh /= fresh.sum()
        change, share = np.abs(fresh - share).max(), fresh
        if change < ENOUGH * share[1:].max():
            break
    return share, float(np.log(share @ parts) @ number)


class AlleleNoise(NamedTuple):
    """Noise of alleles; zeros for the reference, missing bases, and replacements of several bases."""

    damage: Annotated[ndarray, "float64 [alleles, samples, orientations]"]
    copying: Annotated[ndarray, "float64 [alleles, samples]"]
    variants: Annotated[ndarray, "float64 [alleles, samples]"]
    scattered: Annotated[ndarray, "float64 [alleles, samples]"]
    shape: Annotated[ndarray, "float64 [samples, 2]"]
    context: Annotated[ndarray, "int64 [alleles]"]  # context of a substitution, for the report; -1 for others


def noise_of(sites: Sites, window: Window, noise: Noise) -> AlleleNoise:
    alleles, samples = sites.deleted.size, noise.shape.shape[0]
    copying, variants, scattered = np.zeros((3, alleles, samples))
    damage = np.zeros((alleles, samples, ORIENTATIONS))
    out = AlleleNoise(damage, copying, variants, scattered, noise.shape, np.full(alleles, -1))
    look_up(sites, window.bases, window.first, noise, out)
    return out


@kernel
def look_up(sites, reference, first, noise, out):
    for site in range(sites.begin.size):
        w = sites.begin[site] - first
        own = reference[w]
        for a in range(sites.allele_offsets[site] + 1, sites.allele_offsets[site + 1]):
            source, size = sites.inserted_offsets[a], sites.inserted_offsets[a + 1] - sites.inserted_offsets[a]
            if not sites.is_indel[site]:
                other = sites.inserted[source]
                if not 0 < w < reference.size - 1 or other >= MISSING_BASE:
                    continue
                before, after = reference[w - 1], reference[w + 1]
                if max(before, own, after) > 3:
                    continue
                context, is_reverse = context_of(before, own, after, other)
                out.context[a] = context
                row, kind = context, context // 16
            elif sites.deleted[a] == 0 or size == 0:
                run = 1
                while w + run < reference.size and reference[w + run] == own:
                    run += 1
                kind, is_reverse = class_of_gap(run, size == 0), False
                row = CONTEXTS + kind - SUBSTITUTIONS
            else:
                continue
            for s in range(out.copying.shape[1]):
                out.copying[a, s], out.variants[a, s] = noise.copying[s, kind], noise.variants[s, kind]
                out.scattered[a, s] = noise.scattered[s, kind]
                for side in range(2):
                    turned = 1 - side if is_reverse else side
                    out.damage[a, s, side] = noise.damage[s, row, 0 if kind >= SUBSTITUTIONS else turned]
