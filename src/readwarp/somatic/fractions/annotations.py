"""Write INFO and FORMAT of records of fractions (host only)."""

import numpy as np
from numpy import ndarray

from readwarp.call.records.genotypes.annotations import strand_phred, symmetric_odds_ratio
from readwarp.formats.variants.vcf import HeaderField
from readwarp.somatic.fractions import RARE
from readwarp.somatic.fractions.products import FractionEvidence
from readwarp.somatic.fractions.somatic import Odds, PopulationAlleles, phred_of
from readwarp.somatic.fractions.tally import DISTANCE, MAPPING, OTHER, QUALITY, REFERENCE, AlleleTally

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
