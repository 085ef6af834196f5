"""Records: pair scores, MAPQ, primary, supplementary and secondary alignments, flags and tags.

    choose(reads: ReadBatch, places: Places, sizes: InsertModels, parameters: AlignParameters,
           repetitive: int32 [reads], contig_offsets: int64) -> Choices
    build(reads: ReadBatch, aligned: int64 [reads + 1], traced: TracedChoices, context: TagContext, parameters)
        -> AlignmentBatch                                                                       on either side

**Worth of a place.** For candidates a, b of two mates with scores s_a, s_b (end bonuses included), outer distance d:

    pair(a, b) = s_a + s_b - penalty(d)          concordant: opposite strands, one contig, low <= d <= high
    worth(a)   = max(max_b pair(a, b), s_a + max_b s_b - U)
    penalty(d) = -0.721 ln(2 erfc(|d - mean| / (deviation sqrt 2)))              bwa mem's, kept in 1/64

The pair with the highest pair(a, b) wins if that exceeds max s_a + max s_b - U, else each mate's best candidate.
Candidates of a read that end on the same diagonal and strand are one place. A place needs a score of `min_score` or
half the read's length; for a read without such a place, `min_mate_bases` matches are enough in a pair that wins.

**Ties** go to the smallest mix(hash of the name ^ place): reads of repeats scatter, but in the same way in any batch.

**MAPQ** of a read placed at a follows from worth(a) less the next best worth among its other places: see
`records.quality.mapping_quality`.

**Rows.** One primary per read. Supplementary alignments share less than half of the shorter read span with each earlier
row of the read. XA names up to `max_secondary` other places with at least `secondary_ratio` of the best score, or none
if there are more; with `secondary_records`, the best ones become records. With `five_prime_primary`, the primary and
supplementary rows swap roles so that the part sequenced first is primary.

**Tags**, in BAM encoding and in this order: NM MD AS XS MC MQ ms SA pa XA, and cs on request. AS is the score of the
CIGAR; XS is the next best score less the end bonus of the best; ms is the sum of the mate's base qualities of at least
15, as in samtools fixmate; pa is AS divided by that of the row with the role ALTERNATE; cs is minimap2's.
"""

from readwarp.align.records.build import build
from readwarp.align.records.choose import Choices, TracedChoices, choose
from readwarp.align.records.tags import context_of

__all__ = ["Choices", "TracedChoices", "build", "choose", "context_of"]
