"""Evidence: what each read's base says about the alleles of a single substitution.

    weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods

This is for substitutions outside active regions, which have no other candidate near. Within regions whole haplotypes
are weighed, see `readwarp.call.alleles`. Values are log10 P(read | allele): 1 - e where the base is the allele, e / 3
where it is not, with e = 10 ** (-min(Q, MAPQ) / 10). A deletion across the base is an allele like another, with the
quality of the base before it. NOTHING marks reads that say nothing, such as those whose base has less than
`min_base_quality`; OTHER those whose base is no allele.

A read is a fragment if its mates were joined (`readwarp.call.mates`): one observation.

`Likelihoods.strand` is that of the mate that read the base, and where both did, that of the first read. FORMAT SB
counts it. DEPENDENT is added where a read says nothing of strand bias, that is, for FS and SOR. This is so where both
mates read the base: an error of one strand would have been contradicted by the other. It is also so where a read before
begins at the same base of the same strand and shows the same allele, since in amplicons and in deep data one end stands
for many.
"""

FAR = 1000  # bases; a read's end that is farther away counts as being there
NOTHING, OTHER = -2, -1  # in Likelihoods.allele
DEPENDENT = 2  # bit of Likelihoods.strand: the read does not count for strand bias
