"""Probabilities of single bases and of indel errors."""

import math

from readwarp.device.jit import scalar

LOG10_3 = math.log10(3.0)


@scalar
def log_match(quality):
    """log10(1 - e); a base of quality 0 or 1 says nothing."""
    return math.log10(1.0 - 10.0 ** (-0.1 * quality)) if quality > 1 else -LOG10_3


@scalar
def log_mismatch(quality):
    """log10(e / 3)"""
    return -0.1 * quality - LOG10_3 if quality > 1 else -LOG10_3


@scalar
def log_indel_error(difference, unit, tract):
    """log10 of the probability of an error of `difference` bases in a repeat of `tract` bases in units of `unit`."""
    size, repeats = abs(difference), tract // unit
    phred = 45.0
    if size == 0:
        phred = 60.0
    elif size % unit == 0:
        slope = 2.2 if unit == 1 else 2.8
        phred = max(10.0, 45.0 - slope * max(0, repeats - 4)) + 5.0 * (size // unit - 1)
    return -0.1 * min(phred, 60.0)
