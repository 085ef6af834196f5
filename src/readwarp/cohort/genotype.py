"""Compute likelihoods over a site's alleles, and the samples' genotypes. The step's contract has the model."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.records.genotypes import quality
from readwarp.call.records.genotypes.order import (
    GenotypeTables,
    insert_allele,
    next_genotype,
    number_of,
    rows_of,
    tables_for,
)
from readwarp.call.records.genotypes.score import MAX_GENOTYPE_QUALITY, genotype_phred
from readwarp.cohort.cells import CellEvidence
from readwarp.cohort.sites import LEFT_OUT, OTHER, SiteAlleles
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_PLOIDY
from readwarp.ragged import empty, offsets_of, replace

BAD_LIKELIHOODS, BAD_DEPTHS = 1, 2  # number of PLs fits no ploidy; number of ADs differs from that of alleles
UNREACHED = 1 << 29  # PL of a genotype that none of the line's becomes
MAX_ROUNDS = 50
TOLERANCE = 1e-3  # change of an allele's expected copies at which rounds end


class Genotyped(NamedTuple):
    """Genotypes of samples at each site; alleles are numbers at the site. A column is one sample at a site."""

    ploidy: Annotated[ndarray, "int8 [sites, samples]"]
    has_prior: Annotated[ndarray, "bool [sites, samples]"]  # PLs are posteriors: they take no further prior
    status: Annotated[ndarray, "uint8 [sites, samples]"]  # 0, BAD_LIKELIHOODS or BAD_DEPTHS
    phred_offsets: Annotated[ndarray, "int64 [columns + 1] of genotypes"]
    phred: Annotated[ndarray, "int32 [genotypes]"]  # PL
    allele_offsets: Annotated[ndarray, "int64 [sites + 1] of alleles"]
    expected: Annotated[ndarray, "float64 [alleles]"]  # copies of each allele in all genotypes
    is_informed: Annotated[ndarray, "bool [sites, samples]"]  # the sample's PLs differ
    best: Annotated[ndarray, "int8 [sites, samples, copies]"]  # genotype, -1 if unknown
    genotype_quality: Annotated[ndarray, "int32 [sites, samples]"]  # GQ
    quality: Annotated[ndarray, "float64 [sites]"]  # QUAL


class SampleLine(NamedTuple):
    """A sample's PLs of one line, over the distinct kinds of alleles."""

    phred: Annotated[ndarray, "int32 [genotypes]"]
    kind: Annotated[ndarray, "int64 [alleles]"]  # by site allele, then unlisted and left-out ones; -1: not in the line


def genotype_sites(alleles: SiteAlleles, evidence: CellEvidence, theta: ndarray) -> Genotyped:
    """Genotype the sites, unless any status is not 0. `theta`: float64 [sites], prior of other alleles."""
    out, tables = _allocate(alleles, evidence)
    if not out.status.any():
        spread(alleles, evidence, tables, out)
        find_genotypes(alleles, tables, out)
        find_qualities(alleles, theta, tables, out)
    return replace(out, quality=np.round(out.quality, 2))


def _allocate(alleles: SiteAlleles, evidence: CellEvidence) -> tuple[Genotyped, GenotypeTables]:
    """Return ploidies and status, and space for the rest."""
    ploidy, status = ploidies_of(evidence)
    tables = tables_for(ploidy, alleles.number[:, None])
    out = empty(
        Genotyped,
        {"samples": ploidy.shape[1], "copies": int(ploidy.max(initial=1))},
        np.zeros,
        ploidy=ploidy,
        has_prior=evidence.has_prior,
        status=status,
        phred_offsets=offsets_of(tables.size[ploidy, alleles.number[:, None]]),
        allele_offsets=offsets_of(alleles.number),
    )
    out.best[:] = -1
    return out, tables


def ploidies_of(evidence: CellEvidence) -> tuple[ndarray, ndarray]:
    """Return int8 [sites, samples], all 2 if anything is wrong; and `status` of Genotyped."""
    shape = evidence.cell.shape
    ploidy, status = np.full(shape, 2, np.int8), np.zeros(shape, np.uint8)
    find_ploidies(evidence, ploidy, status)
    if status.any():
        ploidy[:] = 2
    return ploidy, status


