"""Enumerate genotypes in the order of the VCF specification, section 1.6.2 (GL)."""

from functools import cache
from itertools import combinations_with_replacement
from math import comb
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel

Genotype = tuple[int, ...]
MAX_GENOTYPES = 6000  # limit per site: 3 alleles at ploidy 100, 7 at ploidy 9
MAX_NUMBER = 127  # number of alleles, held in a byte


class GenotypeTables(NamedTuple):
    """Genotypes of each ploidy and number of alleles, table after table."""

    alleles: Annotated[ndarray, "int8 [genotypes, copies]"]  # ascending; -1 after a genotype's last copy
    first: Annotated[ndarray, "int64 [ploidies, numbers]"]  # row of `alleles` where a table begins
    size: Annotated[ndarray, "int64 [ploidies, numbers]"]  # genotypes of a table; 0 if there is none
    largest: int  # genotypes of the largest table


@cache
def genotypes_of(alleles: int, ploidy: int) -> tuple[Genotype, ...]:
    """Return all genotypes of this many alleles, each with ascending alleles; one without copies for ploidy 0."""
    return tuple(sorted(combinations_with_replacement(range(alleles), ploidy), key=lambda g: g[::-1]))


@cache
def most_alleles(ploidy: int) -> int:
    """Return the most alleles, at least 2, with at most MAX_GENOTYPES genotypes; at most MAX_NUMBER."""
    return next((n for n in range(2, MAX_NUMBER) if comb(n + ploidy, ploidy) > MAX_GENOTYPES), MAX_NUMBER)


def tables_for(ploidy: ndarray, alleles: ndarray) -> GenotypeTables:
    """Return the genotypes of up to `alleles` alleles for each ploidy that occurs. The arrays broadcast."""
    most = np.zeros(int(ploidy.max(initial=0)) + 1, np.int64)
    np.maximum.at(most, ploidy, alleles)
    return genotype_tables(tuple((copies, int(most[copies])) for copies in np.flatnonzero(most).tolist()) or ((1, 1),))


@cache
def genotype_tables(limits: tuple[tuple[int, int], ...]) -> GenotypeTables:
    """Make the tables. `limits`: each ploidy with its largest number of alleles."""
    copies, numbers = max(1, *(ploidy for ploidy, _ in limits)), max(number for _, number in limits)
    rows: list[Genotype] = []
    first, size = np.zeros((2, copies + 1, numbers + 1), np.int64)
    for ploidy, most in limits:
        for n in range(1, most + 1):
            table = genotypes_of(n, ploidy)
            first[ploidy, n], size[ploidy, n] = len(rows), len(table)
            rows += [genotype + (-1,) * (copies - ploidy) for genotype in table]
    return GenotypeTables(np.array(rows, np.int8).reshape(-1, copies), first, size, int(size.max()))


@kernel
def rows_of(tables, ploidy, alleles):
    """Return the rows of `tables.alleles` for a ploidy and a number of alleles (a slice)."""
    first = tables.first[ploidy, alleles]
    return slice(first, first + tables.size[ploidy, alleles])


@kernel
def next_genotype(genotype, copies):
    """Advance to the next genotype in the order of the specification. Its alleles ascend."""
    k = 0
    while k + 1 < copies and genotype[k] == genotype[k + 1]:
        k += 1
    genotype[k] += 1
    genotype[:k] = 0


@kernel
def insert_allele(genotype, copies, allele):
    """Insert one more allele into the first `copies` of a genotype, which ascend."""
    while copies > 0 and genotype[copies - 1] > allele:
        genotype[copies] = genotype[copies - 1]
        copies -= 1
    genotype[copies] = allele


@kernel
def number_of(genotype, ploidy):
    """Return the index of an ascending genotype among all: sum over k of C(a_k + k, k + 1)."""
    place = 0
    for k in range(ploidy):
        ways = 1 if genotype[k] > 0 else 0
        for i in range(min(k + 1, genotype[k] - 1)):  # C(n, k + 1) = C(n, a_k - 1)
            ways = ways * (genotype[k] + k - i) // (i + 1)
        place += ways
    return place
