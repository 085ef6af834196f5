"""Evidence: what each read's base says about the alleles of a single substitution.

    weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods

It is for what needs no haplotypes: substitutions outside active regions, with no other candidate near. Within regions
whole haplotypes are weighed, see `readwarp.call.alleles`. Values are log10 P(read | allele): 1 - e where the base is
the allele, e / 3 where it is not; e = 10 ** (-min(Q, MAPQ) / 10). A deletion across the base is an allele like another,
with the quality of the base before it. Each site is answered by the first `max_depth` reads across it, in file order;
NOTHING marks those that say nothing, as those of less than `min_base_quality` do.
"""

NOTHING, SEVERAL = -2, -1  # values of Likelihoods.allele
