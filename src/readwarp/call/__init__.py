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

`steps` runs them on one window of the reference, `job` goes from files to a file by windows in threads, `Caller` gives
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
