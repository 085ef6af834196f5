"""Evidence: what each read's base says about the alleles of a single substitution.

    weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods

This is for substitutions outside active regions, which have no other candidate near. Within regions whole haplotypes
are weighed, see `readwarp.call.alleles`. Values are log10 P(read | allele): 1 - e where the base is the allele, e / 3
where it is not, with e = 10 ** (-min(Q, MAPQ) / 10). A deletion across the base is an allele like another, with the
quality of the base before it. NOTHING marks reads that say nothing, such as those whose base has less than
`min_base_quality`; OTHER those whose base is no allele.

A read is a fragment if its mates were joined (`readwarp.call.mates`): one observation.

`Likelihoods.strand` is what strand bias is measured by. It is that of the mate that read the base. Where both did, it
is NEITHER: an error of one strand's reads would have been contradicted by the other. Reads that begin at the same base
of the same strand and show the same allele are no independent signs of a bias, since in amplicons and in deep data one
end stands for many: the first has its strand, the others NEITHER.
"""

NOTHING, OTHER = -2, -1  # in Likelihoods.allele
NEITHER = 2  # in Likelihoods.strand: no strand
