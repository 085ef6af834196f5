"""Compute INFO: statistics of a record's reads. An annotation is a row of ANNOTATIONS and a line of `summarise`."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import DEPENDENT, NOTHING
from readwarp.call.records.genotypes import cohort
from readwarp.call.records.genotypes.cohort import by_alt_reads, by_reads, by_ref_reads, by_strands
from readwarp.call.records.genotypes.emitted import Emitted
from readwarp.compiler.jit import kernel, scalar

MAX_VALUE = 255  # cap of a distance in rank sums
VALUES = MAX_VALUE + 1
ENOUGH = cohort.ENOUGH
RANKS = f" of the ALT alleles against the reference's: z of rank sums (at most {ENOUGH} of each)"


@scalar
def log_choose_table(a, b, c, d):
    """Return log of the hypergeometric probability of a 2 x 2 table."""
    total = math.lgamma(a + b + 1.0) + math.lgamma(c + d + 1.0) + math.lgamma(a + c + 1.0) + math.lgamma(b + d + 1.0)
    own = math.lgamma(a + 1.0) + math.lgamma(b + 1.0) + math.lgamma(c + 1.0) + math.lgamma(d + 1.0)
    return total - own - math.lgamma(a + b + c + d + 1.0)


@scalar
def fisher_phred(a, b, c, d):
    """Return the Phred of the two-sided P of Fisher's exact test of [[a, b], [c, d]]."""
    seen = log_choose_table(a, b, c, d) + 1e-9
    p = 0.0
    for x in range(max(0, a - d), min(a + b, a + c) + 1):
        other = log_choose_table(x, a + b - x, a + c - x, d - a + x)
        if other <= seen:
            p += math.exp(other)
    return max(0.0, -10.0 * math.log10(min(1.0, max(p, 1e-300))))


@scalar
def symmetric_odds_ratio(a, b, c, d):
    """Return GATK's StrandOddsRatio of [[a, b], [c, d]]: rows REF and ALT, columns forward and reverse.

    ln(R + 1 / R) + ln(min(a, b) / max(a, b)) - ln(min(c, d) / max(c, d)) with R = a d / (b c), each count plus one.
    """
    a, b = a + 1.0, b + 1.0
    c, d = c + 1.0, d + 1.0
    ratio = a * d / (b * c)
    return math.log(ratio + 1.0 / ratio) + math.log(min(a, b) / max(a, b)) - math.log(min(c, d) / max(c, d))


@scalar
def strand_phred(a, b, c, d):
    """Return `fisher_phred` of a table whose rows are scaled down to at most ENOUGH reads.

    With many reads every difference is significant, however small. Scaled, the value measures the size of the
    difference, and means the same at any depth.
    """
    own, others = a + b, c + d
    if own > ENOUGH:
        a = int(a * ENOUGH / own + 0.5)
        b = ENOUGH - a
    if others > ENOUGH:
        c = int(c * ENOUGH / others + 0.5)
        d = ENOUGH - c
    return fisher_phred(a, b, c, d)


class Annotation(NamedTuple):
    """Field of INFO: its header line, how a cohort joins it, how it is rounded."""

    name: str
    description: str
    join: cohort.Join
    decimals: int = 3
    type: str = "Float"
    number: str = "1"


ANNOTATIONS = (  # in the order of a record
    Annotation("DP", "Informative reads", lambda reports, _: reports.depth, type="Integer"),
    Annotation("QD", "QUAL / depth of samples carrying an ALT allele", cohort.quality_by_depth, 2),
    Annotation("MQ", "Root mean square mapping quality", by_reads(cohort.root_mean_square), 2),
    Annotation(
        "AMQ",
        "Root mean square mapping quality of the reads that show the ALT alleles",
        by_alt_reads(cohort.root_mean_square),
        2,
    ),
    Annotation(
        "FS",
        f"Strand bias: Phred-scaled P of Fisher's exact test of at most {ENOUGH} reads of REF and as many of ALT",
        by_strands(strand_phred),
    ),
    Annotation("SOR", "Strand bias: symmetric odds ratio", by_strands(symmetric_odds_ratio)),
    Annotation(
        "ED", "Mean distance of the ALT alleles from the nearer end of the aligned read", by_alt_reads(cohort.mean), 2
    ),
    Annotation(
        "EDR",
        "Mean distance of the reference's allele from the nearer end of the aligned read",
        by_ref_reads(cohort.mean),
        2,
    ),
    Annotation("MQRankSum", f"Mapping qualities{RANKS}", by_reads(cohort.stouffer)),
    Annotation("ReadPosRankSum", f"Distances from read ends{RANKS}", by_reads(cohort.stouffer)),
    Annotation("BaseQRankSum", f"Base qualities{RANKS}", by_reads(cohort.stouffer)),
    Annotation(
        "ExcessHet",
        "Phred-scaled P of at least as many heterozygous samples in Hardy-Weinberg equilibrium",
        cohort.by_genotypes,
    ),
    Annotation(
        "InbreedingCoeff",
        "1 - observed / expected heterozygotes in Hardy-Weinberg equilibrium; for 10 samples and more",
        cohort.by_genotypes,
        4,
    ),
)
BY_ALLELE = (Annotation("AS_QD", "QD of each ALT allele by itself", cohort.by_genotypes, 2, number="A"),)

# A column for each annotation before it is rounded; NaN where a record has no such value.
Columns: Any = NamedTuple("Columns", [(row.name, Annotated[ndarray, "float64 [records]"]) for row in ANNOTATIONS])  # type: ignore[misc]


