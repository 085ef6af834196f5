"""Alignments to variant calls: one folder per step, in the order data meets them.

    mates      AlignedReads -> base qualities with doubly read bases merged
    pileup     -> Pileup: counts per position, allele and strand
    sites      -> Sites: where alleles compete
    evidence   -> Likelihoods: log10 P(read | allele)
    genotypes  -> Calls

`window` runs them on one window of the reference, `pipeline` runs the windows in threads and writes what they find.
Assembly and PairHMM will take the place of `evidence` where they are needed: they give Likelihoods of the same form.
"""
