"""Weigh an allele as a tumour's mutation, an error, inherited, or an artefact of tumour and normal (host only)."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import FractionParameters
from readwarp.somatic.fractions import INDEL_PRIOR, RARE
from readwarp.somatic.fractions.products import FractionEvidence, add_logs

MAX_PHRED = 999.0


class PopulationAlleles(NamedTuple):
    """Alleles of sites in other people."""

    frequency: Annotated[ndarray, "float64 [alleles]"]  # AF in the population; NaN: unknown
    in_panel: Annotated[ndarray, "bool [alleles]"]  # in the panel of normals


class Odds(NamedTuple):
    """log10 odds of each allele."""

    tumour: Annotated[ndarray, "float64 [alleles]"]  # TLOD
    normal: Annotated[ndarray, "float64 [alleles]"]  # NLOD; NaN without a normal
    artefact: Annotated[ndarray, "float64 [alleles]"]  # NALOD; NaN without a normal
    error: Annotated[ndarray, "float64 [alleles]"]  # read errors made it, against a mutation
    germline: Annotated[ndarray, "float64 [alleles]"]  # it is inherited, against a mutation; NaN in a mixture
    foreign: Annotated[ndarray, "float64 [alleles]"]  # contamination, against a mutation; NaN: fraction unknown


class SomaticPriors(NamedTuple):
    """Prior rates and frequencies of alleles."""

    variants: Annotated[ndarray, "float64 [alleles, samples]"]  # rho of `readwarp.somatic.noise`
    is_indel: Annotated[ndarray, "bool [alleles]"]
    frequency: Annotated[ndarray, "float64 [alleles]"]  # AF in the population; NaN: unknown


def weigh_alleles(
    evidence: FractionEvidence,
    at_tumour: ndarray,
    expected: SomaticPriors,
    is_normal: ndarray,
    parameters: FractionParameters,
) -> Odds:
    """Weigh alleles. evidence, and log10 L at the tumour's fraction: [alleles, samples] each. is_normal: [samples]."""
    tumours, normals = ~is_normal, is_normal
    tumour = np.maximum(0.0, evidence.present[:, tumours]).sum(axis=1)
    prior, p = log_prior(expected, tumours, parameters), population_of(expected)
    unknown = np.full(p.size, np.nan)
    normal, artefact = unknown, unknown
    if normals.any():
        normal = (evidence.none - evidence.half)[:, normals].sum(axis=1)
        artefact = (evidence.none - at_tumour)[:, normals].sum(axis=1)
    one = np.log10(2 * p * (1 - p)) + evidence.uneven[:, tumours].sum(axis=1) + evidence.half[:, normals].sum(axis=1)
    both = 2 * np.log10(p) + evidence.whole.sum(axis=1)
    mutated = (
        2 * np.log10(1 - p) + prior + evidence.mean[:, tumours].sum(axis=1) + evidence.none[:, normals].sum(axis=1)
    )
    germline = add_logs(one, both) - mutated if parameters.is_somatic else unknown
    return Odds(tumour, normal, artefact, -tumour - prior, germline, unknown)


def weigh_foreign(
    evidence: FractionEvidence,
    at_copies: tuple[ndarray, ndarray],
    expected: SomaticPriors,
    is_normal: ndarray,
    parameters: FractionParameters,
) -> ndarray:
    """Return Odds.foreign. at_copies: log10 L at c / 2 and at c of each sample: [alleles, samples] each."""
    p, tumours = population_of(expected), ~is_normal
    beyond = [subtract_logs(likelihood, evidence.none) for likelihood in at_copies]
    came, absent = np.full(p.size, -np.inf), np.zeros(p.size)
    for sample in np.flatnonzero(tumours).tolist():  # each is contaminated by a person of its own
        one, both = np.log10(2 * p * (1 - p)) + beyond[0][:, sample], 2 * np.log10(p) + beyond[1][:, sample]
        with np.errstate(divide="ignore"):  # none exceeds L(0)
            some, none = add_logs(one, both), 2 * np.log10(1 - p) + evidence.none[:, sample]
            came, absent = add_logs(came + add_logs(none, some), absent + some), absent + none
    return np.asarray(came - log_prior(expected, tumours, parameters) - evidence.mean[:, tumours].sum(axis=1))


def log_prior(expected: SomaticPriors, tumours: ndarray, parameters: FractionParameters) -> ndarray:
    """Return log10 of the prior of a mutation (float64 [alleles])."""
    usual = parameters.mutation_prior * np.where(expected.is_indel, INDEL_PRIOR, 1.0)
    return np.asarray(np.log10(np.maximum(usual, np.max(expected.variants, axis=1, where=tumours, initial=0.0))))


def population_of(expected: SomaticPriors) -> ndarray:
    """Return p (float64 [alleles])."""
    frequency = expected.frequency
    return np.where(np.isnan(frequency), RARE, np.clip(frequency, RARE, 1 - RARE))


def subtract_logs(a: ndarray, b: ndarray) -> ndarray:
    """Return log10(10^a - 10^b); -inf where that is not positive."""
    with np.errstate(divide="ignore"):
        return np.asarray(a + np.log10(-np.expm1(np.minimum(0.0, b - a) * math.log(10))))


def phred_of(odds: ndarray) -> ndarray:
    """Return the Phred of the probability with these log10 odds; at most MAX_PHRED."""
    likely = np.clip(-odds, -300, 300)
    return np.asarray(np.minimum(MAX_PHRED, 10 * np.where(likely > 15, likely, np.log10(1.0 + 10.0**likely))))
