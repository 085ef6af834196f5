"""Active regions, where reads are compared with whole haplotypes instead of site by site (host only).

    find_clip_places(reads: AlignedReads, window: Window, ploidy: int8 [positions, samples]) -> ClipPlaces
    drop_overhangs(reads, places: ClipPlaces, sites: Sites, window) -> Sites: less what only overhanging ends show
    add_clipped(reads, places, sites, window, mates) -> Sites: with indels that only clips spell; and places of
        insertions that could not be assembled
    find_regions(reads, places, sites, window) -> Regions, in_region: bool [sites]
    split_samples(regions: Regions, reads) -> Regions of one sample each
    thin_reads(regions: Regions, reads, max_reads: int64 [regions]) -> Regions with at most that many reads

The window is the pileup's; nothing outside it is searched, and its bases reach further than regions do. A site outside
all regions is a single substitution, which `evidence.weigh_substitutions` weighs.

Marks make a region. A substitution marks [begin, begin + 1), an insertion or deletion [begin - 1, stop), and a clip
place p marks [p - 1, p + 1). A clip place is where at least MIN_CLIPS reads of one sample, and MIN_CLIP_FRACTION of its
reads across, begin or end a soft clip of MIN_CLIP or more bases of mean quality MIN_CLIP_QUALITY. That fraction scales
with the ploidy like the fractions of `sites`. A clip place where reads end and the next one where reads begin, within
MAX_INDEL bases, also bound one mark, since a deletion looks like that. Every mark is widened on both sides by its
reach. Marks that then overlap make a region, and their union is its [start, stop). A single substitution makes none.

A region longer than MAX_REGION is made again with half the reach, and so on through REACHES. If it is still too long,
it is cut at multiples of MAX_REGION of the contig, and each mark goes to the part in which it begins (status TOO_LONG).
So the regions at a place depend only on the marks within MAX_REGION and a reach of it, never on windows or threads.

A read takes part if one of its aligned bases or deletions is in [start, stop). It is cut to the bases aligned within
FLANK bases of the region, or up to the next region if that is nearer, but not to less than MIN_FLANK: the variants of a
neighbour would cost all haplotypes alike, and the read would not be informative. Clipped bases count as if they
continued on the diagonal. N skips, and insertions or deletions of more than MAX_INDEL bases, split a read; the piece
that shares most bases with the region takes part (the first on a tie). Pieces of fewer than MIN_BASES are left out.
Haplotypes span SPARE more bases on either side, plus the bases that the longest deletions of the region's sites remove
together, at most the span of its marks; all within the reference.

Where a sample has more than `max_reads` reads, those whose names have the smallest ranks stay, both mates or none
(status CAPACITY). Where one name alone has more, its first reads in the file stay. A sample of more than two copies
keeps as many reads per copy as a diploid one.
"""

MIN_CLIP_QUALITY = 15  # mean Phred
MIN_CLIPS, MIN_CLIP_FRACTION = 2, 0.05
REACHES = ((4, 20), (2, 10), (1, 5), (0, 1))  # bases beside a substitution, and beside any other mark
FLANK = 56  # holds two k-mers of 25 and a few bases
MIN_FLANK = 20
SPARE = 8
MIN_BASES = 10
