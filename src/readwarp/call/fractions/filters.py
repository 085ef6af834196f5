"""FILTER of records; names are those of Mutect2 where they mean the same. A filter is a row of FILTERS."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import CallParameters, FractionParameters


class Facts(NamedTuple):
    """What filters test, arrays [records]."""

    info: dict[str, ndarray]  # annotations; NaN where there is none
    is_indel: ndarray
    fraction: ndarray  # AF of the sample, but the normal, that has most
    siblings: ndarray  # other alleles of the site that are records
    in_panel: ndarray  # of normals
    damage: ndarray  # reads of the other allele that damage is expected to make, by those seen
    limits: CallParameters
    parameters: FractionParameters


class Filter(NamedTuple):
    name: str
    description: str
    fails: (
        Callable[[Facts], ndarray] | None
    )  # bool [records]; None: by other records (`calls.count_events`, `shortlist`)
    quality: str = ""  # INFO: Phred of the probability of what the filter is against, which a record must reach


def _is_strand_biased(facts: Facts) -> ndarray:
    limits = facts.limits
    is_biased = facts.info["FS"] > np.where(facts.is_indel, limits.max_indel_strand_bias, limits.max_strand_bias)
    return np.asarray(is_biased & ~(facts.info["SOR"] <= SMALL_ODDS))


def _is_placed_worse(facts: Facts) -> ndarray:
    """Where all reads are placed unsurely, or none has REF, this says nothing against the allele."""
    reference, other = facts.info["MMQ"].T
    return np.asarray((other < facts.parameters.min_median_mapping_quality) & (other < reference))


CLUSTERED = "clustered_events"
HALF = 0.5
SMALL_ODDS = 1.0  # SOR where it is not the other allele's reads that lie on one strand
NAMED = "the probability that passing calls must reach is in the header: fraction_threshold"
FILTERS = (
    Filter("weak_evidence", f"The reads' errors may have made it (SEQQ); {NAMED}", None, "SEQQ"),
    Filter("germline", "It may be inherited (GERMQ), likewise", None, "GERMQ"),
    Filter("contamination", "Another person's molecules may have it (CONTQ), likewise", None, "CONTQ"),
    Filter("normal_artifact", "The normal shows it as the tumour does (NARTQ), likewise", None, "NARTQ"),
    Filter("panel_of_normals", "The panel of normals has it (--panel-of-normals)", lambda facts: facts.in_panel),
    Filter(
        "orientation",
        "Damage of the library, in pairs of one orientation, may have made half of the reads of the substitution",
        lambda facts: ~facts.is_indel & (facts.damage >= HALF),
    ),
    Filter(
        "slippage",
        "Slips before a run of one base may have made half of the reads of the insertion or deletion",
        lambda facts: facts.is_indel & (facts.damage >= HALF),
    ),
    Filter(
        "strand_bias",
        f"The other allele's reads lie on one strand, REF's do not (FS above the limit, SOR above {SMALL_ODDS:g})",
        _is_strand_biased,
    ),
    Filter(
        "base_qual",
        "Median base quality of the other allele (MBQ) below the limit",
        lambda facts: facts.info["MBQ"][:, 1] < facts.parameters.min_median_quality,
    ),
    Filter(
        "map_qual",
        "Median mapping quality of the other allele (MMQ) below the limit, and below that of REF",
        _is_placed_worse,
    ),
    Filter(
        "position",
        "Median distance of the other allele from the nearer end of the read (MPOS) below the limit",
        lambda facts: facts.info["MPOS"] < facts.parameters.min_median_distance,
    ),
    Filter(CLUSTERED, "More records of a tumour lie together (ECNT) than the limit", None),
    Filter(
        "multiallelic",
        "The site has several other alleles, of which a mutation makes one",
        lambda facts: facts.parameters.is_somatic & (facts.siblings > 0),
    ),
    Filter(
        "low_allele_frac",
        "AF below --min-fraction",
        lambda facts: facts.fraction < facts.parameters.min_fraction,
    ),
)
BY_QUALITY = tuple(row for row in FILTERS if row.quality)


def find_failed(facts: Facts) -> list[tuple[str, ...]]:
    """The filters that each record fails, but those by quality."""
    failed: list[tuple[str, ...]] = [() for _ in range(facts.fraction.size)]
    for filter_ in FILTERS:
        if filter_.fails:
            for row in np.flatnonzero(filter_.fails(facts)).tolist():
                failed[row] += (filter_.name,)
    return failed
