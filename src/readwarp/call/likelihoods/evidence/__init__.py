"""Likelihoods of each read's base under the alleles of a single substitution.

    weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods

Only substitutions outside active regions, with no other candidate nearby, are weighed here. Within regions, whole
haplotypes are (`readwarp.call.likelihoods.alleles`). Values are log10 P(read | allele): 1 - e where the base is the
allele, e / 3 where it is not, with e = 10 ** (-min(Q, MAPQ) / 10). A deletion across the base is an ordinary allele,
with the quality of the base before it. NOTHING marks uninformative reads, such as those with a base below
`min_base_quality`; OTHER marks reads whose base is no allele.

A read is a fragment if its mates were joined (`readwarp.call.reads.mates`): one observation.

`Likelihoods.strand` is the strand of the mate that read the base, or of the first read where both did. FORMAT SB counts
it. DEPENDENT marks reads that FS and SOR ignore. Where both mates read the base, an error of one strand would have been
contradicted by the other. Where an earlier read begins at the same base of the same strand and shows the same allele,
one end stands for many, as in amplicons and deep data.
"""

FAR = 1000  # bases; a read's end farther away counts as this far
NOTHING, OTHER = -2, -1  # values of Likelihoods.allele
DEPENDENT = 2  # bit of Likelihoods.strand: ignore the read for strand bias
