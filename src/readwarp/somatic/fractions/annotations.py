"""Count the reads of records of fractions, and write their INFO and FORMAT (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import DEPENDENT, NOTHING
from readwarp.call.records.genotypes.annotations import strand_phred, symmetric_odds_ratio
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.variants.vcf import HeaderField
from readwarp.ragged import empty
from readwarp.rules.flags import FIRST, PAIRED
from readwarp.somatic.fractions import RARE
from readwarp.somatic.fractions.products import FractionEvidence, Odds, PopulationAlleles, phred_of

REFERENCE, OTHER = 0, 1  # rows of counts by allele
VALUES = 256  # a greater distance from an end counts as the last value
QUALITY, MAPPING, DISTANCE = range(3)
INFORMATION = (
    HeaderField("DP", "1", "Integer", "Informative reads"),
    HeaderField("TLOD", "1", "Float", "Log10 odds that molecules carry the ALT allele, over read errors alone"),
    HeaderField("NLOD", "1", "Float", "Log10 odds that the normal lacks the ALT allele, over a heterozygous normal"),
    HeaderField(
        "NALOD", "1", "Float", "Log10 odds that the normal lacks the ALT allele, over having it at the tumour's AF"
    ),
    HeaderField("SEQQ", "1", "Float", "Phred-scaled probability that errors of the reads made the ALT allele"),
    HeaderField("GERMQ", "1", "Float", "Phred-scaled probability that the ALT allele is inherited"),
    HeaderField(
        "NARTQ", "1", "Float", "Phred-scaled probability that the ALT is an artefact also present in the normal"
    ),
    HeaderField("CONTQ", "1", "Float", "Phred-scaled probability that the ALT allele comes from another person"),
    HeaderField("POPAF", "1", "Float", "-log10 of the ALT allele's frequency in the population (--population)"),
    HeaderField("PON", "0", "Flag", "The ALT allele is in the panel of normals (--panel-of-normals)"),
    HeaderField(
        "ECNT", "1", "Integer", "Likely mutations within 50 bases, including this one; those of a PS count once"
    ),
    HeaderField("MBQ", "R", "Float", "Median base quality of the reads of each allele"),
    HeaderField("MMQ", "R", "Float", "Median mapping quality of the reads of each allele"),
    HeaderField("MPOS", "A", "Float", "Median distance of the ALT allele from the nearer end of the aligned read"),
    HeaderField("FS", "1", "Float", "Strand bias: Phred-scaled P of Fisher's exact test"),
    HeaderField("SOR", "1", "Float", "Strand bias: symmetric odds ratio"),
)
FORMAT = (
    HeaderField("GT", "1", "String", "0/1: ALT present with other alleles; 1/1: ALT only; 0/0: absent"),
    HeaderField("AD", "R", "Integer", "Reads that show each allele"),
    HeaderField(
        "ORIGIN",
        "1",
        "String",
        "unknown: inherited or a mutation, since none of --normal, --population or --panel-of-normals was given",
    ),
    HeaderField("AF", "A", "Float", "Most likely fraction of the molecules that carry the ALT allele"),
    HeaderField("AFCI", "2", "Float", "95 % credible interval of AF"),
    HeaderField("DP", "1", "Integer", "Informative reads"),
    HeaderField("PS", "1", "Integer", "Phase set: position of the first record that the same molecules carry"),
    HeaderField("LOD", "A", "Float", "Log10 odds that molecules carry the ALT allele, over read errors alone"),
    HeaderField("F1R2", "R", "Integer", "Reads of each allele in pairs whose first read is forward"),
    HeaderField("F2R1", "R", "Integer", "Reads of each allele in pairs whose first read is reverse"),
    HeaderField("SB", "4", "Integer", "Forward and reverse reads of REF, then of the ALT allele"),
)
ARTEFACT_PRIOR = -3.0  # log10 odds that an allele of the tumour is an artefact of both


class TalliedAlleles(NamedTuple):
    """Alleles that become records, in order of site."""

    site: Annotated[ndarray, "int64 [records]"]
    allele: Annotated[ndarray, "int64 [records]"]  # row of Sites.deleted


class AlleleTally(NamedTuple):
    """Counts of reads that show REF and the record's ALT allele."""

    depth: Annotated[ndarray, "int32 [records, samples]"]  # informative reads
    reads: Annotated[ndarray, "int32 [records, samples, 2]"]  # reads that show the allele
    strands: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # by strand: forward, reverse
    independent: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # by strand, reads that count for strand bias
    orientations: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # by orientation: F1R2, F2R1
    medians: Annotated[ndarray, "float64 [records, 2, 3]"]  # base quality, MAPQ, bases to the nearer end; NaN: no reads
    squares: Annotated[ndarray, "int64 [records]"]  # sum of squared MAPQ


