"""Probability of indel errors."""

from readwarp.device.jit import scalar


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
