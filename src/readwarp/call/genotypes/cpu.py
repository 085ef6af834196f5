"""Genotype likelihoods of all sites, and the calls made of them."""

import math

import numpy as np

from readwarp.batches import Calls, Likelihoods, Sites
from readwarp.call.evidence import NOTHING
from readwarp.call.genotypes.order import genotype_tables
from readwarp.call.genotypes.records import Scored, build_calls
from readwarp.config import CallParameters
from readwarp.device.jit import kernel


def genotype_sites(
    sites: Sites, likelihoods: Likelihoods, reference: np.ndarray, start: int, parameters: CallParameters
) -> Calls:
    """`reference`: bases from `start` on. See the step's contract."""
    tables, table_offsets = genotype_tables(parameters.ploidy)
    number = np.diff(sites.allele_offsets)
    score_offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.diff(table_offsets)[number])))
    scored = Scored(
        scores=np.zeros(score_offsets[-1]),
        score_offsets=score_offsets,
        best=np.zeros(len(sites), np.int64),
        depth=np.zeros(len(sites), np.int64),
        tally=np.zeros((sites.deleted.size, 5), np.int64),
    )
    score_genotypes(
        *(likelihoods.pair_offsets, likelihoods.allele, likelihoods.value_offsets, likelihoods.values),
        *(number, tables, table_offsets, score_offsets, scored.scores, scored.best),
        np.empty(int(number.max(initial=1))),
    )
    tally_alleles(
        *(likelihoods.pair_offsets, likelihoods.allele, likelihoods.strand, likelihoods.mapping_quality),
        *(likelihoods.quality, likelihoods.end_distance, sites.allele_offsets, scored.depth, scored.tally),
    )
    return build_calls(sites, scored, reference, start, parameters)


@kernel
def score_genotypes(
    pair_offsets, allele, value_offsets, values, number, tables, table_offsets, score_offsets, scores, best, linear
):  # fmt: skip
    """log10 P(D | G) of each genotype of each site, and the best one, the first on a tie (0: the reference's alone).

    `linear`: room for one value per allele.
    """
    for site in range(number.size):
        first, alleles = table_offsets[number[site]], number[site]
        genotypes, own = score_offsets[site + 1] - score_offsets[site], score_offsets[site]
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            if allele[pair] == NOTHING:
                continue
            row = value_offsets[site] + (pair - pair_offsets[site]) * alleles
            highest = values[row]
            for a in range(1, alleles):
                highest = max(highest, values[row + a])
            for a in range(alleles):
                linear[a] = 10.0 ** (values[row + a] - highest)
            for g in range(genotypes):
                total = 0.0
                for copy in range(tables.shape[1]):
                    total += linear[tables[first + g, copy]]
                scores[own + g] += highest + math.log10(total / tables.shape[1])
        for g in range(1, genotypes):
            if scores[own + g] > scores[own + best[site]]:
                best[site] = g


@kernel
def tally_alleles(
    pair_offsets, allele, strand, mapping_quality, quality, end_distance, allele_offsets, depth, tally
):  # fmt: skip
    """Reads that say something at each site; of each allele: reads forward and reverse, sums of squared mapping
    qualities, of base qualities and of distances from the read's end."""
    for site in range(depth.size):
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            depth[site] += allele[pair] != NOTHING
            if allele[pair] >= 0:
                a = allele_offsets[site] + allele[pair]
                tally[a, strand[pair]] += 1
                tally[a, 2] += np.int64(mapping_quality[pair]) ** 2
                tally[a, 3] += quality[pair]
                tally[a, 4] += end_distance[pair]