@kernel
def find_ploidies(evidence, ploidy, status):
    """Derive ploidies from the number of PLs; without PLs, take the highest of the other samples at the site, or 2."""
    code, copy_offsets = evidence.code, evidence.cells.copy_offsets
    likelihood_offsets, depth_offsets = evidence.cells.likelihood_offsets, evidence.cells.depth_offsets
    for s in range(evidence.cell.shape[0]):
        highest = 0
        for i in range(evidence.cell.shape[1]):
            ploidy[s, i], values = 0, 0
            if evidence.cell[s, i] >= 0:
                values = likelihood_offsets[evidence.cell[s, i] + 1] - likelihood_offsets[evidence.cell[s, i]]
            if values == 0:
                continue
            alleles, k = evidence.code_offsets[code[s, i] + 1] - evidence.code_offsets[code[s, i]], evidence.cell[s, i]
            listed = alleles - (evidence.codes[evidence.code_offsets[code[s, i] + 1] - 1] == OTHER)
            ploidy[s, i] = ploidy_by(values, alleles, listed, copy_offsets[k + 1] - copy_offsets[k])
            depths = depth_offsets[k + 1] - depth_offsets[k]
            if ploidy[s, i] == 0:
                status[s, i] = BAD_LIKELIHOODS
            elif code[s, i] and depths and depths != alleles and depths != listed:
                status[s, i] = BAD_DEPTHS
            highest = max(highest, ploidy[s, i])
        for i in range(evidence.cell.shape[1]):
            if ploidy[s, i] == 0:
                ploidy[s, i] = highest if highest else 2


@kernel
def spread(alleles, evidence, tables, out):
    """Fill PLs of each sample over the genotypes of each site's alleles; the lowest is 0.

    All are 0 if the sample's likeliest genotype has an allele that was left out.
    """
    cells = evidence.cells
    samples = out.ploidy.shape[1]
    genotype, room = np.empty((2, tables.alleles.shape[1]), np.int64), np.empty(tables.largest, np.int32)
    kinds = np.empty(tables.first.shape[1] + 2, np.int64)
    for s in range(evidence.cell.shape[0]):
        n, star = alleles.number[s], alleles.star[s]
        for i in range(samples):
            k = evidence.cell[s, i]
            if k < 0 or cells.likelihood_offsets[k + 1] == cells.likelihood_offsets[k]:
                continue
            p, code = out.ploidy[s, i], evidence.code[s, i]
            own = evidence.codes[evidence.code_offsets[code] : evidence.code_offsets[code + 1]]
            lost = penalty = 0  # copies that a deletion across takes, and the PL if it takes none
            if evidence.cover[s, i] >= 0:
                code = evidence.cover_code[s, i]
                across = evidence.codes[evidence.code_offsets[code] : evidence.code_offsets[code + 1]]
                for a in genotype_in(cells, evidence.cover[s, i]):
                    lost += 0 <= a < across.size and across[a] == star
                lost, penalty = min(lost, p), max(0, cells.quality[evidence.cover[s, i]])
            values = cells.likelihoods[cells.likelihood_offsets[k] : cells.likelihood_offsets[k + 1]]
            genotype[0] = find_kinds(own, star if lost else 0, kinds[: n + 2]) - 1
            size = number_of(genotype[0], p) + 1
            if size > room.size:
                room = np.empty(size, np.int32)
            line = SampleLine(room[:size], kinds[: n + 2])
            line.phred[:] = UNREACHED
            reduce_to(own, values, p, (star, lost, 0), genotype, line)
            if lost:
                reduce_to(own, values, p, (star, 0, penalty), genotype, line)
            column = s * samples + i
            mine = out.phred[out.phred_offsets[column] : out.phred_offsets[column + 1]]
            lowest = expand(line, tables.alleles[rows_of(tables, p, n)], p, genotype[0], mine)
            if alleles.is_cut[s] and lowest > 0:
                mine[:] = 0
            for value in mine:
                out.is_informed[s, i] |= value != mine[0]


@kernel
def genotype_in(cells, k):
    return cells.genotype[cells.copy_offsets[k] : cells.copy_offsets[k + 1]]


@kernel
def find_kinds(codes, star, kinds):
    """Number the kinds of alleles that a line with these codes has, and `star` (0: none); return their count."""
    n, found = kinds.size - 2, 0
    kinds[:] = -1
    for code in codes:
        kinds[n if code == OTHER else n + 1 if code == LEFT_OUT else code] = 0
    kinds[star] = 0
    for a in range(kinds.size):
        if kinds[a] == 0:
            kinds[a] = found
            found += 1
    return found


