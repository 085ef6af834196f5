"""Structural variants from long reads: insertions and deletions that alignments show, or pairs of alignments of a read.

    gather     AlignedReads of a window -> Evidence: Spans, where reads lie, and Events in their CIGARs
    copies     an insertion into its own copy goes to the copy's beginning
    splits     Spans of a contig -> Events between alignments of a read
    cluster    Events -> those that are one variant
    alleles    of each variant, the event that most reads show, spelled as REF and ALT
    genotype   reads for and against it, and the likelihoods of genotypes
    records    VCF

`steps` runs the first two on windows and the rest on a contig once its windows are read: of reads remain where they
lie and the bases they insert, so memory follows from windows and from the number of reads of a contig, not from their
bases. Nothing depends on windows or threads: a read belongs to one window, and every choice is by place, length,
bases and hashes of names. `job` writes a file. Host only.
"""
