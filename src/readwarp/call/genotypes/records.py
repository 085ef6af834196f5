"""Calls from genotype scores (host only): alleles kept, qualities, annotations, filters."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from readwarp.batches import Calls, Likelihoods, Sites
from readwarp.call.evidence import NOTHING
from readwarp.call.genotypes.filters import annotate, failed_filters
from readwarp.call.genotypes.scalar import indel_prior
from readwarp.config import CallParameters
from readwarp.index.bases import LETTERS

MISSING_BASE = b"\x04"  # a deletion across the base, see Sites.inserted
MAX_GENOTYPE_QUALITY = 99


def build_calls(
    sites: Sites,
    likelihoods: Likelihoods,
    scores: np.ndarray,
    score_offsets: np.ndarray,
    best: np.ndarray,
    reference: np.ndarray,
    start: int,
    parameters: CallParameters,
) -> Calls:
    """Sites whose most likely genotype has another allele than the reference's."""
    rows = []
    for site in np.flatnonzero(best).tolist():
        own = scores[score_offsets[site] : score_offsets[site + 1]]
        row = _call(sites, likelihoods, site, own, int(best[site]), reference, start, parameters)
        if row:
            rows.append(row)
    columns = list(zip(*rows, strict=True)) or [()] * 10
    return Calls(
        contig=np.full(len(rows), sites.contig, np.int32),
        position=np.array(columns[0], np.int64),
        alleles=list(columns[1]),
        quality=np.array(columns[2], np.float64),
        genotype=list(columns[3]),
        genotype_quality=np.array(columns[4], np.int32),
        depth=np.array(columns[5], np.int32),
        allele_depth=list(columns[6]),
        likelihoods=list(columns[7]),
        filters=list(columns[8]),
        annotations=list(columns[9]),
    )


def _call(
    sites: Sites,
    likelihoods: Likelihoods,
    site: int,
    scores: np.ndarray,
    best: int,
    reference: np.ndarray,
    start: int,
    parameters: CallParameters,
) -> tuple[Any, ...] | None:
    """One row of Calls, in the order of its fields from `position` on; None where there is nothing to call."""
    from readwarp.call.genotypes.cpu import genotypes_of

    alleles = list(alleles_of(sites, site))
    table = genotypes_of(len(alleles), parameters.ploidy).tolist()
    is_other = [a > 0 and bases != MISSING_BASE for a, (_, bases) in enumerate(alleles)]
    kept = [0, *sorted({a for a in table[best] if is_other[a]})]
    if len(kept) == 1:
        return None
    theta = parameters.snv_prior
    if sites.is_indel[site]:
        tract = int(sites.stop[site] - sites.begin[site])
        theta = indel_prior(parameters.indel_prior, int(sites.unit[site]), tract)
    quality = _quality(scores, table, is_other, theta)
    genotype, phred = _likelihoods(scores, table, is_other, kept, best)
    pairs = slice(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1])
    shown = likelihoods.allele[pairs]
    depth = int((shown != NOTHING).sum())
    allele_depth = tuple(int((shown == a).sum()) for a in kept)
    information = annotate(likelihoods, pairs, kept, quality, depth, allele_depth)
    position, spelled = spell(sites, site, [alleles[a] for a in kept], reference, start)
    second = sorted(phred)[1]
    filters = failed_filters(quality, information, bool(sites.is_indel[site]), parameters)
    return (
        *(position, spelled, quality, genotype, min(second, MAX_GENOTYPE_QUALITY)),
        *(depth, allele_depth, phred, filters, information),
    )


def alleles_of(sites: Sites, site: int) -> Iterator[tuple[int, bytes]]:
    """(deleted bases, inserted bases) of each allele of a site."""
    for a in range(sites.allele_offsets[site], sites.allele_offsets[site + 1]):
        yield int(sites.deleted[a]), sites.inserted[sites.inserted_offsets[a] : sites.inserted_offsets[a + 1]].tobytes()


def _quality(scores: np.ndarray, table: list[list[int]], is_other: list[bool], theta: float) -> float:
    """Phred of the posterior probability that no other allele is there."""
    priors, has_other = _priors(tuple(map(tuple, table)), tuple(is_other), theta)
    posterior = scores + priors
    top = posterior.max()
    weights = 10.0 ** (posterior - top)
    without = posterior[~has_other]
    none = without.max() + np.log10((10.0 ** (without - without.max())).sum()) - top - np.log10(weights.sum())
    return round(max(0.0, -10.0 * float(none)), 2)


@cache
def _priors(
    table: tuple[tuple[int, ...], ...], is_other: tuple[bool, ...], theta: float
) -> tuple[np.ndarray, np.ndarray]:
    """log10 P(G), and which genotypes have another allele."""
    priors = np.zeros(len(table))
    others = [[a for a in genotype if is_other[a]] for genotype in table]
    for g, found in enumerate(others):
        if found:
            priors[g] = theta ** len(set(found)) / len(found)
    has_other = np.array([bool(found) for found in others])
    priors[~has_other] = 1.0 - theta * sum(1.0 / k for k in range(1, len(table[0]) + 1))
    return np.log10(priors), has_other


def _likelihoods(
    scores: np.ndarray, table: list[list[int]], is_other: list[bool], kept: list[int], best: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Genotype and PL over the kept alleles; a missing base counts as the reference's."""
    from readwarp.call.genotypes.cpu import genotypes_of

    names = {a: kept.index(a) if a in kept else -1 if is_other[a] else 0 for a in range(len(is_other))}
    top: dict[tuple[int, ...], float] = {}
    for genotype, score in zip(table, scores.tolist(), strict=True):
        named = tuple(sorted(names[a] for a in genotype))
        if named[0] >= 0:
            top[named] = max(score, top.get(named, -np.inf))
    order = [tuple(g) for g in genotypes_of(len(kept), len(table[0])).tolist()]
    phred = tuple(round(10.0 * (scores[best] - top[g])) for g in order)
    return tuple(sorted(names[a] for a in table[best])), phred


def spell(
    sites: Sites, site: int, alleles: list[tuple[int, bytes]], reference: np.ndarray, start: int
) -> tuple[int, tuple[str, ...]]:
    """Position and alleles as in VCF: indels with their anchor base; all over the longest deletion."""
    begin = int(sites.begin[site]) - start
    if not sites.is_indel[site]:
        return begin + start, tuple(_text(bases) for _, bases in alleles)
    reach = max(deleted for deleted, _ in alleles)
    anchor = reference[begin - 1 : begin].tobytes()
    spelled = (anchor + bases + reference[begin + deleted : begin + reach].tobytes() for deleted, bases in alleles)
    return begin - 1 + start, tuple(_text(bases) for bases in spelled)


def _text(bases: bytes) -> str:
    return LETTERS[np.frombuffer(bases, np.uint8)].tobytes().decode()
