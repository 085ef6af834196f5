"""Types that travel between steps: named tuples of arrays, which kernels take whole.

Each field declares its dtype and axes: `int32 [sites]` has a row per site. Ragged data are values and the offsets that
split them: `int64 [sites + 1] of alleles` says where the alleles of each site begin, on their own axis. From these
declarations, `readwarp.ragged` takes, joins and checks rows. The same type holds arrays of the host or of a card; only
the backend moves it. `len` is the number of rows, so use `ragged.replace` to make a copy, not `_replace`.

Positions are 0-based and half-open, bases are 0-4 (A C G T other), strand is 0 forward or 1 reverse, qualities are
Phred integers. A reference position counts from the first base of the first contig (contigs follow one another, see
`readwarp.index`). A query position counts on the *oriented* read: the read as sequenced on strand 0, its reverse
complement on strand 1. So `reference - query` is one diagonal on either strand.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray


class Segment(IntEnum):
    """Position of a read in its template. In a batch, FIRST is always followed directly by its LAST."""

    UNPAIRED = 0
    FIRST = 1
    LAST = 2


class Status(IntEnum):
    """Outcome of one item of a kernel; all but OK and UNGAPPED are counted and reported."""

    OK = 0
    UNGAPPED = 1  # solved without dynamic programming, and proven optimal
    TOO_LONG = 2  # longer than the step's limit
    CAPACITY = 3  # did not fit the step's working memory
    OVERFLOW = 4  # score beyond the lane width


class ReadBatch(NamedTuple):
    """Reads in input order. Mates are neighbours and always in the same batch."""

    number: int  # number in the run, from 0
    source: int  # the input (file or pair of files) of all its reads
    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    qualities: Annotated[ndarray, "uint8 [bases]"]  # Phred; 255 throughout a read that has none
    read_offsets: Annotated[ndarray, "int64 [reads + 1] of bases"]
    names: Annotated[ndarray, "uint8 [letters]"]  # without /1 /2 and comment
    name_offsets: Annotated[ndarray, "int64 [reads + 1] of letters"]
    tags: Annotated[ndarray, "uint8 [tag bytes]"]  # BAM-encoded auxiliary fields to carry over, without RG
    tag_offsets: Annotated[ndarray, "int64 [reads + 1] of tag bytes"]
    segment: Annotated[ndarray, "uint8 [reads]"]  # Segment
    read_group: Annotated[ndarray, "int32 [reads]"]  # index into the header's read groups, -1 none
    failed: Annotated[ndarray, "uint8 [reads]"]  # 1: failed the instrument's quality checks, flag 0x200
    left_out: int = 0  # fields of FASTQ comments left out

    def __len__(self) -> int:
        return self.read_offsets.size - 1


class SeedHits(NamedTuple):
    """Exact seed matches of each read, packed by `align.anchors`."""

    anchors: Annotated[ndarray, "uint64 [anchors]"]
    anchor_offsets: Annotated[ndarray, "int64 [reads + 1] of anchors"]
    repetitive: Annotated[ndarray, "int32 [reads]"]  # seeds left out because they are too frequent in the reference
    settled: Annotated[ndarray, "uint8 [reads]"]  # 1: places without hits are worse than the best by the margin
    status: Annotated[ndarray, "uint8 [reads]"]  # Status

    @classmethod
    def none(cls, reads: int) -> "SeedHits":
        """Return hits of this many reads, without anchors."""
        offsets, repetitive = np.zeros(reads + 1, np.int64), np.zeros(reads, np.int32)
        return cls(np.empty(0, np.uint64), offsets, repetitive, np.zeros(reads, np.uint8), np.zeros(reads, np.uint8))


class Chains(NamedTuple):
    """Collinear chains of each read, best first (score, strand, reference start), then those of a second look."""

    chain_offsets: Annotated[ndarray, "int64 [reads + 1] of chains"]
    reference_start: Annotated[ndarray, "int64 [chains]"]
    reference_stop: Annotated[ndarray, "int64 [chains]"]
    query_start: Annotated[ndarray, "int32 [chains]"]
    query_stop: Annotated[ndarray, "int32 [chains]"]
    strand: Annotated[ndarray, "uint8 [chains]"]
    score: Annotated[ndarray, "int32 [chains]"]  # read bases covered by anchors less gap cost
    repetitive: Annotated[ndarray, "int32 [reads]"]  # as in SeedHits
    settled: Annotated[ndarray, "uint8 [reads]"]  # as in SeedHits, if each place that hits lead to has a chain
    status: Annotated[ndarray, "uint8 [reads]"]  # Status


class LongChains(NamedTuple):
    """Collinear chains of each long read, best first (score, then first anchor), with their anchors in order."""

    chain_offsets: Annotated[ndarray, "int64 [reads + 1] of chains"]
    anchor_offsets: Annotated[ndarray, "int64 [chains + 1] of anchors"]
    anchors: Annotated[ndarray, "uint64 [anchors]"]  # packed by `align.anchors`
    score: Annotated[ndarray, "int32 [chains]"]  # read bases covered by anchors less gap cost


class Candidates(NamedTuple):
    """Windows of the reference in which to extend reads, grouped by read. A window lies within one contig."""

    candidate_offsets: Annotated[ndarray, "int64 [reads + 1] of candidates"]
    read: Annotated[ndarray, "int32 [candidates]"]  # index in the batch
    strand: Annotated[ndarray, "uint8 [candidates]"]
    window_start: Annotated[ndarray, "int64 [candidates]"]
    window_stop: Annotated[ndarray, "int64 [candidates]"]
    diagonal: Annotated[ndarray, "int64 [candidates]"]  # position of the first base to align, gaps undone
    query_start: Annotated[ndarray, "int32 [candidates]"]  # span of the chain; 0, 0 without one
    query_stop: Annotated[ndarray, "int32 [candidates]"]
    part_start: Annotated[ndarray, "int32 [candidates]"]  # bases of the oriented read to align; 0, 0: all
    part_stop: Annotated[ndarray, "int32 [candidates]"]

    def __len__(self) -> int:
        return self.read.size


class Scores(NamedTuple):
    """Best score of each candidate: the raw alignment score, plus the end bonus for each read end it reaches."""

    score: Annotated[ndarray, "int32 [candidates]"]
    query_stop: Annotated[ndarray, "int32 [candidates]"]  # end of the best alignment on the oriented read
    reference_stop: Annotated[ndarray, "int64 [candidates]"]
    status: Annotated[ndarray, "uint8 [candidates]"]  # Status


class Extensions(NamedTuple):
    """Alignments of the traced candidates. The CIGAR covers the aligned span only: clips follow from the query span."""

    score: Annotated[ndarray, "int32 [extensions]"]  # raw score of the CIGAR (AS), without end bonus
    query_start: Annotated[ndarray, "int32 [extensions]"]
    query_stop: Annotated[ndarray, "int32 [extensions]"]
    reference_start: Annotated[ndarray, "int64 [extensions]"]
    reference_stop: Annotated[ndarray, "int64 [extensions]"]
    edit_distance: Annotated[ndarray, "int32 [extensions]"]
    cigar: Annotated[ndarray, "uint32 [operations]"]  # BAM coding (length << 4 | op), M I D
    cigar_offsets: Annotated[ndarray, "int64 [extensions + 1] of operations"]
    status: Annotated[ndarray, "uint8 [extensions]"]  # Status


class AlignmentBatch(NamedTuple):
    """Output records, reads in batch order; the records of a read are neighbours, the primary first."""

    read: Annotated[ndarray, "int32 [records]"]  # index in the batch
    flag: Annotated[ndarray, "uint16 [records]"]  # SAM flag
    contig: Annotated[ndarray, "int32 [records]"]  # -1 none
    position: Annotated[ndarray, "int64 [records]"]  # 0-based in its contig, -1 none
    mapping_quality: Annotated[ndarray, "uint8 [records]"]
    cigar: Annotated[ndarray, "uint32 [operations]"]  # BAM coding, clips included
    cigar_offsets: Annotated[ndarray, "int64 [records + 1] of operations"]
    mate_contig: Annotated[ndarray, "int32 [records]"]
    mate_position: Annotated[ndarray, "int64 [records]"]
    template_length: Annotated[ndarray, "int64 [records]"]
    has_bases: Annotated[ndarray, "uint8 [records]"]  # 0: written without bases and qualities
    tags: Annotated[ndarray, "uint8 [tag bytes]"]  # BAM-encoded: NM MD AS XS MC MQ SA XA ...
    tag_offsets: Annotated[ndarray, "int64 [records + 1] of tag bytes"]

    def __len__(self) -> int:
        return self.read.size


class InsertSizes(NamedTuple):
    """Insert-size model of one input: outer distance of forward-reverse pairs, in bases."""

    mean: float
    deviation: float
    low: int  # limits of a proper pair, inclusive
    high: int
    pairs: int  # confident pairs it was fitted to; 0 for a default
    other_orientations: int  # confident pairs whose reads did not point at each other


class AlignedReads(NamedTuple):
    """Usable aligned reads that overlap a region of one contig, in file order (ascending position).

    Bases are those of BAM: on the forward strand of the reference, clipped ones included. Reads of no sample are left
    out; `unassigned` gives their positions. Mates may be joined to fragments (`readwarp.call.reads.mates`): bases that
    both read are `shared`, those before are the forward mate's, those after the reverse mate's. Without a mate,
    `shared` is empty, at the end of a forward read or the start of a reverse one.
    """

    contig: int
    start: int  # start of the region, 0-based in the contig
    stop: int
    position: Annotated[ndarray, "int64 [reads]"]  # first aligned reference base, 0-based in the contig
    reference_stop: Annotated[ndarray, "int64 [reads]"]  # after the last aligned reference base
    flag: Annotated[ndarray, "uint16 [reads]"]  # SAM flag
    mapping_quality: Annotated[ndarray, "uint8 [reads]"]
    name_hash: Annotated[ndarray, "uint64 [reads]"]  # equal for the mates of a pair
    fragment_end: Annotated[ndarray, "int64 [reads]"]  # where the mate's 5' end bounds the read's 3' end, -1 unknown
    shared: Annotated[ndarray, "int32 [reads, 2]"]  # [from, to) of its bases: on both strands; bases before are on the
    # forward strand only, bases after on the reverse strand
    hidden: Annotated[ndarray, "int32 [reads, 2]"]  # bases of the fragment left out before the first, after the last
    sample: Annotated[ndarray, "uint16 [reads]"]  # index among the called samples
    cigar: Annotated[ndarray, "uint32 [operations]"]  # BAM coding
    cigar_offsets: Annotated[ndarray, "int64 [reads + 1] of operations"]
    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    qualities: Annotated[ndarray, "uint8 [bases]"]  # Phred; 255 throughout a read that has none
    read_offsets: Annotated[ndarray, "int64 [reads + 1] of bases"]
    unassigned: Annotated[ndarray, "int64 [unassigned]"]  # positions of the reads left out

    @property
    def strand(self) -> ndarray:
        """Strand of each read: uint8 [reads]."""
        return ((self.flag >> 4) & 1).astype(np.uint8)

    def __len__(self) -> int:
        return self.position.size


class Window(NamedTuple):
    """A stretch of one contig, with enough of the reference around it to compare reads with.

    Several small contigs may lie on one axis, as if they were one (`readwarp.call.places.strips`), with OUTSIDE between
    them.
    """

    contig: int
    start: int  # 0-based in the contig
    stop: int
    bases: Annotated[ndarray, "uint8 [bases]"]  # of the reference, 0-4
    first: int  # position of the first of these bases, 0-based in the contig

    def trim(self) -> "Window":
        """Return the window without the reference around it."""
        bases = self.bases[self.start - self.first : self.stop - self.first]
        return Window(self.contig, self.start, self.stop, bases, self.start)


class Pileup(NamedTuple):
    """Evidence at each position of a window.

    An allele is an insertion or deletion in CIGARs, left-aligned against the reference. Alleles are sorted by position,
    kind and length.
    """

    contig: int
    start: int  # 0-based in the contig
    stop: int
    counts: Annotated[ndarray, "int32 [positions, 5, 2]"]  # A C G T deleted; forward, reverse
    quality_sums: Annotated[ndarray, "int32 [positions, 5, 2]"]  # sums of usable Phred base qualities
    allele_position: Annotated[ndarray, "int64 [alleles]"]  # 0-based in the contig, of the preceding base
    allele_length: Annotated[ndarray, "int32 [alleles]"]
    allele_bases: Annotated[ndarray, "uint8 [inserted bases]"]  # 0-4
    allele_offsets: Annotated[ndarray, "int64 [alleles + 1] of inserted bases"]
    allele_counts: Annotated[ndarray, "int32 [alleles, 2]"]  # forward, reverse


class Sites(NamedTuple):
    """Sites of one contig where alleles compete, in order of position, with their alleles, the reference's first.

    An allele replaces the `deleted` reference bases from the site's `begin` on with its inserted bases. `begin` is the
    base of a substitution, or the base after the anchor base of an insertion or deletion.
    """

    contig: int
    begin: Annotated[ndarray, "int64 [sites]"]  # 0-based in the contig
    stop: Annotated[ndarray, "int64 [sites]"]  # after all positions where an allele could be written
    is_indel: Annotated[ndarray, "bool [sites]"]
    unit: Annotated[ndarray, "int32 [sites]"]  # bases in the repeat unit of an indel; 1 elsewhere
    allele_offsets: Annotated[ndarray, "int64 [sites + 1] of alleles"]
    deleted: Annotated[ndarray, "int32 [alleles]"]
    inserted: Annotated[ndarray, "uint8 [inserted bases]"]  # a single 4: *, a single 5: <NON_REF>
    inserted_offsets: Annotated[ndarray, "int64 [alleles + 1] of inserted bases"]
    is_forced: Annotated[ndarray, "bool [alleles]"]  # given by the user: genotyped whatever the reads show
    reach: Annotated[
        ndarray, "float64 [alleles]"
    ]  # fragment placements that meet the allele, relative to the reference's

    @property
    def position(self) -> ndarray:
        """Position of each site, as in VCF but 0-based, int64 [sites]: the base, or an indel's anchor base."""
        return np.asarray(self.begin - self.is_indel)

    def __len__(self) -> int:
        return self.begin.size


