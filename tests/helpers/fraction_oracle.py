"""What reads say of fractions, by exact arithmetic and by slow loops, for the tests of `readwarp.somatic.fractions`."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from readwarp.ragged import offsets_of
from readwarp.somatic.fractions import AT_ONCE, GROWTH, LEAST, SMALL
from readwarp.somatic.fractions.contrasts import Contrasts, nodes_of

Pair = tuple[float, float]  # P(read | the allele), P(read | others)


def contrasts_of(items: Sequence[Sequence[Pair]]) -> Contrasts:
    """Of the reads of each item."""
    number = np.array([len(reads) for reads in items], np.int64)
    others = np.array([q for reads in items for _, q in reads], np.float64)
    gain = np.array([p for reads in items for p, _ in reads], np.float64) - others
    return Contrasts(read_offsets=offsets_of(number), others=others, gain=gain, **nodes_of(number))


def certain(reads: int, shown: int) -> list[Pair]:
    """So many reads, of which some show the allele, beyond doubt."""
    return [(1.0, LEAST)] * shown + [(LEAST, 1.0)] * (reads - shown)


def exact_product(others: np.ndarray, gain: np.ndarray, fraction: float) -> tuple[float, int]:
    """(product, growths) at one node, each operation rounded once."""
    product, growths, f = 1.0, 0, Fraction(fraction)
    for start in range(0, others.size, AT_ONCE):
        for g, q in zip(gain[start : start + AT_ONCE].tolist(), others[start : start + AT_ONCE].tolist(), strict=True):
            product *= float(Fraction(g) * f + Fraction(q))  # the quotient of two integers, correctly rounded
        if product < SMALL:
            product, growths = product * GROWTH, growths + 1
    return product, growths


def log_product(others: np.ndarray, gain: np.ndarray, fraction: float) -> float:
    """log10 L, to 15 digits."""
    return math.fsum(np.log10(others + gain * fraction).tolist())


def log_integral(log_values: np.ndarray, weights: np.ndarray) -> float:
    """log10 of sum 10^value x weight."""
    highest = log_values[weights > 0].max()
    return highest + math.log10(math.fsum((10.0 ** (log_values - highest) * weights).tolist()))
