"""Call variants from alignments. Rooms in the order of the data; imports go back only:

    places       where to call: targets, windows of them, and the axes on which contigs lie
    reads        files -> AlignedReads of a window: depth limited, mates merged, primers and clips cut
    candidates   -> Pileup, Sites, and Regions where sites are too close to be weighed one by one
    likelihoods  -> Likelihoods: log10 P(read | allele), of single substitutions or by whole haplotypes
    records      -> Calls: genotypes, or Bands of reference for a gVCF; annotations and filters
    steps        one window of the reference through them
    windows      windows through workers, in memory that is planned, written in order

Above it, `readwarp.somatic` weighs alleles at any fraction of the molecules, `readwarp.structural` finds long indels of
long reads, and `readwarp.caller` is the command, from files to a file. The package is callable:
`readwarp.call(reference, alignments, output=..., **options)` is `readwarp.caller.api.call(...)`.
"""

from readwarp.python.callable_package import make_callable

make_callable(__name__, {"Caller": "readwarp.caller.caller", "call": "readwarp.caller.api"})
