"""Genotypes in the order of the VCF specification, section 1.6.2 (GL)."""

from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from readwarp.call.sites import MAX_ALLELES


@cache
def genotypes_of(alleles: int, ploidy: int) -> tuple[tuple[int, ...], ...]:
    """All genotypes of so many alleles, each in ascending order of its alleles."""
    return tuple(sorted(combinations_with_replacement(range(alleles), ploidy), key=lambda g: g[::-1]))


@cache
def genotype_tables(ploidy: int) -> tuple[np.ndarray, np.ndarray]:
    """The genotypes of 0, 1, ... alleles one behind the other (int8 [G, ploidy]), and where each begins."""
    tables = [genotypes_of(n, ploidy) for n in range(MAX_ALLELES + 1)]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum([len(t) for t in tables], dtype=np.int64)))
    return np.array([g for table in tables for g in table], np.int8).reshape(-1, ploidy), offsets
