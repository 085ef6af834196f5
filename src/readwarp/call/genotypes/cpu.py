"""Genotype likelihoods of all sites, and the calls made of them."""

import math
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from readwarp.batches import Calls, Likelihoods, Sites
from readwarp.call.evidence import NOTHING
from readwarp.call.genotypes.records import build_calls
from readwarp.call.sites import MAX_ALLELES
from readwarp.config import CallParameters
from readwarp.device.jit import kernel


def genotype_sites(
    sites: Sites, likelihoods: Likelihoods, reference: np.ndarray, start: int, parameters: CallParameters
) -> Calls:
    """`reference`: bases from `start` on. See the step's contract."""
    tables, table_offsets = genotype_tables(parameters.ploidy)
    number = np.diff(sites.allele_offsets)
    score_offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.diff(table_offsets)[number])))
    scores = np.zeros(score_offsets[-1])
    score_genotypes(
        *(likelihoods.pair_offsets, likelihoods.allele, likelihoods.value_offsets, likelihoods.values),
        *(number, tables, table_offsets, score_offsets, scores, np.empty(int(number.max(initial=1)))),
    )
    best = np.zeros(len(sites), np.int64)
    best_genotypes(scores, score_offsets, best)
    return build_calls(sites, likelihoods, scores, score_offsets, best, reference, start, parameters)


@cache
def genotypes_of(alleles: int, ploidy: int) -> np.ndarray:
    """int8 [G, ploidy], in VCF order."""
    every = sorted(combinations_with_replacement(range(alleles), ploidy), key=lambda g: g[::-1])
    return np.array(every, np.int8).reshape(-1, ploidy)


@cache
def genotype_tables(ploidy: int) -> tuple[np.ndarray, np.ndarray]:
    """The genotypes of 0, 1, ... alleles one behind the other, and where each begins."""
    tables = [genotypes_of(n, ploidy) for n in range(MAX_ALLELES + 1)]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum([len(t) for t in tables], dtype=np.int64)))
    return np.concatenate(tables), offsets


@kernel
def score_genotypes(
    pair_offsets, allele, value_offsets, values, number, tables, table_offsets, score_offsets, scores, linear
):  # fmt: skip
    """log10 P(D | G) of each genotype of each site. `linear`: room for one value per allele."""
    for site in range(number.size):
        first, alleles = table_offsets[number[site]], number[site]
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            if allele[pair] == NOTHING:
                continue
            row = value_offsets[site] + (pair - pair_offsets[site]) * alleles
            best = values[row]
            for a in range(1, alleles):
                best = max(best, values[row + a])
            for a in range(alleles):
                linear[a] = 10.0 ** (values[row + a] - best)
            for g in range(score_offsets[site + 1] - score_offsets[site]):
                total = 0.0
                for copy in range(tables.shape[1]):
                    total += linear[tables[first + g, copy]]
                scores[score_offsets[site] + g] += best + math.log10(total / tables.shape[1])


@kernel
def best_genotypes(scores, score_offsets, best):
    """The genotype of each site with the highest score, the first on a tie; 0 is the reference's alone."""
    for site in range(best.size):
        first = score_offsets[site]
        for g in range(1, score_offsets[site + 1] - first):
            if scores[first + g] > scores[first + best[site]]:
                best[site] = g
