"""Annotations of a call, and the named hard filters that read them (host only)."""

import math

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


def annotate(tally: list[list[int]], quality: float, depth: int) -> Information:
    """INFO of a call, from rows of `genotypes.cpu.tally_alleles`: the reference's and those of the other alleles.

    MQ, BQ and ED are about the reads that show one of the other alleles.
    """
    forward, reverse, squares, qualities, distances = (sum(column) for column in zip(*tally[1:], strict=True))
    strands = (tally[0][0], tally[0][1], forward, reverse)
    others = max(1, forward + reverse)
    return {
        "DP": depth,
        "AF": tuple(round((row[0] + row[1]) / max(1, depth), 3) for row in tally[1:]),
        "QD": round(quality / max(1, depth), 2),
        "FS": round(fisher_phred(*strands), 2),
        "SB": strands,
        "MQ": round(math.sqrt(squares / others), 2),
        "BQ": round(qualities / others, 2),
        "ED": round(distances / others, 2),
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
