"""From reads to candidate alleles: pileup, sites, and regions where whole haplotypes are compared."""
