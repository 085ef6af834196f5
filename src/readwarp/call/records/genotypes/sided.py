"""Phase genotypes with the haplotypes of reads (host only)."""

import math

from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import DEPENDENT, NOTHING
from readwarp.call.reads.sides import SURE
from readwarp.call.records.genotypes.emitted import Emitted
from readwarp.call.records.genotypes.surroundings import PairSides
from readwarp.compiler.jit import kernel

MIN_MARGIN = 1.0  # log10 by which one order of the alleles must be likelier than the other


def phase_records(sites: Sites, likelihoods: Likelihoods, sides: PairSides, out: Emitted) -> None:
    """Set the phase sets of heterozygous diploid genotypes, and the order of their alleles, where it is certain.

    With w the probability that read r is from the first haplotype, the reads support the order (a, b) by

        sum_r log10( (w P(r | a) + (1 - w) P(r | b)) / (w P(r | b) + (1 - w) P(r | a)) )

    The site's own reads are part of w, since it may be one of the sites that made the haplotypes. Then a read that
    other sites place on one haplotype, and that shows its allele, becomes DEPENDENT: long reads share many sites, so
    the strands of a haplotype's reads are no evidence about one of its alleles. An error of one strand falls on both
    haplotypes alike, and shows in the reads that contradict their haplotype.
    """
    order_alleles(sites, likelihoods, sides, out)


def name_long_sets(phase_set: ndarray) -> list[tuple[str, ...]]:
    """Return PID of each record and sample: the position of the set, whose first call may lie in another window."""
    return [tuple(f"{start + 1}" if start >= 0 else "" for start in own) for own in phase_set.tolist()]


@kernel
def order_alleles(sites, likelihoods, sides, out):
    allele, sample = likelihoods.allele, likelihoods.sample
    (odds, whole, sets), genotypes = sides, out.genotype
    for row in range(out.site.size):
        site = out.site[row]
        first = sites.allele_offsets[site]
        number = sites.allele_offsets[site + 1] - first
        kept = out.kept_offsets[row]
        for s in range(out.ploidy.shape[1]):
            if out.ploidy[row, s] != 2 or sets[site, s] < 0 or genotypes[row, s, 0] == genotypes[row, s, 1]:
                continue
            a, b = out.allele[kept + genotypes[row, s, 0]] - first, out.allele[kept + genotypes[row, s, 1]] - first
            margin = 0.0
            for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
                if sample[pair] == s and allele[pair] != NOTHING:
                    at = likelihoods.value_offsets[site] + (pair - likelihoods.pair_offsets[site]) * number
                    one, other = likelihoods.values[at + a], likelihoods.values[at + b]
                    w, ratio = 1.0 / (1.0 + 10.0 ** -whole[pair]), 10.0 ** min(300.0, max(-300.0, other - one))
                    margin += math.log10((w + (1.0 - w) * ratio) / (w * ratio + 1.0 - w))
            if abs(margin) >= MIN_MARGIN:
                out.phase_set[row, s] = sets[site, s]
                if margin < 0:
                    genotypes[row, s, 0], genotypes[row, s, 1] = genotypes[row, s, 1], genotypes[row, s, 0]
                    a, b = b, a
                for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
                    if sample[pair] == s and abs(odds[pair]) >= SURE and allele[pair] == (a if odds[pair] > 0 else b):
                        likelihoods.strand[pair] |= DEPENDENT
