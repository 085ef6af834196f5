"""Whether an allele is a mutation of the tumour: what speaks for errors, germline, and artefacts of both (host only)."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.fractions import INDEL_PRIOR, RARE
from readwarp.call.fractions.products import Evidence
from readwarp.config import FractionParameters

MAX_PHRED = 999.0


class Odds(NamedTuple):
    """log10, of each allele."""

    tumour: Annotated[ndarray, "float64 [alleles]"]  # TLOD
    normal: Annotated[ndarray, "float64 [alleles]"]  # NLOD; NaN without a normal
    artefact: Annotated[ndarray, "float64 [alleles]"]  # NALOD; likewise
    error: Annotated[ndarray, "float64 [alleles]"]  # the reads' errors made it, against a mutation
    germline: Annotated[ndarray, "float64 [alleles]"]  # it is inherited, against a mutation


def weigh_alleles(
    evidence: Evidence,
    at_tumour: ndarray,
    is_indel: ndarray,
    frequency: ndarray,
    is_normal: ndarray,
    parameters: FractionParameters,
) -> Odds:
    """evidence: of each allele in each sample ([alleles, samples]). at_tumour: log10 L at the tumour's fraction, likewise.

    frequency: of the allele in the population (float64 [alleles]); NaN: not known. is_normal: bool [samples].
    """
    tumours, normals = ~is_normal, is_normal
    tumour = np.maximum(0.0, evidence.present[:, tumours]).sum(axis=1)
    prior = math.log10(parameters.mutation_prior) + np.where(is_indel, math.log10(INDEL_PRIOR), 0.0)
    unknown = np.full(is_indel.size, np.nan)
    normal, artefact = unknown, unknown
    if normals.any():
        normal = (evidence.none - evidence.half)[:, normals].sum(axis=1)
        artefact = (evidence.none - at_tumour)[:, normals].sum(axis=1)
    p = np.where(np.isnan(frequency), RARE, np.clip(frequency, RARE, 1 - RARE))
    one = np.log10(2 * p * (1 - p)) + evidence.uneven[:, tumours].sum(axis=1) + evidence.half[:, normals].sum(axis=1)
    both = 2 * np.log10(p) + evidence.whole.sum(axis=1)
    mutated = 2 * np.log10(1 - p) + prior + evidence.mean[:, tumours].sum(axis=1) + evidence.none[:, normals].sum(axis=1)
    germline = add_logs(one, both) - mutated
    return Odds(tumour, normal, artefact, -tumour - prior, germline)


def add_logs(a: ndarray, b: ndarray) -> ndarray:
    """log10(10^a + 10^b)"""
    high = np.maximum(a, b)
    return np.asarray(high + np.log10(10.0 ** (a - high) + 10.0 ** (b - high)))


def phred_of(odds: ndarray) -> ndarray:
    """Phred of the probability of what has these log10 odds; at most MAX_PHRED."""
    likely = np.clip(-odds, -300, 300)
    return np.minimum(MAX_PHRED, 10 * np.where(likely > 15, likely, np.log10(1.0 + 10.0**likely)))
