"""Calls of a cohort from what was found at its sites (host only)."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from readwarp.batches import Calls
from readwarp.call.genotypes.filters import names_of_failed
from readwarp.call.genotypes.joining import no_calls
from readwarp.call.genotypes.overlaps import mark_overlaps
from readwarp.call.joint import REACH, STAR
from readwarp.call.joint.annotations import columns_of, information
from readwarp.call.joint.cells import Evidence
from readwarp.call.joint.genotype import Genotyped
from readwarp.call.joint.kept import Kept
from readwarp.call.joint.sites import JointSite
from readwarp.config import CallParameters

Rows = list[tuple[tuple[int, ...], ...]]


def build_calls(
    contig: int,
    sites: Sequence[JointSite],
    evidence: Evidence,
    found: Genotyped,
    kept: Kept,
    quality: np.ndarray,
    owner: np.ndarray,
    parameters: CallParameters,
) -> Calls:
    """`quality`: QUAL of each site; `owner`: number of the file of each sample."""
    samples = found.ploidy.shape[1]
    if not kept.names:
        return no_calls(samples)
    columns, own_quality = columns_of(sites, owner, evidence, kept), quality[kept.site]
    ploidy = found.ploidy[kept.site]
    is_indel = np.array([sites[s].is_indel for s in kept.site.tolist()], bool)
    fraction, wanted = shares(kept, ploidy)
    chosen = zip(kept.site.tolist(), kept.names, strict=True)
    calls = Calls(
        contig=np.full(kept.site.size, contig, np.int32),
        position=np.array([sites[s].position for s in kept.site.tolist()], np.int64),
        alleles=[trimmed_end([sites[s].alleles[a] for a in names]) for s, names in chosen],
        quality=own_quality,
        genotype=_genotypes(kept.genotype, ploidy),
        genotype_quality=found.quality[kept.site],
        depth=kept.depth,
        allele_depth=_tables(kept.allele_depth, kept.allele_offsets, samples),
        likelihoods=_tables(kept.phred, kept.phred_offsets, samples),
        phase_set=kept.phase_set,
        filters=names_of_failed(own_quality, columns, fraction, wanted, ploidy, is_indel, parameters),
        annotations=information(columns, own_quality, kept),
        strands=np.full((kept.site.size, 4), -1, np.int32),
    )
    return replace(calls, filters=mark_overlaps(replace(calls, genotype=_without_star(calls)), REACH).filters)


def trimmed_end(alleles: Sequence[str]) -> tuple[str, ...]:
    """Without the last bases that all share, as long as each keeps one; they need them no more once others are gone."""
    spelled = [allele for allele in alleles if allele != STAR]
    shared = 0
    while min(map(len, spelled)) > shared + 1 and len({allele[-1 - shared] for allele in spelled}) == 1:
        shared += 1
    return tuple(allele if allele == STAR else allele[: len(allele) - shared] for allele in alleles)


def shares(kept: Kept, ploidy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 [v, m]: the other alleles' share of the reads, and of the genotype's copies; 0 where it has none."""
    is_other = (kept.genotype > 0) & (kept.genotype != kept.star[:, None, None])
    wanted = np.count_nonzero(is_other, axis=2) / ploidy
    number = np.array([len(names) for names in kept.names])
    samples = ploidy.shape[1]
    reads = np.zeros(ploidy.size)
    row = np.repeat(np.arange(ploidy.size), np.repeat(number, samples))
    allele = np.arange(kept.allele_depth.size) - kept.allele_offsets[row]
    is_counted = (allele > 0) & (allele != kept.star[row // samples])
    np.add.at(reads, row[is_counted], kept.allele_depth[is_counted])
    fraction = reads.reshape(ploidy.shape) / np.maximum(1, kept.depth)
    return np.where(wanted > 0, fraction, 0.0), wanted


def _without_star(calls: Calls) -> Rows:
    """Genotypes in which `*` is REF: what another call deletes, this one does not change."""
    out = []
    for alleles, genotype in zip(calls.alleles, calls.genotype, strict=True):
        star = len(alleles) - 1 if alleles[-1] == STAR else -2
        out.append(tuple(tuple(0 if a == star else a for a in own) for own in genotype) if star > 0 else genotype)
    return out


def _genotypes(genotype: np.ndarray, ploidy: np.ndarray) -> Rows:
    return [
        tuple(tuple(own[:copies]) for own, copies in zip(row, site, strict=True))
        for row, site in zip(genotype.tolist(), ploidy.tolist(), strict=True)
    ]


def _tables(values: np.ndarray, offsets: np.ndarray, samples: int) -> Rows:
    flat = values.tolist()
    rows = [tuple(flat[a:b]) for a, b in pairwise(offsets.tolist())]
    return [tuple(rows[i : i + samples]) for i in range(0, len(rows), samples)]
