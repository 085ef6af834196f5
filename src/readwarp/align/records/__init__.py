"""Records: pair scores, MAPQ, primary, supplementary and secondary alignments, flags and tags (host only).

    choose(reads: ReadBatch, scored: tuple[Candidates, Scores], sizes: InsertSizes, parameters: AlignParameters,
           repetitive: int32 [reads], contig_offsets: int64) -> Choices
    build(reads, choices: Choices, extensions: Extensions, reference: Reference, parameters) -> Alignments

**Worth of a place.** With scores s_a, s_b of candidates a, b of two mates (end bonuses included) at outer distance d,

    pair(a, b) = s_a + s_b - penalty(d)          concordant: opposite strands, one contig, low <= d <= high
    worth(a)   = max(max_b pair(a, b), s_a + max_b s_b - U)
    penalty(d) = -0.721 ln(2 erfc(|d - mean| / (deviation sqrt 2)))              bwa mem's, kept in 1/64

The pair with the highest pair(a, b) wins if that exceeds max s_a + max s_b - U, else each mate's best candidate does.
Candidates of a read that end on the same diagonal and strand are one place. A place needs the score `min_score` or half
the read's length; for a read without one, `min_mate_bases` matches are enough in a pair that wins.

**Ties** go to the smallest mix(hash of the name ^ place), so that reads of repeats scatter, the same way in any batch.

**MAPQ** of a read placed at a: with the next best worth among its other places, delta = worth(a) - worth(a'), see
`records.scalar.mapping_quality`.

**Rows.** One primary per read; supplementary alignments share less than half of the shorter read span with those kept
before them; other places with at least `secondary_ratio` of the best score are named in XA if they are no more than
`max_secondary`.

**Tags**, in this order, as BAM encodes them: NM MD AS XS MC MQ ms SA XA. AS is what the CIGAR re-scores to; XS is the
next best score, less the same end bonus as the best has; ms is the mate's sum of base qualities of at least 15, as
samtools fixmate writes it.
"""

from readwarp.align.records.build import build
from readwarp.align.records.choose import Choices, choose

__all__ = ["Choices", "build", "choose"]
