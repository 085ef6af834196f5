"""Alignments to variant calls: one folder per step, in the order data meets them.

    mates        AlignedReads -> base qualities with doubly read bases merged
    pileup       -> Pileup: counts per position, allele and strand
    sites        -> Sites: where alleles compete
    regions      -> Regions: where they are too near each other, or gaps among them, to be weighed one by one
    evidence     single substitutions -> Likelihoods: log10 P(read | allele)
    haplotypes   -> Haplotypes: what the reads of a region may have been read from
    pairhmm      -> log10 P(read | haplotype)
    alleles      -> Sites and Likelihoods of the regions
    genotypes    -> Calls
    confidence   -> Bands: how sure the reference is where nothing is called (gVCF)

`window` runs them on one window of the reference, `pipeline` runs the windows in threads and writes what they find.
"""
