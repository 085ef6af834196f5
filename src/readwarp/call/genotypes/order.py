"""Genotypes in the order of the VCF specification, section 1.6.2 (GL)."""

from functools import cache
from itertools import combinations_with_replacement
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel

Genotype = tuple[int, ...]


class GenotypeTables(NamedTuple):
    """The genotypes of each ploidy and number of alleles, table after table."""

    alleles: Annotated[ndarray, "int8 [genotypes, copies]"]  # ascending; -1 after a genotype's last copy
    first: Annotated[ndarray, "int64 [ploidies, numbers]"]  # the row of `alleles` where a table begins
    size: Annotated[ndarray, "int64 [ploidies, numbers]"]  # genotypes in it; size[-1, -1] is the largest


@cache
def genotypes_of(alleles: int, ploidy: int) -> tuple[Genotype, ...]:
    """All genotypes of this many alleles, each in ascending order of its alleles."""
    return tuple(sorted(combinations_with_replacement(range(alleles), ploidy), key=lambda g: g[::-1]))


def tables_for(alleles: int, ploidy: ndarray) -> GenotypeTables:
    """The genotypes of up to this many alleles, for the ploidies that occur."""
    return genotype_tables(alleles, tuple(np.unique(np.maximum(ploidy, 1)).tolist()) or (1,))


@cache
def genotype_tables(alleles: int, ploidies: tuple[int, ...]) -> GenotypeTables:
    rows: list[Genotype] = []
    first, size = np.zeros((2, max(ploidies) + 1, alleles + 1), np.int64)
    for ploidy in ploidies:
        for n in range(1, alleles + 1):
            table = genotypes_of(n, ploidy)
            first[ploidy, n], size[ploidy, n] = len(rows), len(table)
            rows += [genotype + (-1,) * (max(ploidies) - ploidy) for genotype in table]
    return GenotypeTables(np.array(rows, np.int8).reshape(-1, max(ploidies)), first, size)


@kernel
def table_of(tables, ploidy, alleles):
    """The rows of `tables.alleles` for a ploidy and a number of alleles."""
    first = tables.first[ploidy, alleles]
    return tables.alleles[first : first + tables.size[ploidy, alleles]]


@kernel
def insert_allele(genotype, copies, allele):
    """Insert one more allele into the first `copies` of a genotype, which ascend."""
    while copies > 0 and genotype[copies - 1] > allele:
        genotype[copies] = genotype[copies - 1]
        copies -= 1
    genotype[copies] = allele


@kernel
def number_of(genotype, ploidy):
    """The number of a genotype, in ascending order of its alleles, among all: sum over k of C(a_k + k, k + 1)."""
    place = 0
    for k in range(ploidy):
        ways = 1
        for i in range(k + 1):
            ways = ways * (genotype[k] + k - i) // (i + 1)
        place += ways
    return place