class Regions(NamedTuple):
    """Active regions of one contig, where reads are compared with whole haplotypes; a row per read of a region.

    Variants of a region begin in [start, stop). Its haplotypes span [low, high), more than its trimmed reads, so that
    no read hangs over the end of a haplotype with a deletion.
    """

    contig: int
    start: Annotated[ndarray, "int64 [regions]"]  # 0-based in the contig
    stop: Annotated[ndarray, "int64 [regions]"]
    low: Annotated[ndarray, "int64 [regions]"]
    high: Annotated[ndarray, "int64 [regions]"]
    read_offsets: Annotated[ndarray, "int64 [regions + 1] of rows"]
    read: Annotated[ndarray, "int32 [rows]"]  # index in AlignedReads, in file order
    base_start: Annotated[ndarray, "int64 [rows]"]  # the bases that take part, even clipped ones: ...
    base_stop: Annotated[ndarray, "int64 [rows]"]  # ... [base_start, base_stop) of AlignedReads.bases
    status: Annotated[ndarray, "uint8 [regions]"]  # CAPACITY: reads were thinned; TOO_LONG: it was cut
    place: Annotated[ndarray, "int64 [regions]"]  # ascending; regions of one place differ only in sample and reads
    sample: Annotated[ndarray, "uint16 [regions]"]  # of these reads, once regions are split by sample

    @property
    def places(self) -> ndarray:
        """Offsets of the regions of each place: int64 [places + 1]."""
        return np.append(np.flatnonzero(np.diff(self.place, prepend=-1)), len(self))

    def __len__(self) -> int:
        return self.start.size


