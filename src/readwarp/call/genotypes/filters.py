"""Annotations of a call, and the named hard filters that read them (host only)."""

import numpy as np

from readwarp.batches import Likelihoods
from readwarp.call.evidence import NOTHING
from readwarp.call.genotypes.overlaps import NAME as OVERLAP
from readwarp.call.genotypes.scalar import fisher_phred
from readwarp.config import CallParameters
from readwarp.formats.vcf import Field

Information = dict[str, float | int | tuple[float | int, ...]]

DESCRIPTIONS = {
    "LowQual": "QUAL below the limit",
    "StrandBias": "the other alleles' reads lie on one strand, the reference's do not (FS above the limit)",
    "ReadEnds": "the other alleles are seen near read ends only (ED below the limit)",
    "LowFraction": "few of the reads show the other alleles (AF below the limit)",
    "LowMapping": "the reads that show the other alleles are placed unsurely (MQ below the limit)",
    OVERLAP: "the deletion of a better call takes the copies that this one needs",
}
FIELDS = {
    "DP": Field("1", "Integer", "Reads that say something about the alleles"),
    "AF": Field("A", "Float", "Share of the reads that show each allele"),
    "QD": Field("1", "Float", "QUAL by DP"),
    "FS": Field("1", "Float", "Strand bias: Phred-scaled P of Fisher's exact test"),
    "SB": Field("4", "Integer", "Reads of the reference forward and reverse, of the other alleles forward and reverse"),
    "MQ": Field("1", "Float", "Root mean square mapping quality of the reads that show the other alleles"),
    "BQ": Field("1", "Float", "Mean base quality of the other alleles"),
    "ED": Field("1", "Float", "Mean distance of the other alleles from the nearer end of the aligned read"),
}


def annotate(
    likelihoods: Likelihoods, pairs: slice, kept: list[int], quality: float, depth: int, allele_depth: tuple[int, ...]
) -> Information:
    """INFO of a call. All but DP, QD, AF are about the reads that show one of its other alleles."""
    shown = likelihoods.allele[pairs]
    is_other = np.isin(shown, kept[1:])
    is_reference = shown == 0
    reverse = likelihoods.strand[pairs] == 1
    table = [int((side & turn).sum()) for side in (is_reference, is_other) for turn in (~reverse, reverse)]
    others = max(1, int(is_other.sum()))
    mapping = likelihoods.mapping_quality[pairs][is_other].astype(np.float64)
    seen = max(1, int((shown != NOTHING).sum()))
    return {
        "DP": depth,
        "AF": tuple(round(n / seen, 3) for n in allele_depth[1:]),
        "QD": round(quality / max(1, depth), 2),
        "FS": round(fisher_phred(*table), 2),
        "SB": tuple(table),
        "MQ": round(float(np.sqrt((mapping**2).sum() / others)), 2),
        "BQ": round(float(likelihoods.quality[pairs][is_other].sum()) / others, 2),
        "ED": round(float(likelihoods.end_distance[pairs][is_other].sum()) / others, 2),
    }


def failed_filters(quality: float, info: Information, is_indel: bool, parameters: CallParameters) -> tuple[str, ...]:
    """Names of the filters that the call does not pass."""
    fraction = sum(info["AF"])  # type: ignore[arg-type]
    limits = {
        "LowQual": quality < parameters.min_quality,
        "StrandBias": info["FS"] > (200.0 if is_indel else 60.0),  # type: ignore[operator]
        "ReadEnds": info["ED"] < 5.0,  # type: ignore[operator]
        "LowFraction": fraction < (0.3 / parameters.ploidy if parameters.ploidy > 1 else 0.6),
        "LowMapping": info["MQ"] < 30.0,  # type: ignore[operator]
    }
    return tuple(name for name, fails in limits.items() if fails)
