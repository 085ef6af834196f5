"""Describe filters with their limits, and detect strand bias, for genotypes, fractions and structural variants."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import CallParameters
from readwarp.formats.variants.vcf import Named

SMALL_ODDS = 1.0  # SOR up to which the REF rather than the ALT reads lie on one strand
LOW_QUALITY = "QUAL < {limits.min_quality:g} (--min-quality)"
STRAND_BIAS = (
    "ALT reads are strand-biased, REF reads are not: FS > {limits.max_strand_bias:g} for substitutions "
    "(--max-strand-bias), > {limits.max_indel_strand_bias:g} for insertions and deletions (--max-indel-strand-bias), "
    f"and SOR > {SMALL_ODDS:g}"
)


class Described(NamedTuple):
    """Filter as declared in the header."""

    name: str
    description: str


def describe_filters(rows: Sequence[Named], limits: CallParameters) -> list[Described]:
    """Substitute the limits of the run for {limits...} in the descriptions."""
    return [Described(row.name, row.description.format(limits=limits)) for row in rows]


def is_strand_biased(info: dict[str, ndarray], is_indel: ndarray, limits: CallParameters) -> ndarray:
    """Return which records have ALT reads biased to a strand (bool [records]); a bias of REF alone does not count.

    info: FS and SOR, NaN where missing.
    """
    is_biased = info["FS"] > np.where(is_indel, limits.max_indel_strand_bias, limits.max_strand_bias)
    return np.asarray(is_biased & ~(info["SOR"] <= SMALL_ODDS))