class Haplotypes(NamedTuple):
    """Candidate haplotypes of each region and their variants. The first of a region is the reference's.

    Variants are written as in Sites: inserted bases replace the `deleted` reference bases from `begin` on.
    """

    haplotype_offsets: Annotated[ndarray, "int64 [regions + 1] of haplotypes"]
    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    base_offsets: Annotated[ndarray, "int64 [haplotypes + 1] of bases"]
    support: Annotated[ndarray, "int32 [haplotypes]"]  # reads from which the haplotype was made
    variant_offsets: Annotated[ndarray, "int64 [haplotypes + 1] of variants"]
    begin: Annotated[ndarray, "int64 [variants]"]  # 0-based in the contig, ascending within a haplotype
    deleted: Annotated[ndarray, "int32 [variants]"]
    inserted: Annotated[ndarray, "uint8 [inserted bases]"]
    inserted_offsets: Annotated[ndarray, "int64 [variants + 1] of inserted bases"]
    status: Annotated[ndarray, "uint8 [regions]"]  # CAPACITY: haplotypes were left out

    def __len__(self) -> int:
        return self.support.size


class Likelihoods(NamedTuple):
    """Support of each read for the alleles of a site: pairs of a site and a read, by site, reads in file order."""

    pair_offsets: Annotated[ndarray, "int64 [sites + 1] of pairs"]
    read: Annotated[ndarray, "int32 [pairs]"]  # index in AlignedReads
    allele: Annotated[ndarray, "int8 [pairs]"]  # the allele that fits best; -1: another one; -2: none can be told
    quality: Annotated[ndarray, "uint8 [pairs]"]  # base quality at the site
    mapping_quality: Annotated[ndarray, "uint8 [pairs]"]
    strand: Annotated[ndarray, "uint8 [pairs]"]  # 1 reverse; 2 or 3 if it does not count for strand bias
    sample: Annotated[ndarray, "uint16 [pairs]"]
    end_distance: Annotated[ndarray, "int32 [pairs]"]  # bases to the nearer end of the read, up to evidence.FAR
    value_offsets: Annotated[ndarray, "int64 [sites + 1] of values"]  # a site's values are a table, pairs x alleles
    values: Annotated[ndarray, "float64 [values]"]  # log10 P(read | allele)


