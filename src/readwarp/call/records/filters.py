"""Test records against filters, and detect strand bias, for genotypes, fractions and structural variants."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import CallParameters

SMALL_ODDS = 1.0  # SOR up to which the REF rather than the ALT reads lie on one strand
LOW_QUALITY = "QUAL < {limits.min_quality:g} (--min-quality)"
STRAND_BIAS = (
    "ALT reads are strand-biased, REF reads are not: FS > {limits.max_strand_bias:g} for substitutions "
    "(--max-strand-bias), > {limits.max_indel_strand_bias:g} for insertions and deletions (--max-indel-strand-bias), "
    f"and SOR > {SMALL_ODDS:g}"
)


class Filter(NamedTuple):
    """Filter of records, as declared in the header and as tested."""

    name: str
    description: str  # {limits}: the CallParameters of the run
    fails: Callable[[Any], ndarray] | None = None  # bool [records], of the facts of records; None: set by other records
    quality: str = ""  # INFO field: Phred of the probability that the filter tests, which a record must reach


def find_failed(filters: Sequence[Filter], facts: Any) -> list[tuple[str, ...]]:
    """Return the filters that each record fails, of those that test its facts."""
    failed: list[tuple[str, ...]] = [()] * facts.is_indel.size
    for filter_ in filters:
        for row in np.flatnonzero(filter_.fails(facts)).tolist() if filter_.fails else ():
            failed[row] += (filter_.name,)
    return failed


def is_strand_biased(info: dict[str, ndarray], is_indel: ndarray, limits: CallParameters) -> ndarray:
    """Return which records have ALT reads biased to a strand (bool [records]); a bias of REF alone does not count.

    info: FS and SOR, NaN where missing.
    """
    is_biased = info["FS"] > np.where(is_indel, limits.max_indel_strand_bias, limits.max_strand_bias)
    return np.asarray(is_biased & ~(info["SOR"] <= SMALL_ODDS))
