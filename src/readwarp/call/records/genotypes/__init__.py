"""Call the most likely genotype of each site and sample, its quality, and the filters it fails (host only).

    genotype_sites(sites: Sites, likelihoods: Likelihoods, window: Window, expected: surroundings.SitePriors,
                   parameters: CallParameters, phase: Phase | None) -> Calls

For a sample's reads r and a genotype G of `ploidy` alleles:

    log P(D | G) = sum_r log( 1/ploidy sum_{a in G} P(r | a) )
    P(G) = theta^d / k  for k >= 1 copies of ALT alleles, of d kinds; theta = indel_prior, or of each
           of the three other bases snv_prior / 3;  1 - theta sum_{k=1}^{ploidy} 1/k  for none
    PL = -10 log10 P(D | G) less its minimum, rounded;  GT = the genotype with PL 0, the first in VCF order on a tie;
    GQ = -10 log10 P(another genotype | D), at most 99, given that the site is a variant: with weights of 1 / k for k
         copies of ALT alleles as in P(G), and of 1 for none
    QUAL = -10 log10 P(no ALT allele | D)

Samples share their evidence (`genotype.add_priors`). With L_s(j) = P(D | G) summed over the genotypes of sample s with
j copies of ALT alleles, times theta^(d - 1), and M copies in all:

    P(D, k ALT copies) = theta / k * sum over j_1 + j_2 + ... = k of prod_s C(ploidy_s, j_s) L_s(j_s) / C(M, k)

which for one sample is the prior above; QUAL compares their sum with no copy. The frequencies f of the alleles are
estimated by expectation and maximisation, with the prior theta / f of a neutral site; genotypes are in Hardy-Weinberg
equilibrium. GT is the genotype of the highest P(G | D, f), and GQ the distance to the second, in Phred; PL uses the
sample's own reads alone.

P(D | G) is divided by the mean of Sites.reach over G for each read that meets the site: longer alleles meet more reads.

A deletion across a base is an allele of the model. With several samples or a forced allele it is `*` in the record;
otherwise it counts as the reference, since the deletion has a record of its own. A record keeps the alleles of its
genotypes and forced ones, so a site with a forced allele always has a record. A sample without informative reads has no
genotype (./.), DP 0, GQ 0 and PL 0 throughout, and adds nothing to QUAL. Genotypes are in the order of the VCF
specification (section 1.6.2, GL). Li 2011, doi:10.1093/bioinformatics/btr509; the prior is that of a neutral site.

`phase` (for sites made of haplotypes) defines phase sets: two or more calls of one region at which a sample is
heterozygous and its haplotypes have the genotype's alleles. A set is named after its first call.

INFO and FILTER are tables: `annotations.ANNOTATIONS` and `filters.FILTERS`. Filters test ALT alleles: none is applied
(FILTER ".") where no genotype has one (forced alleles alone).

`emitted`, `annotations`, `filters` and `calls` serve cohorts too: see `readwarp.cohort`.
"""
