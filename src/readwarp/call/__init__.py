"""Alignments to variant calls: one folder per step, in the order of the data flow.

    mates        AlignedReads -> base qualities, those of bases that both mates cover merged
    pileup       -> Pileup: counts per position, allele and strand
    sites        -> Sites: where alleles compete
    regions      -> Regions: where sites are too close together, or to an indel, to be weighed one by one
    evidence     single substitutions -> Likelihoods: log10 P(read | allele)
    haplotypes   -> Haplotypes: sequences that the reads of a region may come from
    pairhmm      -> log10 P(read | haplotype)
    alleles      -> Sites and Likelihoods of the regions
    genotypes    -> Calls
    confidence   -> Bands: how sure the reference is where nothing is called (gVCF)
    structural   long reads -> insertions and deletions of 50 bases and more, in a file of their own

`steps` runs them on one window of the reference, `job` turns files into a file by windows in threads, `Caller` gives
variants one by one to Python. The package can be called: `readwarp.call(reference, alignments, output=..., **options)`
is `readwarp.call.api.call(...)`.
"""

from typing import TYPE_CHECKING

from readwarp.callable_package import make_callable

if TYPE_CHECKING:
    from readwarp.call.api import call
    from readwarp.call.caller import Caller

__all__ = ["Caller", "call"]

make_callable(__name__, {"Caller": "readwarp.call.caller", "call": "readwarp.call.api"})
