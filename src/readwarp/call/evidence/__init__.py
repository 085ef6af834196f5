"""Evidence: what each read says about the alleles of a site, by its own alignment and base qualities alone.

    weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods
    weigh_indels(reads, pileup: Pileup, sites, reference: uint8, start, max_depth) -> Likelihoods

It is for what no haplotypes answer: substitutions outside active regions, with no other candidate near, and forced
alleles that no haplotype of a region has (`readwarp.call.lost`, which alone takes `weigh_indels`). Within regions whole
haplotypes are weighed, see `readwarp.call.alleles`. Values are log10 P(read | allele). Each site is answered by the
first `max_depth` reads across it, in file order; NOTHING marks those that say nothing.

Substitutions: P(b | allele) = 1 - e where the base is the allele, e / 3 where not; e = 10 ** (-min(Q, MAPQ) / 10).
A deletion across the base is an allele like another, with the quality of the base before it.

Indels: let x be the read's bases from the anchor on towards the end of the read that is nearer to the repeat, as far
as its next gap or FLANK bases behind the repeat, H_a what allele a makes of the reference there, l_a its length across
the repeat, and g(d) the probability that sequencer or PCR changes that length by d:

    f_a = sum_k log P(x_k | H_a,k)            log P(x | a) = max( f_a, max_b f_b + log g(l_b - l_a) )

b runs over the other alleles and, for a read that shows none of their lengths, over its own alignment. So a read that
ends soon after an indel, aligned with mismatches or clipped there, counts for the allele it fits, and one whose length
slipped has g, which grows with the number of repeat units. No allele is less likely than the best by more than
10 ** (-min(MAPQ, MAX_WEIGHT) / 10). On a tie the allele that comes first is the best.
"""

FLANK = 20
MAX_WEIGHT = 45
NOTHING, SEVERAL = -2, -1  # values of Likelihoods.allele
INFORMED = 0.01  # log10 by which the best allele must be ahead for a read to say something ...
CLEAR = 0.3  # ... and for it to show that allele
