"""Candidate haplotypes of a region's reads (host only).

    build_haplotypes(regions: Regions, reads: AlignedReads, sites: Sites, window: Window,
                     ploidy: int8 [regions]) -> Haplotypes

The window's bases cover all regions. A region has the reads of one sample (`regions.samples`): a single carrier's reads
would be few among all samples' reads. Haplotypes come from two sources, which are merged:

Assembly. The k-mers of the reads' usable bases, and of the reference's span, make a de Bruijn graph. An edge stays if
it lies on a way from the reference's first k-mer to its last, and if the reference has it, or at least MIN_FRAGMENTS
fragments (reads of one name) and one in `rarest` of those that leave its node. If the reference repeats a k-mer, or
these edges have a cycle, the next k of SIZES is tried. Haplotypes are the ways through the forks.

Alleles. By its CIGARs a fragment shows an allele of the region's sites, does not show it, or does not cover it.
Haplotypes are the ways through the alleles that are shown: each allele is taken or not. An allele on no haplotype makes
one by itself, and so does every allele that the user asks for. A haplotype that no read of the sample shows is dropped
if reads of another sample at the place show it.

One rule holds for forks and alleles. Let m be the number of fragments that cover both this choice and the one before
it, and c the number of these that agree with the way so far and with this choice. The way continues where

    c >= 1 + m // rarest

or where no fragment can tell: none covers both, or none that does agrees with the way at the choice before, or none at
this one, though others show it. (Reads across a long deletion reach less far, so reads of one haplotype may link two
choices where reads of the other do not.) So true haplotypes come out whole, without every combination of their parts.
`rarest` is RAREST for one or two copies, and grows with the ploidy as the limits of `sites` fall (`rules.shares`). A
way's support is the smallest c on it.

Each haplotype is aligned to its reference span (global, `spelling.COSTS`: `readwarp.pairwise`) and spelled as variants:
substitutions one by one, insertions and deletions leftmost. Variants that do not begin in the region's [start, stop)
are replaced by the reference's bases. So a haplotype's variants, applied to the reference, make exactly its bases.
Haplotypes with a deletion of more than pileup.MAX_INDEL bases, an insertion of more than pileup.MAX_INSERTION, or
either at an end of the span, are left out. The haplotype of an allele that the user asks for is not aligned: that
allele is its only variant. Equal haplotypes are merged, with the greatest support, and spelled as asked for.

Order and limit: the reference haplotype first, then by decreasing support, then by sequence. At most MAX_HAPLOTYPES
remain in a region, besides haplotypes of alleles that the user asks for. The status is CAPACITY if one was left out, if
more than MAX_WAYS were open at once, or if there were more than MAX_FORKS choices. A region depends only on its own
reads and span. Iqbal et al. 2012, doi:10.1038/ng.1028 (de Bruijn graphs of variants).
"""

SIZES = (25, 35, 45, 55, 63)  # k
MIN_FRAGMENTS = 2
RAREST = 16
MARGIN = 4  # bases that a read aligns on both sides of an insertion or deletion to know that it is not there
MAX_FORKS = 62  # bits of a way
MAX_WAYS = 64
MAX_LONGER = 352  # bases by which a haplotype may exceed the reference's length
MAX_HAPLOTYPES = 32  # with the reference's, without those of alleles asked for
