"""Tabulate the error model of fgbio's consensus callers for kernels.

A base has errors of three kinds: before the molecule got its UMI (pre), after that and before sequencing (post), and of
the sequencer. Log likelihoods are integers in units of 2^-24 nats. Exponentials come from tables and qualities from
thresholds, not from exp or log in the kernels, so every processor gets the same quality.
"""

from math import exp, log
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.config import MAX_QUALITY, ConsensusParameters

FRACTION = 24  # fractional bits of a log likelihood
DIGITS = 8  # bits per lookup in a table of exponentials
DOMINANT = exp(6)  # an error so many times as likely as another hides it
PRECISION = 0.001  # Phred; added before a quality is rounded down
HIGHEST = 745  # exp(-x) is 0 beyond it
LOWEST = 2  # lowest quality of a base, and quality of an uncalled one
LARGEST = 0.999  # cap on a base's error: a certain error would have a likelihood of 0


class Model(NamedTuple):
    """Lookup tables of one set of parameters."""

    weights: Annotated[ndarray, "int64 [94]"]  # by quality: a base's gain in log likelihood over the others
    single: Annotated[ndarray, "uint8 [94]"]  # by quality: quality of the consensus of a single read
    powers: Annotated[ndarray, "float64 [746]"]  # exp(-n)
    digits: Annotated[ndarray, "float64 [3, 256]"]  # exp(-n / 256^k)
    limits: Annotated[ndarray, "float64 [94]"]  # by quality: largest error that has it
    pre: float


def make_model(parameters: ConsensusParameters) -> Model:
    pre, post = error_of(parameters.error_rate_pre_umi), error_of(parameters.error_rate_post_umi)
    limits = np.array([10 ** (-(quality - PRECISION) / 10) for quality in range(MAX_QUALITY + 1)])
    adjusted = [min(LARGEST, either_error(post, error_of(quality))) for quality in range(MAX_QUALITY + 1)]
    single = [either_error(error_of(quality), max(pre, post)) for quality in range(MAX_QUALITY + 1)]
    return Model(
        np.array([round(2**FRACTION * log(3 * (1 - error) / error)) for error in adjusted], np.int64),
        np.array([np.count_nonzero(limits[1:] >= error) for error in single], np.uint8),
        np.array([exp(-n) for n in range(HIGHEST + 1)]),
        np.array([[exp(-n / 2 ** (DIGITS * k)) for n in range(1 << DIGITS)] for k in (1, 2, 3)]),
        limits,
        pre,
    )


def error_of(quality: int) -> float:
    return float(10 ** (-quality / 10))


@scalar
def either_error(one, other):
    """Return the probability that two trials end in an error: of either, or of both unless they cancel out."""
    larger, smaller = max(one, other), min(one, other)
    if larger >= DOMINANT * smaller:
        return larger
    return larger + smaller - 4 / 3 * larger * smaller


@scalar
def exponential(model, distance):
    """Return exp(-distance), for a log likelihood of 0 or more."""
    whole = distance >> FRACTION
    if whole > HIGHEST:
        return 0.0
    value = model.powers[whole] * model.digits[0, (distance >> 16) & 255]
    return value * model.digits[1, (distance >> 8) & 255] * model.digits[2, distance & 255]


@scalar
def quality_of(model, error):
    """Return the Phred, rounded down, 93 at most."""
    quality, step = 0, 64
    while step:
        if quality + step <= MAX_QUALITY and error <= model.limits[quality + step]:
            quality += step
        step >>= 1
    return quality


@scalar
def call_base(model, a, c, g, t):
    """Return (0-3, quality) of the most likely of four bases, by log likelihood; (4, LOWEST) on a tie."""
    base, best = 0, a
    if c > best:
        base, best = 1, c
    if g > best:
        base, best = 2, g
    if t > best:
        base, best = 3, t
    if (a == best) + (c == best) + (g == best) + (t == best) > 1:
        return 4, LOWEST
    others = exponential(model, best - a) + exponential(model, best - c)
    others = others + exponential(model, best - g) + exponential(model, best - t) - 1
    return base, max(LOWEST, quality_of(model, either_error(model.pre, max(0.0, others) / (1 + max(0.0, others)))))