def orientations_of(reads: AlignedReads) -> ndarray:
    """Return 0 for a pair whose first read is forward (F1R2), 1 for reverse; unpaired: the strand (uint8 [reads])."""
    is_last = (reads.flag & PAIRED > 0) & (reads.flag & FIRST == 0)
    return np.asarray(reads.strand ^ is_last, np.uint8)


def tally(
    sites: Sites, likelihoods: Likelihoods, orientation: ndarray, records: TalliedAlleles, is_tumour: ndarray
) -> AlleleTally:
    """Tally the reads. Medians are over samples with `is_tumour`, bool [samples]."""
    out = empty(AlleleTally, {"records": records.site.size, "samples": is_tumour.size}, np.zeros)
    count(sites.allele_offsets, likelihoods, orientation, records, is_tumour, np.empty((2, 3, VALUES), np.int64), out)
    return out


@kernel
def count(allele_offsets, likelihoods, orientation, records, is_tumour, histograms, out):
    """Count the reads. histograms: scratch for one record."""
    for row in range(records.site.size):
        site = records.site[row]
        other = records.allele[row] - allele_offsets[site]
        histograms[:] = 0
        for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
            s, allele = likelihoods.sample[pair], likelihoods.allele[pair]
            strand = likelihoods.strand[pair]
            if allele == NOTHING:
                continue
            out.depth[row, s] += 1
            out.squares[row] += np.int64(likelihoods.mapping_quality[pair]) ** 2
            if allele != 0 and allele != other:
                continue
            side = OTHER if allele else REFERENCE
            out.reads[row, s, side] += 1
            out.strands[row, s, side, strand & 1] += 1
            out.independent[row, s, side, strand & 1] += strand & DEPENDENT == 0
            out.orientations[row, s, side, orientation[likelihoods.read[pair]]] += 1
            if is_tumour[s]:
                histograms[side, QUALITY, likelihoods.quality[pair]] += 1
                histograms[side, MAPPING, likelihoods.mapping_quality[pair]] += 1
                histograms[side, DISTANCE, min(VALUES - 1, max(0, likelihoods.end_distance[pair]))] += 1
        for side in range(2):
            for kind in range(3):
                out.medians[row, side, kind] = median(histograms[side, kind])


@kernel
def median(histogram):
    """Return the lower median; NaN if empty."""
    total, seen = histogram.sum(), 0
    for value in range(histogram.size):
        seen += histogram[value]
        if total and 2 * seen >= total:
            return float(value)
    return np.nan


def describe(odds: Odds, known: PopulationAlleles, counts: AlleleTally, is_tumour: ndarray) -> dict[str, ndarray]:
    """Return INFO except ECNT, a column [records] or [records, values] per field; NaN where a record has no value."""
    tables = counts.independent[:, is_tumour].sum(axis=1).reshape(-1, 4).tolist()
    return {
        "DP": counts.depth.sum(axis=1),
        "TLOD": odds.tumour.round(2),
        "NLOD": odds.normal.round(2),
        "NALOD": odds.artefact.round(2),
        "SEQQ": phred_of(odds.error).round(1),
        "GERMQ": phred_of(odds.germline).round(1),
        "NARTQ": phred_of(ARTEFACT_PRIOR - odds.artefact).round(1),
        "CONTQ": phred_of(odds.foreign).round(1),
        "POPAF": 0.0 - np.log10(np.maximum(known.frequency, RARE)).round(3),
        "PON": known.in_panel,
        "MBQ": counts.medians[:, [REFERENCE, OTHER], QUALITY],
        "MMQ": counts.medians[:, [REFERENCE, OTHER], MAPPING],
        "MPOS": counts.medians[:, OTHER, DISTANCE],
        "FS": np.array([strand_phred(*table) for table in tables]).round(3),
        "SOR": np.array([symmetric_odds_ratio(*table) for table in tables]).round(3),
    }


def describe_samples(share: ndarray, evidence: FractionEvidence, counts: AlleleTally) -> dict[str, ndarray]:
    """Return FORMAT except GT, AD, DP and SB: [records, samples], or [records, samples, values]."""
    return {
        "AF": significant(share),
        "AFCI": np.stack((significant(evidence.low), significant(evidence.high)), axis=2),
        "LOD": evidence.present.round(2),
        "F1R2": counts.orientations[:, :, :, 0],
        "F2R1": counts.orientations[:, :, :, 1],
    }


def significant(share: ndarray) -> ndarray:
    """Round to three significant digits, and to multiples of 1e-6."""
    magnitude = 10.0 ** (2 - np.floor(np.log10(np.maximum(share, 1e-6))))
    return np.asarray(np.round(share * magnitude) / magnitude)
