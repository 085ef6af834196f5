"""GT, PL and AD over the alleles of a site that somebody carries."""

from dataclasses import dataclass

import numpy as np

from readwarp.call.genotypes.order import number_of
from readwarp.call.joint.cells import Evidence
from readwarp.call.joint.genotype import Genotyped, tables_of
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of


@dataclass(frozen=True, slots=True)
class Kept:
    """v records of m samples, alleles by their numbers in the record."""

    site: np.ndarray  # int64 [v], number of the site
    names: list[tuple[int, ...]]  # the site's numbers of the record's alleles
    star: np.ndarray  # int64 [v], number of `*`, -1 where it is not in the record
    genotype: np.ndarray  # int8 [v, m, most copies], -1 unknown; in the order of haplotypes where there is a phase set
    phase_set: np.ndarray  # int64 [v, m], 0-based, -1 not phased
    depth: np.ndarray  # int32 [v, m]
    phred: np.ndarray  # int32, PL: samples x genotypes
    phred_offsets: np.ndarray  # int64 [v * m + 1]
    allele_depth: np.ndarray  # int32, AD: samples x alleles
    allele_offsets: np.ndarray  # int64 [v * m + 1]


def keep_alleles(number: np.ndarray, star: np.ndarray, evidence: Evidence, found: Genotyped) -> Kept:
    """The sites where somebody has another allele than REF and `*`; REF and what somebody has of each."""
    site, names = [], []
    for s, (copies, starred) in enumerate(zip(found.best.reshape(len(number), -1), star.tolist(), strict=True)):
        carried = sorted({0, *np.unique(copies).tolist()} - {-1})
        if set(carried) - {0, starred}:
            site.append(s)
            names.append(tuple(carried))
    rows, kept = np.array(site, np.int64), np.array([len(own) for own in names], np.int64)
    tables = tables_of(int(number.max(initial=2)), found.ploidy)
    ploidy, samples = found.ploidy[rows], found.ploidy.shape[1]
    phred_offsets = offsets_of(tables[2][ploidy, kept[:, None]].ravel())
    allele_offsets = offsets_of(np.repeat(kept, samples))
    out = Kept(
        site=rows,
        names=names,
        star=np.array(
            [own.index(star[s]) if star[s] in own else -1 for s, own in zip(site, names, strict=True)], np.int64
        ),
        genotype=np.full((rows.size, samples, found.best.shape[2]), -1, np.int8),
        phase_set=np.full((rows.size, samples), -1, np.int64),
        depth=np.zeros((rows.size, samples), np.int32),
        phred=np.zeros(phred_offsets[-1], np.int32),
        phred_offsets=phred_offsets,
        allele_depth=np.zeros(allele_offsets[-1], np.int32),
        allele_offsets=allele_offsets,
    )
    name = np.array([a for own in names for a in own], np.int64)
    e, cells = evidence, evidence.cells
    fill(
        *(
            rows,
            number,
            star,
            name,
            offsets_of(kept),
            found.ploidy,
            *tables,
            found.phred_offsets,
            found.phred,
            found.best,
        ),
        *(e.cell, e.code, e.is_own, e.codes, e.code_offsets, cells.genotype, cells.is_phased, cells.phase_set),
        *(cells.depth, cells.depths, cells.depth_offsets, out.genotype, out.phase_set, out.depth),
        *(out.phred_offsets, out.phred, out.allele_offsets, out.allele_depth),
    )
    return out


@kernel
def fill(
    rows, number, star, name, name_offsets, ploidy, tables, firsts, sizes, all_offsets, all_phred, best, cell, code,
    is_own, codes, code_offsets, cell_genotype, is_phased, cell_phase_set, cell_depth, depths, depth_offsets, genotype,
    phase_set, depth, phred_offsets, phred, allele_offsets, allele_depth,
):  # fmt: skip
    place, named = np.empty(128, np.int64), np.empty(tables.shape[1], np.int64)
    samples = cell.shape[1]
    for v in range(rows.size):
        s = rows[v]
        kept = name[name_offsets[v] : name_offsets[v + 1]]
        place[:] = -1
        for a in range(kept.size):
            place[kept[a]] = a
        for i in range(samples):
            p, at, own = ploidy[s, i], all_offsets[s * samples + i], v * samples + i
            least = np.int32(1 << 30)
            for g in range(sizes[p, kept.size]):
                for copy in range(p):
                    named[copy] = kept[tables[firsts[p, kept.size] + g, copy]]
                value = all_phred[at + number_of(named, p)]
                phred[phred_offsets[own] + g] = value
                least = min(least, value)
            for g in range(phred_offsets[own], phred_offsets[own + 1]):
                phred[g] -= least
            for copy in range(p):
                genotype[v, i, copy] = place[best[s, i, copy]] if best[s, i, copy] >= 0 else -1
            k = cell[s, i]
            if k < 0:
                continue
            depth[v, i] = max(0, cell_depth[k])
            mine = codes[code_offsets[code[s, i]] : code_offsets[code[s, i] + 1]]
            out = allele_depth[allele_offsets[own] : allele_offsets[own + 1]]
            if code[s, i] == 0:  # a block of reference
                out[0] = depth[v, i]
            for a in range(depth_offsets[k + 1] - depth_offsets[k] if code[s, i] else 0):
                if place[mine[a]] >= 0:
                    out[place[mine[a]]] += max(0, depths[depth_offsets[k] + a])
            has_set = is_own[s, i] and is_phased[k] and cell_phase_set[k] > 0
            if has_set and take_phase(cell_genotype[k], mine, p, star[s], best[s, i], named):
                for copy in range(p):
                    genotype[v, i, copy] = place[named[copy]]
                phase_set[v, i] = cell_phase_set[k] - 1


@kernel
def take_phase(shown, codes, p, star, best, named):
    """Put the genotype in the order of the line's haplotypes -> `named`; whether it is the line's, and not of one kind.

    What the line calls REF may have become `*`, if all of it has.
    """
    stars = refs = 0
    for copy in range(p):
        stars += star >= 0 and best[copy] == star
        refs += shown[copy] == 0
    is_one = True
    for copy in range(p):
        if not 0 <= shown[copy] < codes.size or best[copy] < 0:
            return False
        named[copy] = star if shown[copy] == 0 and stars and stars == refs else codes[shown[copy]]
        is_one &= best[copy] == best[0]
    for a in best[:p]:
        have = want = 0
        for copy in range(p):
            have += named[copy] == a
            want += best[copy] == a
        if have != want:
            return False
    return not is_one
