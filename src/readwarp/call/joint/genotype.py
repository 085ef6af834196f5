"""Likelihoods over the alleles of a site, and the samples' genotypes. See the step's contract for the model."""

from dataclasses import dataclass

import numpy as np

from readwarp.call.genotypes.order import genotype_tables, number_of
from readwarp.call.joint.cells import Evidence
from readwarp.call.joint.scalar import copies_prior, ploidy_of
from readwarp.call.joint.sites import LEFT_OUT, OTHER
from readwarp.config import MAX_PLOIDY
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of

BAD_LIKELIHOODS, BAD_DEPTHS = 1, 2  # status of a sample's column
UNREACHED = 1 << 29  # PL of a genotype that no genotype of the line becomes
MOST_ROUNDS = 50
TOLERANCE = 1e-3  # copies by which the expected number of an allele may still change
MAX_GENOTYPE_QUALITY = 99
NATURAL = np.log(10.0) / 10.0  # of a Phred


@dataclass(frozen=True, slots=True)
class Genotyped:
    """What the samples have at s sites of m samples; alleles by their numbers at the site."""

    ploidy: np.ndarray  # int8 [s, m]
    phred: np.ndarray  # int32, PL: genotypes of a sample behind those of the sample before, site by site
    phred_offsets: np.ndarray  # int64 [s * m + 1]
    expected: np.ndarray  # float64, expected copies of each allele in all genotypes: rows of sites
    allele_offsets: np.ndarray  # int64 [s + 1], into `expected`
    is_informed: np.ndarray  # bool [s, m], the sample's PLs differ
    best: np.ndarray  # int8 [s, m, most copies], the genotype, -1 where it is not known
    quality: np.ndarray  # int32 [s, m], GQ


def genotype_sites(
    number: np.ndarray, is_cut: np.ndarray, star: np.ndarray, evidence: Evidence
) -> tuple[Genotyped, np.ndarray]:
    """`number`: int64 [s], alleles of each site, `*` among them; `is_cut`: alleles were left out; `star`: `*` or -1.

    -> and status, uint8 [s, m]: BAD_LIKELIHOODS where the number of PLs fits no ploidy, BAD_DEPTHS where that of ADs is
    not that of alleles.
    """
    sites, samples = evidence.cell.shape
    ploidy, status = np.full((sites, samples), 2, np.int8), np.zeros((sites, samples), np.uint8)
    e, cells = evidence, evidence.cells
    find_ploidies(e.cell, e.code, e.code_offsets, cells.likelihood_offsets, cells.depth_offsets, ploidy, status)
    tables = tables_of(max(int(number.max(initial=2)) + 2, int(np.diff(e.code_offsets).max())), ploidy)
    sizes = tables[2][ploidy, number[:, None]]
    phred_offsets, allele_offsets = offsets_of(sizes.ravel()), offsets_of(number)
    phred, expected = np.zeros(phred_offsets[-1], np.int32), np.zeros(allele_offsets[-1])
    is_informed = np.zeros((sites, samples), np.bool_)
    best = np.full((sites, samples, int(ploidy.max(initial=1))), -1, np.int8)
    quality = np.zeros((sites, samples), np.int32)
    out = Genotyped(ploidy, phred, phred_offsets, expected, allele_offsets, is_informed, best, quality)
    if status.any():
        return out, status
    spread(
        *(number, is_cut, star, e.cell, e.code, e.cover, e.cover_code, e.codes, e.code_offsets, ploidy, *tables),
        *(
            cells.genotype,
            cells.quality,
            cells.likelihoods,
            cells.likelihood_offsets,
            phred_offsets,
            phred,
            is_informed,
        ),
    )
    find_genotypes(number, ploidy, *tables, phred_offsets, phred, is_informed, allele_offsets, expected, best, quality)
    return out, status


