"""Call structural variants from long reads: indels within alignments, or between two alignments of a read.

    gather     AlignedReads of a window -> Evidence: Spans of alignments, and Events in their CIGARs
    alleles    insertions into their own copy -> moved to the copy's beginning
    gather     Spans of a contig -> Events between alignments of a read
    steps      Events -> clusters, one per variant
    alleles    cluster -> the event that most reads show, as REF and ALT
    genotype   reads for and against each variant, and genotype likelihoods
    records    VCF

`steps` runs the first two on windows and the rest on a contig once its windows are read. Only the spans of reads and
the bases they insert are kept, so memory follows the windows and the number of reads of a contig, not their bases.
Nothing depends on windows or threads: a read belongs to one window, and every choice is by place, length, bases and
hashes of names. `job` writes a file. Host only.
"""
