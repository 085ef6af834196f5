"""Evidence: what each read says about the alleles of a site, from base qualities alone.

    weigh_indels(reads: AlignedReads, sites: Sites, reference: uint8, start, max_depth)
        -> Likelihoods, masked qualities
    weigh_substitutions(reads, masked qualities, sites, min_base_quality, max_depth) -> Likelihoods

Later steps (assembly and PairHMM) give Likelihoods of the same form; genotypes takes either.

Substitutions: P(b | allele) = 1 - e where the base is the allele, e / 3 where not; e = 10 ** (-min(Q, MAPQ) / 10).

Indels: let x be the read's bases from the anchor on towards the end of the read that is nearer to the repeat, as far
as its next gap or FLANK bases behind the repeat, H_a what allele a makes of the reference there, l_a its length across
the repeat, and g(d) the probability that sequencer or PCR changes that length by d:

    f_a = sum_k log P(x_k | H_a,k)            log P(x | a) = max( f_a, max_b f_b + log g(l_b - l_a) )

b runs over the other alleles and, for a read that shows none of their lengths, over its own alignment. So a read that
ends soon after an indel, aligned with mismatches or clipped there, counts for the allele it fits, and one whose length
slipped costs g, which grows with the number of repeat units. No allele is less likely than the best by more than
10 ** (-min(MAPQ, MAX_WEIGHT) / 10).

A read end that fits another allele better than its alignment is misaligned: its bases are masked (quality 0), so that
they do not make false substitutions. Only ends of up to MAX_MASK bases are; so a site depends on what lies within
MAX_TRACT + MAX_MASK bases of it.
"""

FLANK = 20
MAX_MASK = 64
MAX_WEIGHT = 45
NOTHING, SEVERAL = -2, -1  # values of Likelihoods.allele
INFORMED = 0.01  # log10 by which the best allele must be ahead for a read to say something ...
CLEAR = 0.3  # ... and for it to show that allele
MISALIGNED = 1.0  # log10 by which another allele fits better than the reference's for a read end to be masked