@kernel
def reduce_to(codes, values, p, deletion, room, line):
    """Fill the Line: the lowest PL of the genotypes that become the same one over its kinds of alleles.

    deletion: the number of `*`, how many copies of REF become `*` by a deletion across the site, the first ones, and
    the PL that this adds. A line may list too many alleles for a table of its genotypes. room: int64 [2, copies].
    """
    (star, lost, penalty), (listed, genotype) = deletion, room
    listed[:] = 0
    n = line.kind.size - 2
    for g in range(values.size):
        left = lost
        for copy in range(p):
            number = codes[listed[copy]]
            if number == 0 and left:
                number, left = star, left - 1
            number = n if number == OTHER else n + 1 if number == LEFT_OUT else number
            insert_allele(genotype, copy, line.kind[number])
        target = number_of(genotype, p)
        line.phred[target] = min(line.phred[target], values[g] + penalty)
        next_genotype(listed, p)


@kernel
def expand(line, genotypes, p, genotype, phred):
    """Fill PLs of all genotypes over the site's alleles, relative to the lowest; return the lowest.

    An allele that the line does not list counts as its <NON_REF>; a genotype that nothing becomes, as the worst.
    """
    other = line.kind[line.kind.size - 2]
    lowest, worst = UNREACHED, 0
    for g in range(phred.size):
        is_known = True
        for copy in range(p):
            own = line.kind[genotypes[g, copy]]
            own = own if own >= 0 else other
            is_known &= own >= 0
            insert_allele(genotype, copy, max(own, 0))
        phred[g] = line.phred[number_of(genotype, p)] if is_known else UNREACHED
        lowest = min(lowest, phred[g])
        worst = max(worst, phred[g] if phred[g] < UNREACHED else 0)
    for g in range(phred.size):
        phred[g] = min(phred[g], worst) - lowest
    return lowest


@kernel
def find_genotypes(alleles, tables, out):
    """Iterate expected copies to convergence, then set the best genotype of each sample and its GQ.

    A sample whose PLs are posteriors is weighed as if there were no others: its prior is flat.
    """
    ploidy, phred = out.ploidy, out.phred
    phred_offsets = out.phred_offsets
    samples, room = ploidy.shape[1], tables.first.shape[1]
    own, weights = np.empty((samples, room)), np.empty(tables.largest)
    others, fresh = np.empty(room), np.empty(room)
    for s in range(alleles.number.size):
        n = alleles.number[s]
        total = out.expected[out.allele_offsets[s] : out.allele_offsets[s + 1]]
        own[:, :], total[:] = 0.0, 0.0
        for turn in range(MAX_ROUNDS):
            change = 0.0
            fresh[:n] = 0.0
            for i in range(samples):
                if not out.is_informed[s, i]:
                    continue
                p, column = ploidy[s, i], s * samples + i
                for a in range(n):
                    others[a] = total[a] - own[i, a] if turn and not out.has_prior[s, i] else 0.0
                genotypes = tables.alleles[rows_of(tables, p, n)]
                weigh(phred[phred_offsets[column] : phred_offsets[column + 1]], genotypes, p, others[:n], weights)
                own[i, :n] = 0.0
                for g in range(genotypes.shape[0]):
                    for copy in range(p):
                        own[i, genotypes[g, copy]] += weights[g]
                for a in range(n):
                    fresh[a] += own[i, a]
            for a in range(n):
                change = max(change, abs(fresh[a] - total[a]))
                total[a] = fresh[a]
            if change < TOLERANCE:
                break
        number = out.is_informed[s].sum()
        for i in range(samples):
            if not out.is_informed[s, i]:
                continue
            p, column = ploidy[s, i], s * samples + i
            genotypes = tables.alleles[rows_of(tables, ploidy[s, i], n)]
            for a in range(n):
                others[a] = 0.0 if out.has_prior[s, i] else max(0.0, total[a] - own[i, a])
            place = weigh(phred[phred_offsets[column] : phred_offsets[column + 1]], genotypes, p, others[:n], weights)
            for copy in range(p):
                out.best[s, i, copy] = genotypes[place, copy]
            if number == 1:  # GQ of `readwarp call`
                own_phred = phred[phred_offsets[column] : phred_offsets[column + 1]]
                out.genotype_quality[s, i] = genotype_phred(own_phred, genotypes, p, place, out.has_prior[s, i])
            else:
                out.genotype_quality[s, i] = phred_of_others(weights[: genotypes.shape[0]], place)


