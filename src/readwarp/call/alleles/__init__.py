"""Alleles: from what each read says about whole haplotypes to what it says about the alleles of each site.

weigh_alleles(regions: Regions, haplotypes: Haplotypes, values: float64 [pairs], reads: AlignedReads, ...)
    -> Sites, Likelihoods
"""
