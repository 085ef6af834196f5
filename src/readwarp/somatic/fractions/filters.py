"""Filter records; a filter is a row of FILTERS, with Mutect2's name where it means the same."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.records.filters import STRAND_BIAS, is_strand_biased
from readwarp.config import CallParameters, FractionParameters


class FractionFacts(NamedTuple):
    """Inputs of filters, arrays [records]."""

    info: dict[str, ndarray]  # annotations; NaN if missing
    is_indel: ndarray
    fraction: ndarray  # highest AF of a sample, except the normal
    siblings: ndarray  # other alleles of the site that some molecules have; 0 where they lack its own
    in_panel: ndarray  # in the panel of normals
    damage: ndarray  # ALT reads that damage is expected to make, over those observed
    limits: CallParameters
    parameters: FractionParameters


class FractionFilter(NamedTuple):
    name: str
    description: str  # {limits}: the CallParameters of the run
    fails: (
        Callable[[FractionFacts], ndarray] | None
    )  # bool [records]; None: set by other records (`events.count_events`, `shortlist`)
    quality: str = ""  # INFO field: Phred of the probability that the filter tests, which a record must reach


def _is_placed_worse(facts: FractionFacts) -> ndarray:
    """Test for a lower MAPQ; where all reads have low MAPQ, or none has REF, the allele passes."""
    reference, other = facts.info["MMQ"].T
    return np.asarray((other < facts.parameters.min_median_mapping_quality) & (other < reference))


CLUSTERED = "clustered_events"
HALF = 0.5
UNLIKELY = (
    "P(real) < fraction_threshold of this header (--min-probability {limits.fractions.min_probability:g} or more)"
)
FILTERS = (
    FractionFilter("weak_evidence", f"Possible sequencing error (SEQQ): {UNLIKELY}", None, "SEQQ"),
    FractionFilter("germline", f"Possibly inherited (GERMQ): {UNLIKELY}", None, "GERMQ"),
    FractionFilter("contamination", f"Possible contamination from another person (CONTQ): {UNLIKELY}", None, "CONTQ"),
    FractionFilter(
        "normal_artifact", f"Possible artefact also present in the normal (NARTQ): {UNLIKELY}", None, "NARTQ"
    ),
    FractionFilter("panel_of_normals", "In the panel of normals (--panel-of-normals)", lambda facts: facts.in_panel),
    FractionFilter(
        "orientation",
        f"Library damage in pairs of one orientation explains {HALF:g} or more of the ALT reads of a substitution",
        lambda facts: ~facts.is_indel & (facts.damage >= HALF),
    ),
    FractionFilter(
        "slippage",
        f"Polymerase slippage in a homopolymer explains {HALF:g} or more of the ALT reads of an insertion or deletion",
        lambda facts: facts.is_indel & (facts.damage >= HALF),
    ),
    FractionFilter(
        "strand_bias",
        STRAND_BIAS,
        lambda facts: is_strand_biased(facts.info, facts.is_indel, facts.limits),
    ),
    FractionFilter(
        "base_qual",
        "Median base quality of ALT: MBQ < {limits.fractions.min_median_quality:g}",
        lambda facts: facts.info["MBQ"][:, 1] < facts.parameters.min_median_quality,
    ),
    FractionFilter(
        "map_qual",
        "Median mapping quality of ALT: MMQ < {limits.fractions.min_median_mapping_quality:g}, and below that of REF",
        _is_placed_worse,
    ),
    FractionFilter(
        "position",
        "Median distance of ALT from the nearer read end: MPOS < {limits.fractions.min_median_distance:g}",
        lambda facts: facts.info["MPOS"] < facts.parameters.min_median_distance,
    ),
    FractionFilter(
        CLUSTERED, "Mutations of a tumour close together: ECNT > {limits.fractions.max_events} (--max-events)", None
    ),
    FractionFilter(
        "multiallelic",
        "More than one ALT allele, one of them somatic",
        lambda facts: facts.parameters.is_somatic & (facts.siblings > 0),
    ),
    FractionFilter(
        "low_allele_frac",
        "AF < {limits.fractions.min_fraction:g} (--min-fraction)",
        lambda facts: facts.fraction < facts.parameters.min_fraction,
    ),
)
BY_QUALITY = tuple(row for row in FILTERS if row.quality)


def find_failed(facts: FractionFacts) -> list[tuple[str, ...]]:
    """Return the filters that each record fails, except those by quality."""
    failed: list[tuple[str, ...]] = [() for _ in range(facts.fraction.size)]
    for filter_ in FILTERS:
        if filter_.fails:
            for row in np.flatnonzero(filter_.fails(facts)).tolist():
                failed[row] += (filter_.name,)
    return failed
