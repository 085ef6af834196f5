"""Genotypes in the order of the VCF specification, section 1.6.2 (GL)."""

from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from readwarp.device.jit import kernel

Genotype = tuple[int, ...]


@cache
def genotypes_of(alleles: int, ploidy: int) -> tuple[Genotype, ...]:
    """All genotypes of so many alleles, each in ascending order of its alleles."""
    return tuple(sorted(combinations_with_replacement(range(alleles), ploidy), key=lambda g: g[::-1]))


@cache
def genotype_tables(alleles: int, ploidies: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The genotypes of up to so many alleles for each of the ploidies, one table behind the other.

    -> rows int8 [G, most copies] (-1 behind the last copy), and for [ploidy, alleles] the first row of a table (int64)
    and how many it has (int64).
    """
    rows: list[Genotype] = []
    first, number = np.zeros((2, max(ploidies) + 1, alleles + 1), np.int64)
    for ploidy in ploidies:
        for n in range(1, alleles + 1):
            table = genotypes_of(n, ploidy)
            first[ploidy, n], number[ploidy, n] = len(rows), len(table)
            rows += [genotype + (-1,) * (max(ploidies) - ploidy) for genotype in table]
    return np.array(rows, np.int8).reshape(-1, max(ploidies)), first, number


@kernel
def number_of(genotype, ploidy):
    """Place of a genotype, in ascending order of its alleles, among all: sum over k of C(a_k + k, k + 1)."""
    place = 0
    for k in range(ploidy):
        ways = 1
        for i in range(k + 1):
            ways = ways * (genotype[k] + k - i) // (i + 1)
        place += ways
    return place
