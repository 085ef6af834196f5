"""Make records of a cohort: the sites where a sample carries another allele, their annotations, and the calls."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.records import limits
from readwarp.call.records.genotypes.annotations import ANNOTATIONS, Columns
from readwarp.call.records.genotypes.calls import build_calls as build_any_calls
from readwarp.call.records.genotypes.calls import mark_overlaps
from readwarp.call.records.genotypes.cohort import Reports, read_information
from readwarp.call.records.genotypes.emitted import Emitted, allocate
from readwarp.call.records.genotypes.order import number_of, rows_of, tables_for
from readwarp.call.records.genotypes.spell import Spelled, trim_end
from readwarp.cohort.cells import CellEvidence
from readwarp.cohort.genotype import Genotyped, genotype_in
from readwarp.cohort.sites import JointSite, SiteAlleles
from readwarp.compiler.jit import kernel
from readwarp.config import CallParameters
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.vcf import GENOTYPE_FIELDS, HeaderField
from readwarp.ragged import offsets_of, replace

UNKNOWN = -1  # AD of a line without one
OWN_FIELDS = {
    "GQ": "Phred-scaled probability that GT is wrong, given the cohort and that the site is a variant; at most 99",
    "DP": "Informative reads; in a block of reference, the minimum",
}
COHORT_FIELDS: tuple[HeaderField, ...] = tuple(
    field._replace(description=OWN_FIELDS.get(field.name, field.description)) for field in GENOTYPE_FIELDS
)


def keep_alleles(alleles: SiteAlleles, evidence: CellEvidence, found: Genotyped) -> Emitted:
    """Keep the sites where a sample has an allele other than REF and `*`, each with REF and the alleles that occur."""
    sites, kept = [], list[list[int]]()
    stars = []
    for s, (best, star) in enumerate(zip(found.best, alleles.star.tolist(), strict=True)):
        carried = sorted({0, *np.unique(best).tolist()} - {-1})
        if set(carried) - {0, star}:
            sites.append(s)
            kept.append(carried)
            stars.append(carried.index(star) if star in carried else -1)
    site, number = np.array(sites, np.int64), np.array([len(own) for own in kept], np.int64)
    tables = tables_for(found.ploidy, alleles.number[:, None])
    allele = np.array([a for own in kept for a in own], np.int64)
    out = replace(
        allocate(site, number, allele, found.ploidy[site], tables),
        star=np.array(stars, np.int64),
        quality=found.quality[site],
        genotype_quality=found.genotype_quality[site],
    )
    fill_records(alleles, evidence, found, tables, out)
    return out


@kernel
def fill_records(alleles, evidence, found, tables, out):
    """Fill GT, PS, DP, AD, PL and SB of each sample."""
    cells = evidence.cells
    genotype, place = out.genotype, np.empty(128, np.int64)
    ordered = np.empty(tables.alleles.shape[1], np.int64)
    samples = evidence.cell.shape[1]
    for v in range(out.site.size):
        s = out.site[v]
        kept = out.allele[out.kept_offsets[v] : out.kept_offsets[v + 1]]
        place[:] = -1
        for a in range(kept.size):
            place[kept[a]] = a
        for i in range(samples):
            p, column = out.ploidy[v, i], v * samples + i
            phred = out.phred[out.phred_offsets[column] : out.phred_offsets[column + 1]]
            fill_phred(found.phred[found.phred_offsets[s * samples + i] :], kept, p, tables, ordered, phred)
            for copy in range(p):
                genotype[v, i, copy] = place[found.best[s, i, copy]] if found.best[s, i, copy] >= 0 else -1
            k, code = evidence.cell[s, i], evidence.code[s, i]
            if k < 0:
                continue
            out.depth[v, i] = max(0, cells.depth[k])
            if evidence.is_own[s, i]:
                out.strands[v, i], out.independent[v, i] = cells.strands[k], cells.independent[k]
            mine = evidence.codes[evidence.code_offsets[code] : evidence.code_offsets[code + 1]]
            allele_depth = out.allele_depth[out.depth_offsets[column] : out.depth_offsets[column + 1]]
            depths = cells.depths[cells.depth_offsets[k] : cells.depth_offsets[k + 1]]
            if code == 0:  # reference block
                allele_depth[0] = out.depth[v, i]
            elif depths.size == 0:
                allele_depth[:] = UNKNOWN
            for a in range(depths.size if code else 0):
                if place[mine[a]] >= 0:
                    allele_depth[place[mine[a]]] += max(0, depths[a])
            has_set = evidence.is_own[s, i] and cells.is_phased[k] and cells.phase_set[k] > 0
            if has_set and take_phase(genotype_in(cells, k), mine, p, alleles.star[s], found.best[s, i], ordered):
                for copy in range(p):
                    genotype[v, i, copy] = place[ordered[copy]]
                out.phase_set[v, i] = cells.phase_set[k] - 1


@kernel
def fill_phred(found, kept, p, tables, ordered, phred):
    """Fill PLs over the alleles kept from those over all, less the lowest. ordered: scratch."""
    genotypes, lowest = tables.alleles[rows_of(tables, p, kept.size)], np.int32(1 << 30)
    for g in range(phred.size):
        for copy in range(p):
            ordered[copy] = kept[genotypes[g, copy]]
        phred[g] = found[number_of(ordered, p)]
        lowest = min(lowest, phred[g])
    for g in range(phred.size):
        phred[g] -= lowest


@kernel
def take_phase(shown, codes, p, star, best, ordered):
    """Put the genotype into the order of the line's haplotypes; return whether it is the line's, and heterozygous.

    The line's REF may have become `*`, if all copies have.
    """
    stars = refs = 0
    if shown.size != p:
        return False
    for copy in range(p):
        stars += star >= 0 and best[copy] == star
        refs += shown[copy] == 0
    is_one = True
    for copy in range(p):
        if not 0 <= shown[copy] < codes.size or best[copy] < 0:
            return False
        ordered[copy] = star if shown[copy] == 0 and stars and stars == refs else codes[shown[copy]]
        is_one &= best[copy] == best[0]
    for a in best[:p]:
        have = want = 0
        for copy in range(p):
            have += ordered[copy] == a
            want += best[copy] == a
        if have != want:
            return False
    return not is_one


def build_calls(
    contig: int, sites: Sequence[JointSite], evidence: CellEvidence, out: Emitted, parameters: CallParameters
) -> Calls:
    own, alleles = [sites[s] for s in out.site.tolist()], out.allele.tolist()
    kept = (alleles[first:last] for first, last in pairwise(out.kept_offsets.tolist()))
    spelled = Spelled(
        contig,
        np.array([site.position for site in own], np.int64),
        [trim_end([site.alleles[a] for a in numbers]) for site, numbers in zip(own, kept, strict=True)],
    )
    out = replace(out, is_indel=np.array([site.is_indel for site in own], bool))
    calls = build_any_calls(spelled, out, join_annotations(sites, evidence, out), parameters)
    calls.annotations[limits.FIELD.name] = np.array([join_limits(site) for site in own], np.str_)
    return mark_overlaps(calls)


def join_annotations(sites: Sequence[JointSite], evidence: CellEvidence, out: Emitted) -> Any:
    """Return `Columns` of the records."""
    is_alt = (out.genotype > 0) & (out.genotype != out.star[:, None, None])
    alt_depth = np.where(is_alt.any(axis=2), out.depth, 0).sum(axis=1).tolist()
    facts = zip(out.quality.tolist(), out.depth.sum(axis=1).tolist(), alt_depth, strict=True)
    reads, alt_reads, strands = _count_reads(evidence, out.site)
    values = np.empty((len(ANNOTATIONS), len(out)))
    for row, (s, (quality, depth, alt)) in enumerate(zip(out.site.tolist(), facts, strict=True)):
        files = sorted(sites[s].own)
        reports = Reports(
            lines=[read_information(sites[s].own[file][0].information) for file in files],
            reads=reads[row, files].tolist(),
            alt_reads=alt_reads[row, files].tolist(),
            strands=strands[row].tolist() if strands[row, 0] >= 0 else None,
            quality=quality,
            depth=depth,
            alt_depth=alt,
        )
        values[:, row] = [annotation.join(reports, annotation.name) for annotation in ANNOTATIONS]
    return Columns._make(values)


def join_limits(site: JointSite) -> str:
    """Join LIM of all files, and mark alleles that are left out here."""
    texts = [record.information for record, _ in site.own.values() if limits.FIELD.name in record.information]
    found = {name for text in texts for name in read_information(text).get(limits.FIELD.name, "").split(",")}
    return ",".join(sorted({name for name in found if name.isalpha()} | ({limits.ALLELES} if site.is_cut else set())))


def _count_reads(evidence: CellEvidence, site: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Count reads at the sites of records, int64: by file, all and those that show ALT [records, files]; over all
    files, those that count for strand bias [records, 4], -1 if a line has none.
    """
    cell, is_own = evidence.cell[site], evidence.is_own[site]
    before = offsets_of(evidence.cells.depths)  # sum of all AD before each
    first, last = evidence.cells.depth_offsets[:-1], evidence.cells.depth_offsets[1:]
    alt_depth = before[last] - before[np.minimum(first + 1, last)]
    starts = np.searchsorted(evidence.owner, np.arange(evidence.owner[-1] + 1))
    strands = np.where(is_own[:, :, None], evidence.cells.independent[cell], 0)
    return (
        np.add.reduceat(np.where(is_own, np.maximum(0, evidence.cells.depth[cell]), 0), starts, axis=1, dtype=np.int64),
        np.add.reduceat(np.where(is_own, alt_depth[cell], 0), starts, axis=1),
        np.where(strands.min(axis=(1, 2))[:, None] < 0, -1, strands.sum(axis=1, dtype=np.int64)),
    )
