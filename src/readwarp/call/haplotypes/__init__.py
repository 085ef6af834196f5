"""Haplotypes: what the reads of a region may have been read from (host only).

    build_haplotypes(regions: Regions, reads: AlignedReads, qualities: uint8 [b], sites: Sites,
                     reference: uint8, start: int) -> Haplotypes

`reference` are bases 0-4 from position `start` of the contig on, over all regions; `qualities` those of
`mates.merge_mates`. Each sample's reads are taken by themselves, since what only one sample has would be few of the
reads of all. Haplotypes come from two sources, and those of all samples are united:

Assembly. The k-mers of the reads' usable bases, and of the reference's span, make a de Bruijn graph. Kept are its
edges on ways from the reference's first k-mer to its last that the reference shows, or MIN_FRAGMENTS fragments (reads
of one name) that are one in RAREST of those that leave their node. A k is refused where the reference repeats a k-mer
or the kept edges have a cycle; then the next of SIZES is tried. Haplotypes are the ways through the forks.

Alleles. The alleles of the region's sites, each of which a fragment shows, does not show, or does not cover, by its
CIGARs; haplotypes are the ways through those that are shown, an allele being taken or not. An allele that no haplotype
has makes one by itself, and so does every allele that was asked for.

The same rule leads through forks and alleles. Let m be the fragments that know both the choice before and this one,
and c those of them that agree with the way so far, and with this choice; the way goes on where

    c >= 1 + m // RAREST,        or m = 0 (no fragment links them: every combination is a haplotype)

so true haplotypes come whole, without every combination of their parts. A way's support is the smallest c on it.

Each haplotype is aligned to its reference span (global, COSTS: `readwarp.pairwise`) and spelled as variants:
substitutions one by one, insertions and deletions leftmost. Variants that do not begin in the region's [start, stop)
are taken back: the reference's bases stand in their place. So a haplotype's variants, applied to the reference, are
its bases exactly. Haplotypes with an insertion or deletion of more than pileup.MAX_INDEL bases, or one that touches the
span's ends, are left out. The haplotype of an allele that was asked for is not aligned: the allele is its one variant.
Equal haplotypes are one, with the greater support, and spelled as asked for.

Order and limit: the reference's first, then by support, greatest first, then by sequence. MAX_HAPLOTYPES of a region
are kept, and beyond that all those of alleles that were asked for; status CAPACITY where one was left out, where more
than MAX_WAYS were open at once, or where there were more than MAX_FORKS choices. A region depends on its own reads and
span only. Iqbal et al. 2012, doi:10.1038/ng.1028 (de Bruijn graphs of variants).
"""

SIZES = (25, 35, 45, 55, 63)  # k
MIN_QUALITY = 10  # Phred, of usable bases
MIN_FRAGMENTS = 2
RAREST = 16
MARGIN = 4  # aligned bases of a read on both sides of an insertion or deletion for it to know that it is not there
MAX_FORKS = 62  # bits of a way
MAX_WAYS = 64
MAX_LONGER = 256  # bases by which a haplotype may be longer than the reference's
MAX_HAPLOTYPES = 32  # the reference's among them, those asked for not
COSTS = (10, 8, 20, 1, 0)  # match, mismatch, gap opening and extension, end bonus
