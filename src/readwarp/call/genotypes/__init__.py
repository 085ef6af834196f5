"""Genotypes: the most likely genotype of each site, how sure it is, and what speaks against it (host only).

    genotype_sites(sites: Sites, likelihoods: Likelihoods, window reference, parameters: CallParameters) -> Calls

For a genotype G of `ploidy` alleles and reads r:

    log P(D | G) = sum_r log( 1/ploidy sum_{a in G} P(r | a) )
    P(G) = theta / k  for k >= 1 copies of other alleles than the reference's (times theta for each further one that
           differs), 1 - sum of the former for none; theta = snv_prior or indel_prior
    QUAL = -10 log10 P(no other allele | D),  PL = -10 log10 P(D | G) less its minimum,
    GT = the genotype with PL 0 (first in VCF order on a tie),  GQ = the second smallest PL, at most 99.

A deletion across a base is an allele of the model; in the record it is written as the reference's, since the deletion
has a record of its own. Genotypes are in the order of the VCF specification (section 1.6.2, GL). A call keeps the
alleles of its genotype. Li 2011, doi:10.1093/bioinformatics/btr509; the prior is that of a neutral site.
"""