@kernel
def find_qualities(alleles, theta, tables, out):
    """Set QUAL of each site: Phred of the posterior probability that nobody has an allele but REF and `*`."""
    samples, most = out.ploidy.shape[1], tables.alleles.shape[1]
    own, numbers = np.empty(most + 1), np.empty(tables.first.shape[1], np.int64)
    now, after = np.zeros((samples + 1) * most + 1), np.zeros((samples + 1) * most + 1)
    for s in range(alleles.number.size):
        bounds, log_none = quality.start(now), 0.0
        for a in range(alleles.number[s]):
            numbers[a] = 0 if a == alleles.star[s] else a
        for i in range(samples):
            if not out.is_informed[s, i]:
                continue
            p, column = out.ploidy[s, i], s * samples + i
            phred = out.phred[out.phred_offsets[column] : out.phred_offsets[column + 1]]
            genotypes = tables.alleles[rows_of(tables, p, alleles.number[s])]
            log_none += quality.sum_by_copies(phred, -quality.NATURAL, genotypes, p, numbers, theta[s], own)
            if out.has_prior[s, i]:
                log_none -= math.log(take_prior(own, p, theta[s]))
            bounds = quality.add_sample(now, after, bounds, own, p)
            now, after = after, now
        out.quality[s] = quality.phred_of_none(now, bounds, theta[s], log_none)


@kernel
def take_prior(own, p, theta):
    """Divide the posterior of each number of other copies among a sample's p by its prior: a likelihood remains.

    Returns the prior of none.
    """
    for k in range(1, p + 1):
        own[k] *= k / theta
    rest = quality.no_variant_prior(theta, p)
    own[0] /= rest
    return rest


@kernel
def phred_of_others(weights, place):
    """Return the Phred of the sum of all weights but one; weights sum to 1."""
    total = 0.0
    for g in range(weights.size):
        total += weights[g] if g != place else 0.0
    return np.int64(min(MAX_GENOTYPE_QUALITY, -np.log(max(total, 1e-300)) / quality.NATURAL + 0.5))


@kernel
def weigh(phred, genotypes, p, others, weights):
    """Weigh each genotype by the allele copies in the other samples; return the first of the highest posteriors."""
    total, place = 0.0, 0
    for g in range(phred.size):
        weights[g] = np.exp(-quality.NATURAL * phred[g]) * copies_prior(genotypes[g], p, others)
        total += weights[g]
        if weights[g] > weights[place] * (1.0 + 1e-9):
            place = g
    for g in range(phred.size):
        weights[g] /= total
    return place


@scalar
def ploidy_by(genotypes, alleles, listed, copies):
    """Return the ploidy at which this many genotypes belong to all alleles of a line, or to those it lists; else 0.

    The second case needs GT's number of copies, which also decides where both are possible.
    """
    if copies and (ploidy_of(genotypes, alleles, copies) == copies or ploidy_of(genotypes, listed, copies) == copies):
        return copies
    return ploidy_of(genotypes, alleles, MAX_PLOIDY)


@scalar
def ploidy_of(genotypes, alleles, highest):
    """Return the ploidy P with this many genotypes, C(alleles + P - 1, P); 0 for none up to `highest`."""
    ways = 1
    for copies in range(1, highest + 1):
        ways = ways * (alleles + copies - 1) // copies
        if ways >= genotypes:
            return copies if ways == genotypes else 0
    return 0


@scalar
def copies_prior(genotype, ploidy, others):
    """Return P(genotype) given `others`, the expected copies of each allele, after a uniform prior over frequencies.

    `genotype` is in ascending order of its alleles. P! / prod c! * prod (1 + n)_(c) / (k + N)_P, copy by copy.
    """
    total = 0.0
    for a in range(others.size):
        total += others[a] + 1.0
    prior, same = 1.0, 0
    for copy in range(ploidy):
        same = same + 1 if copy and genotype[copy] == genotype[copy - 1] else 1
        prior *= (copy + 1.0) / same * (others[genotype[copy]] + same) / (total + copy)
    return prior
