"""The types that travel between steps.

Frozen structures of one-dimensional arrays. Ragged data are values plus `*_offsets` (int64, n + 1). Positions are
0-based and half-open, bases are 0-4 (A C G T other), strand is 0 forward or 1 reverse, qualities are Phred integers.
A reference position counts from the first base of the first contig (contigs lie one behind the other, see
`readwarp.index`). A query position counts on the *oriented* read: the read as sequenced on strand 0, its reverse
complement on strand 1; so `reference - query` is one diagonal on either strand.

The same type holds host or device arrays; only the backend moves it. Dimensions: n reads, b bases, h hits, c chains
or candidates, r output records.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from numpy import empty, int64, ndarray


class Segment(IntEnum):
    """Place of a read in its template. FIRST is always followed directly by its LAST in a batch."""

    UNPAIRED = 0
    FIRST = 1
    LAST = 2


class Status(IntEnum):
    """What became of one item of a kernel; everything but OK and UNGAPPED is counted and reported."""

    OK = 0
    UNGAPPED = 1  # answered without dynamic programming, and proven optimal
    TOO_LONG = 2  # longer than the step's limit
    CAPACITY = 3  # did not fit the step's working memory
    OVERFLOW = 4  # score beyond the lane width


class Origin(IntEnum):
    """Why a window is a candidate."""

    CHAIN = 0
    RESCUE = 1


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Reads in input order. Mates are neighbours and never split between batches."""

    number: int  # counts from 0 within the run
    source: int  # input (file or pair of files) the reads come from; a batch has one source
    bases: ndarray  # uint8 [b], 0-4
    qualities: ndarray  # uint8 [b], Phred; 255 throughout a read that has none
    read_offsets: ndarray  # int64 [n + 1]
    names: ndarray  # uint8, without /1 /2 and comment
    name_offsets: ndarray  # int64 [n + 1]
    tags: ndarray  # uint8, BAM-encoded auxiliary fields carried over, RG not among them
    tag_offsets: ndarray  # int64 [n + 1]
    segment: ndarray  # uint8 [n], Segment
    read_group: ndarray  # int32 [n], index into the header's read groups, -1 none

    def __len__(self) -> int:
        return self.read_offsets.size - 1


@dataclass(frozen=True, slots=True)
class SeedHits:
    """Exact seed matches of each read.

    An anchor is one uint64, so that a plain sort orders it by strand, reference and query:
    bit 63 strand, bits 16-62 reference start, bits 0-15 query start.
    """

    anchors: ndarray  # uint64 [h]
    anchor_offsets: ndarray  # int64 [n + 1]
    repetitive: ndarray  # int32 [n], seeds left out because they occur too often in the reference
    status: ndarray  # uint8 [n], Status


@dataclass(frozen=True, slots=True)
class Chains:
    """Collinear chains of each read, best first (score, then strand, then reference start)."""

    chain_offsets: ndarray  # int64 [n + 1]
    reference_start: ndarray  # int64 [c]
    reference_stop: ndarray  # int64 [c]
    query_start: ndarray  # int32 [c]
    query_stop: ndarray  # int32 [c]
    strand: ndarray  # uint8 [c]
    score: ndarray  # int32 [c], read bases covered by anchors less gap cost
    anchors: ndarray  # int32 [c], anchors in the chain
    repetitive: ndarray  # int32 [n], as in SeedHits
    status: ndarray  # uint8 [n], Status


@dataclass(frozen=True, slots=True)
class Candidates:
    """Windows of the reference to extend reads in, grouped by read. A window lies within one contig."""

    candidate_offsets: ndarray  # int64 [n + 1]
    read: ndarray  # int32 [c], index in the batch
    strand: ndarray  # uint8 [c]
    window_start: ndarray  # int64 [c]
    window_stop: ndarray  # int64 [c]
    diagonal: ndarray  # int64 [c], reference position of query position 0 if there were no gap
    chain_score: ndarray  # int32 [c], 0 for rescue windows
    query_start: ndarray  # int32 [c], span of the chain; 0, 0 for rescue windows
    query_stop: ndarray  # int32 [c]
    origin: ndarray  # uint8 [c], Origin

    def __len__(self) -> int:
        return self.read.size


@dataclass(frozen=True, slots=True)
class Scores:
    """Best score of each candidate: raw alignment score plus one end bonus per read end that is reached."""

    score: ndarray  # int32 [c]
    query_stop: ndarray  # int32 [c], end of the best alignment on the oriented read
    reference_stop: ndarray  # int64 [c]
    status: ndarray  # uint8 [c], Status


@dataclass(frozen=True, slots=True)
class Extensions:
    """Alignments of the traced candidates. The CIGAR covers the aligned span only: clips follow from the query span."""

    candidate: ndarray  # int64 [e], row in Candidates
    score: ndarray  # int32 [e], raw: what the CIGAR re-scores to (AS), without end bonus
    query_start: ndarray  # int32 [e]
    query_stop: ndarray  # int32 [e]
    reference_start: ndarray  # int64 [e]
    reference_stop: ndarray  # int64 [e]
    edit_distance: ndarray  # int32 [e]
    cigar: ndarray  # uint32, BAM coding (length << 4 | op), M I D
    cigar_offsets: ndarray  # int64 [e + 1]
    status: ndarray  # uint8 [e], Status


