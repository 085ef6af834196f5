"""Drop the rarest alleles of sites where all alleles would make too many genotypes (host only).

    drop_rarest(sites, likelihoods, phase, ploidy, spare) -> Sites, Likelihoods, Phase | None, list of Variant

At high ploidies few alleles already have more than MAX_GENOTYPES genotypes: see `order.most_alleles`. REF stays, then
alleles that the user asked for, then those with the greatest share of the reads of all samples. The shares f maximise
the likelihood, whatever the ploidy, and are found by expectation-maximisation from equal shares:

    f_a = mean over reads r of  f_a P(r | a) / sum_b f_b P(r | b)

A read that showed a dropped allele then shows the one it fits best among those that stay, or none of them.
"""

from itertools import compress

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.sites.find import Variant, list_alleles
from readwarp.call.likelihoods.alleles import INFORMED
from readwarp.call.likelihoods.batches import Likelihoods, Phase
from readwarp.call.likelihoods.evidence import NOTHING, OTHER
from readwarp.call.records.genotypes.order import most_alleles
from readwarp.compiler.jit import kernel
from readwarp.ragged import offsets_of, replace, take

ROUNDS = 30


def drop_rarest(
    sites: Sites, likelihoods: Likelihoods, phase: Phase | None, ploidy: ndarray, spare: int
) -> tuple[Sites, Likelihoods, Phase | None, list[Variant]]:
    """Drop the rarest alleles, and list them. ploidy: int8 [sites, samples]. spare: alleles that sites get later."""
    highest = ploidy.max(axis=1, initial=1).tolist()
    limit = np.array([max(2, most_alleles(copies) - spare) for copies in highest], np.int64)
    number = np.diff(sites.allele_offsets)
    crowded = np.flatnonzero(number > limit)
    if crowded.size == 0:
        return sites, likelihoods, phase, []
    stays = np.ones(sites.deleted.size, np.bool_)
    share = np.zeros(stays.size)
    find_shares(crowded, sites, likelihoods, share)
    for site in crowded.tolist():
        first, stop = sites.allele_offsets[site : site + 2].tolist()
        ranked = sorted(range(first + 1, stop), key=lambda a: (not sites.is_forced[a], -share[a]))
        stays[ranked[limit[site] - 1 :]] = False
    offsets = offsets_of(stays)[sites.allele_offsets]
    fewer = replace(take(sites, "alleles", stays), allele_offsets=offsets)
    row = np.repeat(np.arange(number.size), number)
    new = np.where(stays, np.cumsum(stays) - 1 - offsets[row], -1).astype(np.int8)
    value_offsets = offsets_of(np.diff(likelihoods.pair_offsets) * np.diff(offsets))
    out = replace(
        likelihoods, value_offsets=value_offsets, values=np.empty(value_offsets[-1]), allele=likelihoods.allele.copy()
    )
    take_values(sites.allele_offsets, new, likelihoods, out)
    if phase is not None:
        old = sites.allele_offsets[:-1, None, None] + np.maximum(phase.allele, 0)
        phase = phase._replace(allele=np.where(phase.allele >= 0, new[old], np.int8(-1)))
    return fewer, out, phase, list(compress(list_alleles(sites), ~stays))


@kernel
def find_shares(crowded, sites, likelihoods, share):
    """Fill the share (float64 [alleles]) of each allele of the crowded sites."""
    for site in crowded:
        first = sites.allele_offsets[site]
        n = sites.allele_offsets[site + 1] - first
        own, fresh = np.full(n, 1.0 / n), np.empty(n)
        for _ in range(ROUNDS):
            fresh[:], reads = 0.0, 0
            for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
                if likelihoods.allele[pair] == NOTHING:
                    continue
                row = likelihoods.value_offsets[site] + (pair - likelihoods.pair_offsets[site]) * n
                best, total = likelihoods.values[row : row + n].max(), 0.0
                for a in range(n):
                    total += own[a] * 10.0 ** (likelihoods.values[row + a] - best)
                reads += 1
                for a in range(n if total > 0.0 else 0):
                    fresh[a] += own[a] * 10.0 ** (likelihoods.values[row + a] - best) / total
            for a in range(n):
                own[a] = fresh[a] / max(reads, 1)
        share[first : first + n] = own


@kernel
def take_values(allele_offsets, new, likelihoods, out):
    """Fill the values and alleles of `out`. new: int8, new numbers of the alleles, -1 for those dropped."""
    for site in range(allele_offsets.size - 1):
        first, place = allele_offsets[site], out.value_offsets[site]
        n = allele_offsets[site + 1] - first
        for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
            row = likelihoods.value_offsets[site] + (pair - likelihoods.pair_offsets[site]) * n
            best, second = -np.inf, -np.inf
            shown = np.int8(OTHER)
            for a in range(n):
                if new[first + a] < 0:
                    continue
                value = likelihoods.values[row + a]
                out.values[place] = value
                place += 1
                if value > best:
                    best, second, shown = value, best, new[first + a]
                else:
                    second = max(second, value)
            if out.allele[pair] >= 0:
                kept = new[first + out.allele[pair]]
                out.allele[pair] = kept if kept >= 0 else shown if best - second > INFORMED else np.int8(OTHER)


def silence_absent(likelihoods: Likelihoods, copies: ndarray) -> Likelihoods:
    """Make reads of a sample that lacks the contig uninformative: they are misplaced. copies: int8 [sites, samples]."""
    if copies.all():
        return likelihoods
    site = np.repeat(np.arange(len(copies)), np.diff(likelihoods.pair_offsets))
    allele = likelihoods.allele.copy()
    allele[copies[site, likelihoods.sample] == 0] = NOTHING
    return replace(likelihoods, allele=allele)
