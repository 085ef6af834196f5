"""Whether an allele is a mutation of the tumour, an error, inherited, or an artefact of both (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.fractions import INDEL_PRIOR, RARE
from readwarp.call.fractions.products import Evidence, add_logs
from readwarp.config import FractionParameters

MAX_PHRED = 999.0


class Known(NamedTuple):
    """What other people have of the alleles of sites."""

    frequency: Annotated[ndarray, "float64 [alleles]"]  # in the population; NaN: not known
    in_panel: Annotated[ndarray, "bool [alleles]"]  # of normals


class Odds(NamedTuple):
    """log10, of each allele."""

    tumour: Annotated[ndarray, "float64 [alleles]"]  # TLOD
    normal: Annotated[ndarray, "float64 [alleles]"]  # NLOD; NaN without a normal
    artefact: Annotated[ndarray, "float64 [alleles]"]  # NALOD; likewise
    error: Annotated[ndarray, "float64 [alleles]"]  # the reads' errors made it, against a mutation
    germline: Annotated[ndarray, "float64 [alleles]"]  # it is inherited, against a mutation; NaN in a mixture


class Expected(NamedTuple):
    """What is expected of alleles before their reads are seen."""

    variants: Annotated[ndarray, "float64 [alleles, samples]"]  # rho of `readwarp.call.noise`
    is_indel: Annotated[ndarray, "bool [alleles]"]
    frequency: Annotated[ndarray, "float64 [alleles]"]  # in the population; NaN: not known


def weigh_alleles(
    evidence: Evidence, at_tumour: ndarray, expected: Expected, is_normal: ndarray, parameters: FractionParameters
) -> Odds:
    """evidence, and log10 L at the tumour's fraction: [alleles, samples] each. is_normal: [samples]."""
    is_indel, frequency = expected.is_indel, expected.frequency
    tumours, normals = ~is_normal, is_normal
    tumour = np.maximum(0.0, evidence.present[:, tumours]).sum(axis=1)
    usual = parameters.mutation_prior * np.where(is_indel, INDEL_PRIOR, 1.0)
    prior = np.log10(np.maximum(usual, np.max(expected.variants, axis=1, where=tumours, initial=0.0)))
    unknown = np.full(is_indel.size, np.nan)
    normal, artefact = unknown, unknown
    if normals.any():
        normal = (evidence.none - evidence.half)[:, normals].sum(axis=1)
        artefact = (evidence.none - at_tumour)[:, normals].sum(axis=1)
    p = np.where(np.isnan(frequency), RARE, np.clip(frequency, RARE, 1 - RARE))
    one = np.log10(2 * p * (1 - p)) + evidence.uneven[:, tumours].sum(axis=1) + evidence.half[:, normals].sum(axis=1)
    both = 2 * np.log10(p) + evidence.whole.sum(axis=1)
    mutated = (
        2 * np.log10(1 - p) + prior + evidence.mean[:, tumours].sum(axis=1) + evidence.none[:, normals].sum(axis=1)
    )
    germline = add_logs(one, both) - mutated if parameters.is_somatic else unknown
    return Odds(tumour, normal, artefact, -tumour - prior, germline)


def phred_of(odds: ndarray) -> ndarray:
    """Phred of the probability of what has these log10 odds; at most MAX_PHRED."""
    likely = np.clip(-odds, -300, 300)
    return np.asarray(np.minimum(MAX_PHRED, 10 * np.where(likely > 15, likely, np.log10(1.0 + 10.0**likely))))
