"""Evidence: what each read says about the alleles of a site, from base qualities alone.

    weigh_indels(reads: AlignedReads, qualities, sites: Sites, reference: uint8, reference_start) -> Likelihoods, masked qualities
    weigh_substitutions(reads, masked qualities, sites) -> Likelihoods

Later steps (assembly and PairHMM) give Likelihoods of the same form; genotypes takes either.

Substitutions: P(b | allele) = 1 - e where the base is the allele, e / 3 where not; e = 10 ** (-min(Q, MAPQ) / 10).

Indels: with x the read's bases from the anchor on towards the end of the read that is nearer to the repeat, H_a the
haplotype that allele a makes there, n the bases compared (to the read's end, its next gap, or FLANK bases behind the
repeat), and d the difference between the read's own length across the repeat and that of a:

    log P(x | a) = max( sum_k log P(x_k | H_a,k),  log g(d) + sum of the bases behind the repeat as aligned )

so that a read which ends soon after an indel, aligned with mismatches or clipped there, still counts for the right
allele, and one that the sequencer or PCR slipped in costs g(d), the probability of an indel error, which grows with the
length of the repeat. No allele is less likely than the best by more than 10 ** (-min(MAPQ, MAX_WEIGHT) / 10).

A read end that fits another allele better than its alignment is misaligned: its bases are masked (quality 0), so that
they do not make false substitutions. Only ends of up to MAX_MASK bases are; so a site depends on what lies within
MAX_TRACT + MAX_MASK bases of it.
"""

FLANK = 20
MAX_MASK = 64
MAX_WEIGHT = 45
NOTHING, SEVERAL = -2, -1  # values of Likelihoods.allele
