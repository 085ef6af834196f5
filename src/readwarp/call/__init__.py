"""Call variants from alignments, with one folder per step, in the order of the data flow.

    mates        AlignedReads -> evidence of each fragment, overlapping mates merged
    pileup       -> Pileup: counts per position, allele and strand
    sites        -> Sites: candidate alleles per position
    regions      -> Regions: where sites are too close to each other, or to an indel, to be weighed one by one
    evidence     single substitutions -> Likelihoods: log10 P(read | allele)
    haplotypes   -> Haplotypes: candidate sequences of a region's reads
    pairhmm      -> log10 P(read | haplotype)
    alleles      -> Sites and Likelihoods of the regions
    genotypes    -> Calls
    confidence   -> Bands: confidence in the reference where nothing is called (gVCF)
    structural   long reads -> indels of 50 bases and more, in a file of their own

`steps` runs them on one window of the reference, `job` runs windows in parallel from files to a file, and `Caller`
yields variants one by one to Python. The package is callable: `readwarp.call(reference, alignments, output=...,
**options)` is `readwarp.call.api.call(...)`.
"""

from typing import TYPE_CHECKING

from readwarp.callable_package import make_callable

if TYPE_CHECKING:
    from readwarp.call.api import call
    from readwarp.call.caller import Caller

__all__ = ["Caller", "call"]

make_callable(__name__, {"Caller": "readwarp.call.caller", "call": "readwarp.call.api"})
