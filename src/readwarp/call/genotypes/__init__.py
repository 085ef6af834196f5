"""Genotypes: the most likely genotype of each site and sample, how sure it is, and the filters it fails (host only).

    genotype_sites(sites: Sites, likelihoods: Likelihoods, window: Window, ploidy: int8 [sites, samples],
                   parameters: CallParameters, phase: Phase | None) -> Calls

For a sample's reads r and a genotype G of `ploidy` alleles:

    log P(D | G) = sum_r log( 1/ploidy sum_{a in G} P(r | a) )
    P(G) = theta^d / k  for k >= 1 copies of ALT alleles, of d kinds; theta = snv_prior or indel_prior;
           1 - theta sum_{k=1}^{ploidy} 1/k  for none
    PL = -10 log10 P(D | G) less its minimum, rounded;  GT = the genotype with PL 0, the first in VCF order on a tie;
    GQ = -10 log10 P(another genotype | D), at most 99, given that the site is a variant: with weights of 1 / k for k
         copies of ALT alleles as in P(G), and of 1 for none
    QUAL = -10 log10 P(no sample has an ALT allele | D) = the sum over samples, whose genotypes are independent

A deletion across a base is an allele of the model; the record counts it as the reference's, since the deletion has a
record of its own. A record keeps the alleles of its genotypes and forced ones, so a site with a forced allele always
has a record. A sample without informative reads has no genotype (./.), DP 0, GQ 0 and PL 0 throughout, and adds nothing
to QUAL. Genotypes are in the order of the VCF specification (section 1.6.2, GL). Li 2011,
doi:10.1093/bioinformatics/btr509; the prior is that of a neutral site.

`phase` (of sites made of haplotypes) gives phase sets: two or more calls of one region at which a sample is
heterozygous and its haplotypes have the alleles of the genotype. A set is named after its first call.

INFO and FILTER are tables: `annotations.ANNOTATIONS` and `filters.FILTERS`. Filters are about ALT alleles: none is
applied (FILTER ".") where no genotype has one (forced alleles alone).

`emitted`, `annotations`, `filters` and `calls` serve cohorts too: see `readwarp.call.joint`.
"""
