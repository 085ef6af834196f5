"""What the reads of a call have in common, for INFO and for filters (host only)."""

import math
from collections.abc import Mapping

import numpy as np

from readwarp.batches import Likelihoods, Sites
from readwarp.call.evidence import NOTHING
from readwarp.call.genotypes.emitted import COLUMNS, Emitted
from readwarp.call.genotypes.scalar import fisher_phred, rank_sum_score, symmetric_odds_ratio
from readwarp.device.jit import kernel
from readwarp.formats.variants.vcf import Field

FIELDS = {
    "DP": Field("1", "Integer", "Reads that say something about the alleles"),
    "QD": Field("1", "Float", "QUAL by DP of the samples that have other alleles"),
    "MQ": Field("1", "Float", "Root mean square mapping quality"),
    "AMQ": Field("1", "Float", "Root mean square mapping quality of the reads that show the other alleles"),
    "FS": Field("1", "Float", "Strand bias: Phred-scaled P of Fisher's exact test"),
    "SOR": Field("1", "Float", "Strand bias: symmetric odds ratio"),
    "ED": Field("1", "Float", "Mean distance of the other alleles from the nearer end of the aligned read"),
    "MQRankSum": Field("1", "Float", "Mapping qualities of the other alleles against the reference's: z of rank sums"),
    "ReadPosRankSum": Field("1", "Float", "Distances from read ends of the other alleles, likewise"),
    "BaseQRankSum": Field("1", "Float", "Base qualities of the other alleles, likewise"),
}
DECIMALS = {"ED": 2, "MQ": 2, "AMQ": 2, "QD": 2}  # 3 elsewhere
MAX_VALUE = 255  # greater distances count as this one in rank sums


def annotate(out: Emitted, sites: Sites, likelihoods: Likelihoods, is_kept: np.ndarray) -> None:
    """Fill the columns of INFO and the reads that show each allele."""
    summarise(
        *(out.site, likelihoods.pair_offsets, likelihoods.allele, likelihoods.strand, likelihoods.sample),
        *(likelihoods.mapping_quality, likelihoods.quality, likelihoods.end_distance, sites.allele_offsets, is_kept),
        *(out.allele_offsets, out.allele_depth, out.columns, out.strands, np.zeros((3, 2, MAX_VALUE + 1), np.int64)),
    )


def information(out: Emitted) -> dict[str, np.ndarray]:
    """INFO: one column per field of FIELDS, NaN where a call has no such value."""
    columns = dict(zip(COLUMNS, out.columns.T, strict=True))
    variant_depth = np.where(np.any(out.genotype > 0, axis=2), out.depth, 0).sum(axis=1)
    columns["QD"] = np.where(variant_depth > 0, out.quality / np.maximum(1, variant_depth), np.nan)
    return as_fields(columns, out.depth.sum(axis=1))


def as_fields(columns: Mapping[str, np.ndarray], depth: np.ndarray) -> dict[str, np.ndarray]:
    """Rounded, in the order of FIELDS; `depth` is DP."""
    rounded = {name: np.round(column, DECIMALS.get(name, 3)) + 0.0 for name, column in columns.items()}
    return {name: rounded.get(name, depth) for name in FIELDS}


@kernel
def summarise(
    rows, pair_offsets, allele, strand, sample, mapping_quality, quality, end_distance, site_alleles, is_kept,
    allele_offsets, allele_depth, columns, strand_counts, counts,
):  # fmt: skip
    """columns float64 [v, COLUMNS], NaN where there is nothing to tell; allele_depth: a samples x alleles table each.

    strand_counts int32 [v, 4]: forward and reverse reads of the reference's allele, and of the others.
    `counts` int64 [3, 2, MAX_VALUE + 1], zeros: mapping qualities, end distances and base qualities of the reads that
    show the reference's allele, and of those that show another kept one.
    """
    strands = np.empty((2, 2), np.int64)
    for row in range(rows.size):
        site = rows[row]
        counts[:], strands[:], columns[row, :] = 0, 0, np.nan
        squares = other_squares = distances = np.int64(0)
        reads = others = 0
        first = allele_offsets[row]
        kept = 0
        for a in range(site_alleles[site], site_alleles[site + 1]):
            kept += is_kept[a]
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            if allele[pair] == NOTHING:
                continue
            square = np.int64(mapping_quality[pair]) ** 2
            reads, squares = reads + 1, squares + square
            if allele[pair] < 0 or not is_kept[site_alleles[site] + allele[pair]]:
                continue
            name = 0
            for a in range(site_alleles[site], site_alleles[site] + allele[pair]):
                name += is_kept[a]
            allele_depth[first + sample[pair] * kept + name] += 1
            side = 1 if name else 0
            strands[side, strand[pair]] += 1
            counts[0, side, mapping_quality[pair]] += 1
            counts[1, side, max(0, min(MAX_VALUE, end_distance[pair]))] += 1
            counts[2, side, quality[pair]] += 1
            if side:
                others, other_squares = others + 1, other_squares + square
                distances += end_distance[pair]
        if reads:
            columns[row, 0] = math.sqrt(squares / reads)
        if others:
            columns[row, 1] = math.sqrt(other_squares / others)
            columns[row, 4] = distances / others
        strand_counts[row, 0], strand_counts[row, 1] = strands[0, 0], strands[0, 1]
        strand_counts[row, 2], strand_counts[row, 3] = strands[1, 0], strands[1, 1]
        columns[row, 2] = fisher_phred(strands[0, 0], strands[0, 1], strands[1, 0], strands[1, 1])
        columns[row, 3] = symmetric_odds_ratio(strands[0, 0], strands[0, 1], strands[1, 0], strands[1, 1])
        if others and strands[0, 0] + strands[0, 1]:
            for i in range(3):
                columns[row, 5 + i] = rank_sum(counts[i, 0], counts[i, 1])


@kernel
def rank_sum(first, second):
    """z of the rank sums of two samples, given how often each value occurs in them."""
    below = above = 0
    u = ties = 0.0
    for value in range(first.size):
        both = float(first[value] + second[value])
        u += second[value] * (below + 0.5 * first[value])
        ties += both * both * both - both
        below += first[value]
        above += second[value]
    return rank_sum_score(u, below, above, ties)
