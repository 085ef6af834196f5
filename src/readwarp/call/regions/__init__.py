"""Regions: where reads are compared with whole haplotypes instead of site by site (host only).

    find_regions(reads: AlignedReads, qualities: uint8 [b], sites: Sites, reference: uint8, start: int,
                 low: int, high: int, max_reads: int) -> Regions, in_region: bool [s]
    with_clipped(reads, qualities, sites, reference, start, low, high) -> Sites: those, and what clips spell besides

`reference` are bases 0-4 from position `start` of the contig on, beyond what regions reach; [low, high) the window of
the pileup, outside of which nothing is looked for. A site outside of all regions is a single substitution, which
`evidence.weigh_substitutions` answers.

Marks are what makes a region: substitutions [begin, begin + 1), insertions and deletions [begin - 1, stop), and clip
places p, [p - 1, p + 1), where at least MIN_CLIPS reads of one sample, and MIN_CLIP_FRACTION of its reads across, begin
or end a soft clip of MIN_CLIP or more bases of mean quality MIN_CLIP_QUALITY. A clip place where reads end and the next
one where reads begin, at most MAX_INDEL bases behind it, are the ends of one mark: a deletion looks so. Every mark is
widened by its REACH on both sides; marks that overlap then are a region, and their union is its [start, stop). A
substitution alone is none.

A region longer than MAX_REGION is made again with half the reach, and so on for REACHES; what is too long still is cut
at multiples of MAX_REGION of the contig, each mark going where it begins (status TOO_LONG). So what becomes of a place
depends on marks within MAX_REGION and a reach of it, and neither on windows nor on threads.

Reads take part where an aligned base or a deletion of theirs lies in [start, stop). They are cut to the bases that are
aligned within FLANK bases of the region, or as far as the next region where that is nearer, but LEAST_FLANK at least:
variants of a neighbour would cost all haplotypes alike, and the read its say. Clipped bases count as if they continued
on the diagonal. An N skip and an insertion or deletion of more than MAX_INDEL bases split a read: the piece that shares
most bases with the region takes part (the first on a tie). Pieces of fewer than MIN_BASES are left out. Haplotypes span
SPARE bases more on either side, and as many as the longest deletions of the region's sites take away together, at most
what its marks span; all within the reference. Of more than `max_reads` reads of a sample those with the smallest hash
of their names are kept, both mates or none (status CAPACITY); where one name alone has more, the first in file order.
"""

MIN_CLIP, MIN_CLIP_QUALITY = 8, 15  # bases, mean Phred
MIN_CLIPS, MIN_CLIP_FRACTION = 2, 0.05
MAX_CLIP = 256  # bases of a clip that are looked at
MIN_REJOINED, REJOINED_PER_ERROR = 10, 10
REACHES = ((4, 20), (2, 10), (1, 5), (0, 1))  # bases around a substitution, and around any other mark
MAX_REGION = 300
FLANK = 56  # two k-mers of 25 and a little before the first variant
LEAST_FLANK = 20
SPARE = 8
MIN_BASES = 10
