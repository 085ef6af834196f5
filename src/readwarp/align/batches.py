"""Batches that travel between the steps of `align`."""

from typing import Annotated, NamedTuple

from numpy import ndarray

from readwarp.device.gather import gathers


class SeedHits(NamedTuple):
    """Exact seed matches of each read, packed by `align.anchors`."""

    anchors: Annotated[ndarray, "uint64 [anchors]"]
    anchor_offsets: Annotated[ndarray, "int64 [reads + 1] of anchors"]
    repetitive: Annotated[ndarray, "int32 [reads]"]  # seeds left out because they are too frequent in the reference
    settled: Annotated[ndarray, "uint8 [reads]"]  # 1: places without hits are worse than the best by the margin
    status: Annotated[ndarray, "uint8 [reads]"]  # Status


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


@gathers(Chains, "chains")
def gather_chains() -> None: ...


@gathers(Candidates, "candidates")
def gather_candidates() -> None: ...


@gathers(Scores, "candidates")
def gather_scores() -> None: ...