class Phase(NamedTuple):
    """Alleles that are together on the haplotypes of a region, for sites found by haplotypes."""

    region: Annotated[ndarray, "int64 [sites]"]  # sites of one region are phased with each other
    start: Annotated[ndarray, "int64 [sites]"]  # [start, stop) of that region, 0-based in the contig
    stop: Annotated[ndarray, "int64 [sites]"]
    allele: Annotated[ndarray, "int8 [sites, samples, ploidy]"]  # on each haplotype, -1 none


@dataclass(frozen=True, slots=True)
class Calls:
    """Called sites in order, ready to be written; v sites of m samples.

    Lists have an entry per site; entries about samples have an item per sample. A genotype's alleles ascend, or follow
    the order of haplotypes if it has a phase set. Without reads it is unknown, all -1.
    """

    contig: ndarray  # int32 [v]
    position: ndarray  # int64 [v], 0-based
    alleles: list[tuple[str, ...]]  # reference first
    quality: ndarray  # float64 [v], Phred
    genotype: list[tuple[tuple[int, ...], ...]]  # allele indices, as many as the ploidy
    genotype_quality: ndarray  # int32 [v, m]
    depth: ndarray  # int32 [v, m]
    allele_depth: list[tuple[tuple[int, ...], ...]]
    likelihoods: list[tuple[tuple[int, ...], ...]]  # PL in VCF order
    phase_set: ndarray  # int64 [v, m], 0-based position of its first call, -1 unphased
    filters: list[tuple[str, ...]]  # empty: PASS; a single ".": no filters were applied
    annotations: dict[str, ndarray]  # INFO: a column [v] per field, NaN where a call has no value; tuples by ALT
    strands: ndarray  # int32 [v, m, 4], reads of REF forward and reverse, of other alleles; -1 unknown
    independent: ndarray  # int32 [v, m, 4], the reads of `strands` that count for strand bias
    squares: ndarray  # int64 [v], sum of squared MAPQ of the reads
    phase_name: list[tuple[str, ...]]  # PID: position, REF and ALT of the phase set's first call; "" unphased
    of_samples: dict[str, ndarray] = field(
        default_factory=dict
    )  # other FORMAT: a column [v, m]; [v, m, k] has k values

    def __len__(self) -> int:
        return self.position.size


class Bands(NamedTuple):
    """Runs of neighbouring positions of one contig without a call and with confidence in one band."""

    contig: int
    start: Annotated[ndarray, "int64 [blocks]"]  # 0-based in the contig, ascending
    stop: Annotated[ndarray, "int64 [blocks]"]
    base: Annotated[ndarray, "uint8 [blocks]"]  # 0-4, of the reference at `start`
    band: Annotated[ndarray, "int8 [blocks]"]  # index of the GQ band; -1: unknown
    ploidy: Annotated[ndarray, "int8 [blocks]"]
    depth_sum: Annotated[ndarray, "int64 [blocks]"]  # over the positions of the run
    min_depth: Annotated[ndarray, "int32 [blocks]"]
    likelihoods: Annotated[ndarray, "int32 [blocks, max copies + 1]"]  # the minimum PL of 0, 1, ... copies

    def __len__(self) -> int:
        return self.start.size
