"""Read the library from the header of a VCF by fractions: the rates of damage by context."""

import re
from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

THRESHOLD = "##fraction_threshold="  # only where alleles have fractions
DAMAGE = re.compile(r'##damage=<.*Rates="([^"]*)"')
SUBSTITUTIONS = "C>A", "C>G", "C>T", "T>A", "T>C", "T>G"
CONTEXTS = tuple(f"{before}[{change}]{after}" for change, before, after in product(SUBSTITUTIONS, "ACGT", "ACGT"))


class LibraryFigures(NamedTuple):
    """Threshold and damage rates of the first sample."""

    threshold: float  # least P(real) of a call that passes
    damage: tuple[tuple[float, float], ...]  # by CONTEXTS, in pairs F1R2 and F2R1; empty if the header has no rates


def read_library(header: Iterable[str]) -> LibraryFigures | None:
    """Read the header; None for calls of genotypes. Raises ValueError."""
    threshold, damage = None, tuple[tuple[float, float], ...]()
    for line in header:
        if line.startswith(THRESHOLD):
            threshold = float(line.removeprefix(THRESHOLD))
        elif not damage and (match := DAMAGE.match(line)):
            rates = [float(rate) for rate in match[1].split(",")]
            if len(rates) == 2 * len(CONTEXTS):
                damage = tuple(zip(rates[::2], rates[1::2], strict=True))
    return None if threshold is None else LibraryFigures(threshold, damage)
