"""Evidence: what each read's base says about the alleles of a single substitution.

    weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods

This is for substitutions outside active regions, which have no other candidate near. Within regions whole haplotypes
are weighed, see `readwarp.call.alleles`. Values are log10 P(read | allele): 1 - e where the base is the allele, e / 3
where it is not, with e = 10 ** (-min(Q, MAPQ) / 10). A deletion across the base is an allele like another, with the
quality of the base before it. NOTHING marks reads that say nothing, such as those whose base has less than
`min_base_quality`.
"""

NOTHING, SEVERAL = -2, -1  # values of Likelihoods.allele