@dataclass(frozen=True, slots=True)
class Alignments:
    """Output records as arrays, one row each, reads in batch order; rows of a read are neighbours, primary first."""

    read: ndarray  # int32 [r], index in the batch
    flag: ndarray  # uint16 [r], SAM flag
    contig: ndarray  # int32 [r], -1 none
    position: ndarray  # int64 [r], 0-based in its contig, -1 none
    mapping_quality: ndarray  # uint8 [r]
    cigar: ndarray  # uint32, BAM coding, clips included
    cigar_offsets: ndarray  # int64 [r + 1]
    mate_contig: ndarray  # int32 [r]
    mate_position: ndarray  # int64 [r]
    template_length: ndarray  # int64 [r]
    tags: (
        ndarray  # uint8, BAM-encoded: what the aligner says (NM MD AS XS MC MQ SA XA ...), without RG and carried tags
    )
    tag_offsets: ndarray  # int64 [r + 1]

    def __len__(self) -> int:
        return self.read.size


@dataclass(frozen=True, slots=True)
class InsertSizes:
    """Insert-size model of one input: outer distance of forward-reverse pairs, in bases."""

    mean: float
    deviation: float
    low: int  # limits of a proper pair, inclusive
    high: int
    pairs: int  # confident pairs it was estimated from; 0 when it is a default
    other_orientations: int  # confident pairs that did not point at each other


@dataclass(frozen=True, slots=True)
class AlignedReads:
    """Usable aligned reads that overlap a region of one contig, in file order (ascending position).

    Bases lie as in BAM: on the forward strand of the reference, clipped ones included. Reads that belong to no sample
    are left out; `unassigned` says where they were.
    """

    contig: int
    start: int  # the region asked for, 0-based in the contig
    stop: int
    position: ndarray  # int64 [n], first aligned reference base, 0-based in the contig
    reference_stop: ndarray  # int64 [n], one behind the last aligned reference base
    flag: ndarray  # uint16 [n], SAM flag
    mapping_quality: ndarray  # uint8 [n]
    name_hash: ndarray  # uint64 [n], equal for the mates of a pair
    sample: ndarray  # uint8 [n], number of the sample among those that are called
    cigar: ndarray  # uint32, BAM coding
    cigar_offsets: ndarray  # int64 [n + 1]
    bases: ndarray  # uint8 [b], 0-4
    qualities: ndarray  # uint8 [b], Phred; 255 throughout a read that has none
    read_offsets: ndarray  # int64 [n + 1]
    unassigned: ndarray = field(default_factory=lambda: empty(0, int64))  # int64, positions of reads left out

    def __len__(self) -> int:
        return self.position.size


@dataclass(frozen=True, slots=True)
class Pileup:
    """Evidence at each position of a reference window of one contig; w positions, a alleles seen.

    An allele is an insertion or deletion that CIGARs show, left-aligned against the reference; alleles are in
    ascending order of position, kind and length.
    """

    contig: int
    start: int  # 0-based in the contig
    stop: int
    counts: ndarray  # int32 [w, 5 (A C G T deleted), 2 (strand)]
    quality_sums: ndarray  # int32 [w, 5, 2], sums of usable Phred base qualities
    allele_position: ndarray  # int64 [a], reference base before an insertion or deletion, 0-based in the contig
    allele_length: ndarray  # int32 [a]
    allele_bases: ndarray  # uint8, inserted bases, 0-4
    allele_offsets: ndarray  # int64 [a + 1]
    allele_counts: ndarray  # int32 [a, 2 (strand)]


@dataclass(frozen=True, slots=True)
class Sites:
    """Places of one contig where alleles compete, in order of position; s sites, A alleles, the reference's first.

    An allele replaces the `deleted` reference bases from the site's `begin` on by its inserted bases. A substitution
    has `begin` at its base; an insertion or deletion has it right behind its anchor base.
    """

    contig: int
    begin: ndarray  # int64 [s], 0-based in the contig
    stop: ndarray  # int64 [s], first reference base behind all places where one of the alleles could be written
    is_indel: ndarray  # bool [s]
    unit: ndarray  # int32 [s], bases of the repeat unit of the first other allele of an indel; 1 elsewhere
    allele_offsets: ndarray  # int64 [s + 1]
    deleted: ndarray  # int32 [A]
    inserted: ndarray  # uint8, bases; 4 alone: missing, by a deletion across it; 5 alone: any allele not listed
    inserted_offsets: ndarray  # int64 [A + 1]
    is_forced: ndarray  # bool [A], asked for by the user: genotyped whatever the reads say

    def __len__(self) -> int:
        return self.begin.size


