"""Haplotypes: what the reads of a region may have been read from (host only).

    build_haplotypes(regions: Regions, reads: AlignedReads, sites: Sites, window: Window) -> Haplotypes

The window's bases reach over all regions. Each sample's reads are taken by themselves, since what only one sample has
would be few of the reads of all. Haplotypes come from two sources, and those of all samples are united:

Assembly. The k-mers of the reads' usable bases, and of the reference's span, make a de Bruijn graph. Those of its edges
stay that lie on ways from the reference's first k-mer to its last, and that the reference shows, or MIN_FRAGMENTS
fragments (reads of one name) that are one in RAREST of those that leave their node. A k is refused where the reference
repeats a k-mer or these edges have a cycle; then the next of SIZES is tried. Haplotypes are the ways through the forks.

Alleles. By its CIGARs a fragment shows an allele of the region's sites, does not show it, or does not cover it;
haplotypes are the ways through the alleles that are shown, each of which is taken or not. An allele that no haplotype
has makes one by itself, and so does every allele that the user asks for.

The same rule leads through forks and alleles. Let m be the fragments that know both the choice before and this one,
and c those of them that agree with the way so far and with this choice; the way goes on where

    c >= 1 + m // RAREST,        or m = 0 (no fragment links them: every combination is a haplotype)

so true haplotypes come out whole, without every combination of their parts. A way's support is the smallest c on it.

Each haplotype is aligned to its reference span (global, COSTS: `readwarp.pairwise`) and spelled as variants:
substitutions one by one, insertions and deletions leftmost. Variants that do not begin in the region's [start, stop)
are taken back: the reference's bases stand in their place. So a haplotype's variants, applied to the reference, make
exactly its bases. Haplotypes with an insertion or deletion of more than pileup.MAX_INDEL bases, or one that touches the
span's ends, are left out. The haplotype of an allele that the user asks for is not aligned: the allele is its one
variant. Equal haplotypes are one, with the greater support, and spelled as asked for.

Order and limit: the reference's first, then by support, greatest first, then by sequence. At most MAX_HAPLOTYPES of a
region remain, and beyond that all those of alleles that the user asks for; status CAPACITY where one was left out,
where more than MAX_WAYS were open at once, or where there were more than MAX_FORKS choices. A region depends on its own
reads and span only. Iqbal et al. 2012, doi:10.1038/ng.1028 (de Bruijn graphs of variants).
"""

from readwarp.pairwise.pairs import Costs

SIZES = (25, 35, 45, 55, 63)  # k
MIN_QUALITY = 10  # Phred, of usable bases
MIN_FRAGMENTS = 2
RAREST = 16
MARGIN = 4  # aligned bases of a read on both sides of an insertion or deletion for it to know that it is not there
MAX_FORKS = 62  # bits of a way
MAX_WAYS = 64
MAX_LONGER = 256  # bases by which a haplotype may be longer than the reference's
MAX_HAPLOTYPES = 32  # the reference's among them, those asked for not
COSTS = Costs(match=10, mismatch=8, gap_open=20, gap_extend=1)
