"""Probabilities of single bases."""

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