@dataclass(frozen=True, slots=True)
class Regions:
    """Active regions of one contig, where reads are compared with whole haplotypes; g regions, r reads in them.

    Variants of a region begin in [start, stop). Its haplotypes span [low, high), which is wider than what its reads
    are cut to, so that no read hangs over the end of a haplotype with a deletion.
    """

    contig: int
    start: ndarray  # int64 [g], 0-based in the contig
    stop: ndarray  # int64 [g]
    low: ndarray  # int64 [g]
    high: ndarray  # int64 [g]
    read_offsets: ndarray  # int64 [g + 1]
    read: ndarray  # int32 [r], index in AlignedReads, in file order
    base_start: ndarray  # int64 [r], the read's bases that take part, clipped ones among them: ...
    base_stop: ndarray  # int64 [r], ... [base_start, base_stop) of AlignedReads.bases
    status: ndarray  # uint8 [g], Status: CAPACITY where reads were thinned, TOO_LONG where a longer region was cut

    def __len__(self) -> int:
        return self.start.size


@dataclass(frozen=True, slots=True)
class Haplotypes:
    """Candidate haplotypes of each region; h haplotypes, v variants on them. The first of a region is the reference's.

    Variants are spelled as in Sites: `deleted` reference bases from `begin` on are replaced by the inserted ones.
    """

    haplotype_offsets: ndarray  # int64 [g + 1]
    bases: ndarray  # uint8, 0-4
    base_offsets: ndarray  # int64 [h + 1]
    support: ndarray  # int32 [h], reads of which the haplotype was made
    variant_offsets: ndarray  # int64 [h + 1]
    begin: ndarray  # int64 [v], 0-based in the contig, ascending within a haplotype
    deleted: ndarray  # int32 [v]
    inserted: ndarray  # uint8
    inserted_offsets: ndarray  # int64 [v + 1]
    status: ndarray  # uint8 [g], Status: CAPACITY where haplotypes were left out by the rule, OK else

    def __len__(self) -> int:
        return self.support.size


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """What each read says about the alleles of a site; p pairs of a site and a read, grouped by site in file order."""

    pair_offsets: ndarray  # int64 [s + 1]
    read: ndarray  # int32 [p], index in AlignedReads
    allele: ndarray  # int8 [p], the allele that fits best, -1 no single one, -2 the read says nothing
    quality: ndarray  # uint8 [p], base quality at the site
    mapping_quality: ndarray  # uint8 [p]
    strand: ndarray  # uint8 [p]
    sample: ndarray  # uint8 [p]
    end_distance: ndarray  # int32 [p], bases to the nearer end: of the read, or of its aligned part (evidence)
    value_offsets: ndarray  # int64 [s + 1]: a site's values are a pairs x alleles table
    values: ndarray  # float64, log10 P(read | allele)


@dataclass(frozen=True, slots=True)
class Phase:
    """Which alleles lie together on the haplotypes of a region, for sites made of haplotypes."""

    region: ndarray  # int64 [s], sites of one region are phased with each other
    allele: ndarray  # int8 [s, samples, ploidy], the site's allele on each haplotype of a sample, -1 for none of them


@dataclass(frozen=True, slots=True)
class Calls:
    """Called sites in order, ready to be written; v sites of m samples.

    The lists hold a value per site; of those that are about samples, one per sample. A genotype is in ascending order
    of its alleles, or in the order of haplotypes where it has a phase set. Without reads it is unknown, all -1.
    """

    contig: ndarray  # int32 [v]
    position: ndarray  # int64 [v], 0-based
    alleles: list[tuple[str, ...]]  # reference first
    quality: ndarray  # float64 [v], Phred
    genotype: list[tuple[tuple[int, ...], ...]]  # allele indices, as many as the site's ploidy
    genotype_quality: ndarray  # int32 [v, m]
    depth: ndarray  # int32 [v, m]
    allele_depth: list[tuple[tuple[int, ...], ...]]
    likelihoods: list[tuple[tuple[int, ...], ...]]  # PL in VCF order
    phase_set: ndarray  # int64 [v, m], 0-based position of its first call, -1 not phased
    filters: list[tuple[str, ...]]  # empty: PASS; "." alone: none was applied
    annotations: dict[str, ndarray]  # INFO: a column [v] per field, NaN where a call has no such value
    strands: ndarray  # int32 [v, 4], reads of REF forward and reverse, of the other alleles forward and reverse

    def __len__(self) -> int:
        return self.position.size


@dataclass(frozen=True, slots=True)
class Bands:
    """Runs of neighbouring positions of one contig without a call, alike in how sure the reference is; n runs."""

    contig: int
    start: ndarray  # int64 [n], 0-based in the contig, ascending
    stop: ndarray  # int64 [n]
    base: ndarray  # uint8 [n], 0-4, of the reference at `start`
    band: ndarray  # int8 [n], number of the band of GQ; -1: nothing is known
    ploidy: ndarray  # int8 [n]
    depth_sum: ndarray  # int64 [n], of the run's positions
    min_depth: ndarray  # int32 [n]
    likelihoods: ndarray  # int32 [n, most copies + 1], least PL of 0, 1, ... copies of another allele; 0 behind ploidy

    def __len__(self) -> int:
        return self.start.size
