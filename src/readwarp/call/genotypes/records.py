"""Calls from genotype scores (host only): alleles kept, qualities, spelling."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from readwarp.batches import Calls, Sites
from readwarp.call.genotypes.filters import annotate, failed_filters
from readwarp.call.genotypes.order import genotypes_of
from readwarp.call.genotypes.scalar import indel_prior
from readwarp.config import CallParameters
from readwarp.index.bases import LETTERS

MISSING_BASE = b"\x04"  # a deletion across the base, see Sites.inserted
MAX_GENOTYPE_QUALITY = 99
Genotype = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """What the kernels say about each site."""

    scores: np.ndarray  # float64, log10 P(D | G) of each genotype
    score_offsets: np.ndarray  # int64 [s + 1]
    best: np.ndarray  # int64 [s], the most likely genotype
    depth: np.ndarray  # int64 [s], reads that say something
    tally: np.ndarray  # int64 [A, 5], of the reads that show each allele: see `genotypes.cpu.tally_alleles`


def build_calls(sites: Sites, scored: Scored, reference: np.ndarray, start: int, parameters: CallParameters) -> Calls:
    """Sites whose most likely genotype has another allele than the reference's."""
    rows = []
    for site in np.flatnonzero(scored.best).tolist():
        row = _call(sites, scored, site, reference, start, parameters)
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
    sites: Sites, scored: Scored, site: int, reference: np.ndarray, start: int, parameters: CallParameters
) -> tuple[Any, ...] | None:
    """One row of Calls, in the order of its fields from `position` on; None where there is nothing to call."""
    scores = scored.scores[scored.score_offsets[site] : scored.score_offsets[site + 1]].tolist()
    alleles = list(alleles_of(sites, site))
    best = genotypes_of(len(alleles), parameters.ploidy)[scored.best[site]]
    is_other = tuple(a > 0 and bases != MISSING_BASE for a, (_, bases) in enumerate(alleles))
    kept = (0, *sorted({a for a in best if is_other[a]}))
    if len(kept) == 1:
        return None
    theta = parameters.snv_prior
    if sites.is_indel[site]:
        tract = int(sites.stop[site] - sites.begin[site])
        theta = indel_prior(parameters.indel_prior, int(sites.unit[site]), tract)
    quality = _quality(scores, is_other, parameters.ploidy, theta)
    genotype, phred = _likelihoods(scores, is_other, kept, best)
    first, depth = int(sites.allele_offsets[site]), int(scored.depth[site])
    tally = [scored.tally[first + a].tolist() for a in kept]
    information = annotate(tally, quality, depth)
    position, spelled = spell(sites, site, [alleles[a] for a in kept], reference, start)
    filters = failed_filters(quality, information, bool(sites.is_indel[site]), parameters)
    return (
        *(position, spelled, quality, genotype, min(sorted(phred)[1], MAX_GENOTYPE_QUALITY)),
        *(depth, tuple(row[0] + row[1] for row in tally), phred, filters, information),
    )


def alleles_of(sites: Sites, site: int) -> Iterator[tuple[int, bytes]]:
    """(deleted bases, inserted bases) of each allele of a site."""
    for a in range(sites.allele_offsets[site], sites.allele_offsets[site + 1]):
        yield int(sites.deleted[a]), sites.inserted[sites.inserted_offsets[a] : sites.inserted_offsets[a + 1]].tobytes()


def _quality(scores: list[float], is_other: tuple[bool, ...], ploidy: int, theta: float) -> float:
    """Phred of the posterior probability that no other allele is there."""
    priors, has_other = _priors(is_other, ploidy, theta)
    posterior = [score + prior for score, prior in zip(scores, priors, strict=True)]
    without = [value for value, other in zip(posterior, has_other, strict=True) if not other]
    return round(max(0.0, -10.0 * (_log_sum(without) - _log_sum(posterior))), 2)


def _log_sum(values: list[float]) -> float:
    top = max(values)
    return top + math.log10(math.fsum(10.0 ** (value - top) for value in values))


@cache
def _priors(is_other: tuple[bool, ...], ploidy: int, theta: float) -> tuple[list[float], list[bool]]:
    """log10 P(G) of each genotype, and whether it has another allele."""
    none = 1.0 - theta * math.fsum(1.0 / k for k in range(1, ploidy + 1))
    priors, has_other = [], []
    for genotype in genotypes_of(len(is_other), ploidy):
        others = [a for a in genotype if is_other[a]]
        priors.append(math.log10(theta ** len(set(others)) / len(others) if others else none))
        has_other.append(bool(others))
    return priors, has_other


def _likelihoods(
    scores: list[float], is_other: tuple[bool, ...], kept: Genotype, best: Genotype
) -> tuple[Genotype, tuple[int, ...]]:
    """Genotype and PL over the kept alleles; a missing base counts as the reference's."""
    names, sources = _renamed(is_other, kept, len(best))
    top = [max(scores[g] for g in group) for group in sources]
    highest = max(top)
    return tuple(sorted(names[a] for a in best)), tuple(round(10.0 * (highest - value)) for value in top)


@cache
def _renamed(is_other: tuple[bool, ...], kept: Genotype, ploidy: int) -> tuple[list[int], list[list[int]]]:
    """Each allele's number among the kept ones (-1: none), and the genotypes that each genotype of those stands for."""
    names = [kept.index(a) if a in kept else -1 if other else 0 for a, other in enumerate(is_other)]
    groups: dict[Genotype, list[int]] = {genotype: [] for genotype in genotypes_of(len(kept), ploidy)}
    for g, genotype in enumerate(genotypes_of(len(is_other), ploidy)):
        named = tuple(sorted(names[a] for a in genotype))
        if named[0] >= 0:
            groups[named].append(g)
    return names, list(groups.values())


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
    return bases.translate(TO_LETTERS).decode()


TO_LETTERS = LETTERS.tobytes().ljust(256, b"N")