def tables_of(alleles: int, ploidy: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`genotype_tables` of the ploidies that occur."""
    return genotype_tables(alleles, tuple(np.unique(np.maximum(ploidy, 1)).tolist()) or (1,))


@kernel
def find_ploidies(cell, code, code_offsets, likelihood_offsets, depth_offsets, ploidy, status):
    """By the number of PLs; without any, the highest of the others at the site, 2 if none says."""
    for s in range(cell.shape[0]):
        most = 0
        for i in range(cell.shape[1]):
            ploidy[s, i], values = 0, 0
            if cell[s, i] >= 0:
                values = likelihood_offsets[cell[s, i] + 1] - likelihood_offsets[cell[s, i]]
            if values == 0:
                continue
            alleles, k = code_offsets[code[s, i] + 1] - code_offsets[code[s, i]], cell[s, i]
            ploidy[s, i] = ploidy_of(values, alleles, MAX_PLOIDY)
            if ploidy[s, i] == 0:
                status[s, i] = BAD_LIKELIHOODS
            elif code[s, i] and depth_offsets[k + 1] - depth_offsets[k] != alleles:
                status[s, i] = BAD_DEPTHS
            most = max(most, ploidy[s, i])
        for i in range(cell.shape[1]):
            if ploidy[s, i] == 0:
                ploidy[s, i] = most if most else 2


@kernel
def spread(
    number, is_cut, star, cell, code, cover, cover_code, codes, code_offsets, ploidy, tables, firsts, sizes, genotype,
    quality, likelihoods, likelihood_offsets, phred_offsets, phred, is_informed,
):  # fmt: skip
    """PLs of each sample over the genotypes of each site's alleles, least 0.

    All 0 where a sample's likeliest genotype has an allele that was left out.
    """
    most = tables.shape[1]
    named, room = np.empty(most, np.int64), np.empty(sizes.max(), np.int32)
    is_listed = np.empty(firsts.shape[1], np.bool_)
    for s in range(cell.shape[0]):
        n = number[s]
        for i in range(cell.shape[1]):
            k = cell[s, i]
            if k < 0 or likelihood_offsets[k + 1] == likelihood_offsets[k]:
                continue
            p, own = ploidy[s, i], codes[code_offsets[code[s, i]] : code_offsets[code[s, i] + 1]]
            lost = penalty = 0  # copies that a deletion besides takes, and what it costs that it takes none
            if cover[s, i] >= 0:
                across = codes[code_offsets[cover_code[s, i]] : code_offsets[cover_code[s, i] + 1]]
                for copy in range(p):
                    a = genotype[cover[s, i], copy]
                    lost += 0 <= a < across.size and across[a] == star[s]
                penalty = max(0, quality[cover[s, i]])
            values = likelihoods[likelihood_offsets[k] : likelihood_offsets[k + 1]]
            reduced = room[: sizes[p, n + 2]]
            reduced[:], is_listed[:] = UNREACHED, False
            if lost:
                reduce_to(own, values, tables, firsts[p, own.size], p, n, star[s], lost, 0, named, reduced, is_listed)
                reduce_to(
                    own, values, tables, firsts[p, own.size], p, n, star[s], 0, penalty, named, reduced, is_listed
                )
            else:
                reduce_to(own, values, tables, firsts[p, own.size], p, n, star[s], 0, 0, named, reduced, is_listed)
            at = phred_offsets[s * cell.shape[1] + i]
            mine = phred[at : at + sizes[p, n]]
            least = expand(tables, firsts[p, n], p, n, is_listed, named, reduced, mine)
            if is_cut[s] and least > 0:
                mine[:] = 0
            for g in range(1, sizes[p, n]):
                is_informed[s, i] |= phred[at + g] != phred[at]


@kernel
def reduce_to(own, values, tables, first, p, n, star, lost, penalty, named, reduced, is_listed):
    """The least PL of a line's genotypes that become the same one of n alleles.

    Number n stands for alleles that the line does not list, n + 1 for those that the site leaves out. The first `lost`
    copies of REF become `*`.
    """
    for g in range(values.size):
        left = lost
        for copy in range(p):
            name = own[tables[first + g, copy]]
            if name == 0 and left:
                name, left = star, left - 1
            name = n if name == OTHER else n + 1 if name == LEFT_OUT else name
            is_listed[name] = True
            place = copy
            while place > 0 and named[place - 1] > name:
                named[place] = named[place - 1]
                place -= 1
            named[place] = name
        target = number_of(named, p)
        reduced[target] = min(reduced[target], values[g] + penalty)


@kernel
def expand(tables, first, p, n, is_listed, named, reduced, phred):
    """PLs of all genotypes of n alleles; one that the line does not list is its other. One not to be had is the worst.

    They are made relative to their least one, which is returned.
    """
    least, worst = UNREACHED, 0
    for g in range(phred.size):
        for copy in range(p):
            a = tables[first + g, copy]
            name = a if is_listed[a] else n
            place = copy
            while place > 0 and named[place - 1] > name:
                named[place] = named[place - 1]
                place -= 1
            named[place] = name
        phred[g] = reduced[number_of(named, p)]
        least = min(least, phred[g])
        worst = max(worst, phred[g] if phred[g] < UNREACHED else 0)
    for g in range(phred.size):
        phred[g] = min(phred[g], worst) - least
    return least


@kernel
def find_genotypes(
    number, ploidy, tables, firsts, sizes, phred_offsets, phred, is_informed, allele_offsets, expected, best, quality
):  # fmt: skip
    """Repeated substitution of what is expected of each sample, then each one's best genotype and how sure it is."""
    samples = ploidy.shape[1]
    most = number.max() if number.size else 1
    own, weights = np.empty((samples, most)), np.empty(sizes.max())
    others, fresh = np.empty(most), np.empty(most)
    for s in range(number.size):
        n = number[s]
        total = expected[allele_offsets[s] : allele_offsets[s] + n]
        own[:, :], total[:] = 0.0, 0.0
        for turn in range(MOST_ROUNDS):
            change = 0.0
            fresh[:n] = 0.0
            for i in range(samples):
                if not is_informed[s, i]:
                    continue
                p, at = ploidy[s, i], phred_offsets[s * samples + i]
                for a in range(n):
                    others[a] = total[a] - own[i, a] if turn else 0.0
                weigh(phred[at : at + sizes[p, n]], tables, firsts[p, n], p, n, others, weights)
                for a in range(n):
                    own[i, a] = 0.0
                for g in range(sizes[p, n]):
                    for copy in range(p):
                        own[i, tables[firsts[p, n] + g, copy]] += weights[g]
                for a in range(n):
                    fresh[a] += own[i, a]
            for a in range(n):
                change = max(change, abs(fresh[a] - total[a]))
                total[a] = fresh[a]
            if change < TOLERANCE:
                break
        for i in range(samples):
            p, at = ploidy[s, i], phred_offsets[s * samples + i]
            if not is_informed[s, i]:
                continue
            for a in range(n):
                others[a] = max(0.0, total[a] - own[i, a])
            place = weigh(phred[at : at + sizes[p, n]], tables, firsts[p, n], p, n, others, weights)
            for copy in range(p):
                best[s, i, copy] = tables[firsts[p, n] + place, copy]
            second = 0.0
            for g in range(sizes[p, n]):
                if g != place:
                    second = max(second, weights[g])
            phred_of = np.log(weights[place] / max(second, 1e-300)) / NATURAL
            quality[s, i] = min(MAX_GENOTYPE_QUALITY, np.int64(max(0.0, phred_of) + 0.5))


@kernel
def weigh(phred, tables, first, p, n, others, weights):
    """Posterior of each genotype given the copies of each allele in the others; the first of the highest."""
    total, place = 0.0, 0
    for g in range(phred.size):
        weights[g] = np.exp(-NATURAL * phred[g]) * copies_prior(tables[first + g], p, n, others)
        total += weights[g]
        if weights[g] > weights[place] * (1.0 + 1e-9):
            place = g
    for g in range(phred.size):
        weights[g] /= total
    return place
