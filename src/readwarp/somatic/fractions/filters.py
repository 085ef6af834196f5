"""Filter records; a filter is a row of FILTERS, with Mutect2's name where it means the same."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.records.filters import STRAND_BIAS, Filter, is_strand_biased
from readwarp.config import CallParameters, FractionParameters

CLUSTERED = "clustered_events"
HALF = 0.5
UNLIKELY = (
    "P(real) < fraction_threshold of this header (--min-probability {limits.fractions.min_probability:g} or more)"
)


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


def _is_placed_worse(facts: FractionFacts) -> ndarray:
    """Test for a lower MAPQ; where all reads have low MAPQ, or none has REF, the allele passes."""
    reference, other = facts.info["MMQ"].T
    return np.asarray((other < facts.parameters.min_median_mapping_quality) & (other < reference))


FILTERS = (
    Filter("weak_evidence", f"Possible sequencing error (SEQQ): {UNLIKELY}", None, "SEQQ"),
    Filter("germline", f"Possibly inherited (GERMQ): {UNLIKELY}", None, "GERMQ"),
    Filter("contamination", f"Possible contamination from another person (CONTQ): {UNLIKELY}", None, "CONTQ"),
    Filter("normal_artifact", f"Possible artefact also present in the normal (NARTQ): {UNLIKELY}", None, "NARTQ"),
    Filter("panel_of_normals", "In the panel of normals (--panel-of-normals)", lambda facts: facts.in_panel),
    Filter(
        "orientation",
        f"Library damage in pairs of one orientation explains {HALF:g} or more of the ALT reads of a substitution",
        lambda facts: ~facts.is_indel & (facts.damage >= HALF),
    ),
    Filter(
        "slippage",
        f"Polymerase slippage in a homopolymer explains {HALF:g} or more of the ALT reads of an insertion or deletion",
        lambda facts: facts.is_indel & (facts.damage >= HALF),
    ),
    Filter("strand_bias", STRAND_BIAS, lambda facts: is_strand_biased(facts.info, facts.is_indel, facts.limits)),
    Filter(
        "base_qual",
        "Median base quality of ALT: MBQ < {limits.fractions.min_median_quality:g}",
        lambda facts: facts.info["MBQ"][:, 1] < facts.parameters.min_median_quality,
    ),
    Filter(
        "map_qual",
        "Median mapping quality of ALT: MMQ < {limits.fractions.min_median_mapping_quality:g}, and below that of REF",
        _is_placed_worse,
    ),
    Filter(
        "position",
        "Median distance of ALT from the nearer read end: MPOS < {limits.fractions.min_median_distance:g}",
        lambda facts: facts.info["MPOS"] < facts.parameters.min_median_distance,
    ),
    Filter(CLUSTERED, "Several mutations close together: ECNT > {limits.fractions.max_events} (--max-events)"),
    Filter(
        "multiallelic",
        "More than one ALT allele, one of them somatic",
        lambda facts: facts.parameters.is_somatic & (facts.siblings > 0),
    ),
    Filter(
        "low_allele_frac",
        "AF < {limits.fractions.min_fraction:g} (--min-fraction)",
        lambda facts: facts.fraction < facts.parameters.min_fraction,
    ),
)
BY_QUALITY = tuple(row for row in FILTERS if row.quality)