def round_columns(columns: Any) -> dict[str, ndarray]:
    """Round INFO as it is written."""
    return {
        row.name: column.astype(np.int64) if row.type == "Integer" else np.round(column, row.decimals) + 0.0
        for row, column in zip(ANNOTATIONS, columns, strict=True)
    }


def summarise(sites: Sites, likelihoods: Likelihoods, is_kept: ndarray, out: Emitted, columns: Any) -> None:
    """Fill Columns (NaN before), AD (zeros before) and strands of the Emitted `out`, whose genotypes are known.

    `is_kept`: bool, alleles of the sites that records keep.
    """
    out.strands[:], out.independent[:] = 0, 0
    summarise_all(sites, likelihoods, is_kept, np.empty(6 * VALUES, np.int64), out, columns)


@kernel
def summarise_all(sites, likelihoods, is_kept, counts, out, columns):
    """Summarise records. counts: scratch for counts of each MAPQ, end distance and base quality on REF and ALT."""
    samples = out.depth.shape[1]
    for row in range(out.site.size):
        counts[:] = 0
        squares = alt_squares = distances = ref_distances = np.int64(0)
        reads = alt_reads = ref_reads = 0
        first = sites.allele_offsets[out.site[row]]
        for pair in range(likelihoods.pair_offsets[out.site[row]], likelihoods.pair_offsets[out.site[row] + 1]):
            if likelihoods.allele[pair] == NOTHING:
                continue
            square = np.int64(likelihoods.mapping_quality[pair]) * likelihoods.mapping_quality[pair]
            reads, squares = reads + 1, squares + square
            if likelihoods.allele[pair] < 0 or not is_kept[first + likelihoods.allele[pair]]:
                continue
            number = 0
            for a in range(first, first + likelihoods.allele[pair]):
                number += is_kept[a]
            out.allele_depth[out.depth_offsets[row * samples + likelihoods.sample[pair]] + number] += 1
            side = 1 if number else 0
            cell = 2 * side + (likelihoods.strand[pair] & 1)
            out.strands[row, likelihoods.sample[pair], cell] += 1
            if number == out.star[row]:
                continue
            if not likelihoods.strand[pair] & DEPENDENT:
                out.independent[row, likelihoods.sample[pair], cell] += 1
            counts[side * VALUES + likelihoods.mapping_quality[pair]] += 1
            counts[(2 + side) * VALUES + max(0, min(MAX_VALUE, likelihoods.end_distance[pair]))] += 1
            counts[(4 + side) * VALUES + likelihoods.quality[pair]] += 1
            if side:
                alt_reads, alt_squares = alt_reads + 1, alt_squares + square
                distances += likelihoods.end_distance[pair]
            else:
                ref_reads, ref_distances = ref_reads + 1, ref_distances + likelihoods.end_distance[pair]
        columns.DP[row], alt_depth, (a, b, c, d) = sum_samples(row, out)
        out.squares[row] = squares
        if alt_depth:
            columns.QD[row] = out.quality[row] / alt_depth
        if reads:
            columns.MQ[row] = math.sqrt(squares / reads)
        if alt_reads:
            columns.AMQ[row] = math.sqrt(alt_squares / alt_reads)
            columns.ED[row] = distances / alt_reads
        if ref_reads:
            columns.EDR[row] = ref_distances / ref_reads
        columns.FS[row], columns.SOR[row] = strand_phred(a, b, c, d), symmetric_odds_ratio(a, b, c, d)
        if alt_reads and a + b:
            columns.MQRankSum[row] = rank_sum(counts[:VALUES], counts[VALUES : 2 * VALUES])
            columns.ReadPosRankSum[row] = rank_sum(counts[2 * VALUES : 3 * VALUES], counts[3 * VALUES : 4 * VALUES])
            columns.BaseQRankSum[row] = rank_sum(counts[4 * VALUES : 5 * VALUES], counts[5 * VALUES :])


@kernel
def sum_samples(row, out):
    """Return a record's depth, the depth of those that carry ALT alleles, and the reads of `independent`."""
    depth = alt_depth = a = b = c = d = 0
    for s in range(out.depth.shape[1]):
        own, has_alt = out.independent[row, s], False
        a, b = a + own[0], b + own[1]
        c, d = c + own[2], d + own[3]
        for copy in range(out.ploidy[row, s]):
            has_alt |= out.genotype[row, s, copy] > 0 and out.genotype[row, s, copy] != out.star[row]
        depth += out.depth[row, s]
        alt_depth += has_alt * out.depth[row, s]
    return depth, alt_depth, (a, b, c, d)


@kernel
def rank_sum(first, second):
    """Return z of the rank sums of two samples (Mann and Whitney), given how often each value occurs in them.

    Positive if the second values are greater, 0 if all are equal; without continuity correction. Samples are scaled
    down to at most ENOUGH values, since z grows with the root of their number.
    """
    below = above = 0
    u = ties = 0.0
    for value in range(first.size):
        both = float(first[value] + second[value])
        u += second[value] * (below + 0.5 * first[value])
        ties += both * both * both - both
        below += first[value]
        above += second[value]
    n = below + above
    if n < 2:
        return 0.0
    variance = float(below) * above / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)))
    if variance <= 1e-9:
        return 0.0
    few, many = min(below, ENOUGH), min(above, ENOUGH)
    weight = (float(few) * many / (few + many)) / (float(below) * above / n)
    return (u - 0.5 * below * above) / math.sqrt(variance) * math.sqrt(weight)
