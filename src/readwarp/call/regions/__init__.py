"""Regions: where reads are compared with whole haplotypes instead of site by site (host only).

    find_clip_places(reads: AlignedReads, window: Window) -> ClipPlaces
    add_clipped(reads, places: ClipPlaces, sites: Sites, window) -> Sites: those given, and those that only clips spell
    find_regions(reads, places, sites, window, max_reads: int) -> Regions, in_region: bool [sites]

The window is the pileup's, and nothing outside of it is looked for; its bases reach further than regions do. A site
outside of all regions is a single substitution, which `evidence.weigh_substitutions` answers.

Marks make a region. A substitution marks [begin, begin + 1), an insertion or deletion [begin - 1, stop), and a clip
place p marks [p - 1, p + 1). A clip place is where at least MIN_CLIPS reads of one sample, and MIN_CLIP_FRACTION of its
reads across, begin or end a soft clip of MIN_CLIP or more bases of mean quality MIN_CLIP_QUALITY. A clip place where
reads end and the next one where reads begin, if that is within MAX_INDEL bases, are the ends of one mark, since a
deletion looks so. Every mark is widened by its REACH on both sides. Marks that then overlap are a region, and their
union is its [start, stop). A substitution alone is none.

A region longer than MAX_REGION is made again with half the reach, and so on through REACHES. What is still too long is
cut at multiples of MAX_REGION of the contig, and each mark goes to the part in which it begins (status TOO_LONG). So
what becomes of a place depends on the marks within MAX_REGION and a reach of it, and neither on windows nor on threads.

A read takes part where an aligned base or a deletion of it lies in [start, stop). It is cut to the bases that are
aligned within FLANK bases of the region, or as far as the next region where that is nearer, but to MIN_FLANK at least:
a neighbour's variants would cost all haplotypes alike, and the read its say. Clipped bases count as if they continued
on the diagonal. An N skip and an insertion or deletion of more than MAX_INDEL bases split a read; the piece that shares
most bases with the region takes part (the first on a tie). Pieces of fewer than MIN_BASES are left out. Haplotypes span
SPARE more bases on either side, and as many as the longest deletions of the region's sites take away together, but no
more than its marks span; all within the reference. Of more than `max_reads` reads of a sample, those whose names have
the smallest hashes stay, both mates or none (status CAPACITY); where one name alone has more, the first in file order.
"""

MIN_CLIP, MIN_CLIP_QUALITY = 8, 15  # bases, mean Phred
MIN_CLIPS, MIN_CLIP_FRACTION = 2, 0.05
MAX_CLIP = 256  # bases of a clip that are looked at
MIN_REJOINED, REJOINED_PER_ERROR = 10, 10
REACHES = ((4, 20), (2, 10), (1, 5), (0, 1))  # bases around a substitution, and around any other mark
MAX_REGION = 300
FLANK = 56  # two k-mers of 25 and a little before the first variant
MIN_FLANK = 20
SPARE = 8
MIN_BASES = 10
