"""What pair and records look at beside reads and chains: the places of reads, and the reference."""

from typing import Annotated, NamedTuple

from numpy import ndarray

from readwarp.batches import Candidates, Scores
from readwarp.index.reference import Reference


class Genome(NamedTuple):
    """The arrays of a `Reference`, as kernels take them."""

    packed: Annotated[ndarray, "uint8 [packed bases]"]
    contig_offsets: Annotated[ndarray, "int64 [contigs + 1]"]


class Places(NamedTuple):
    """Scored candidates, grouped by read."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of places"]
    strand: Annotated[ndarray, "uint8 [places]"]
    v: Annotated[ndarray, "int64 [places]"]  # reference position of query position 0, gaps undone from the end
    stop: Annotated[ndarray, "int64 [places]"]  # reference position after the alignment
    query_stop: Annotated[ndarray, "int32 [places]"]
    chain_start: Annotated[ndarray, "int32 [places]"]  # span of the chain on the oriented read; 0, 0 for rescue windows
    chain_stop: Annotated[ndarray, "int32 [places]"]
    score: Annotated[ndarray, "int32 [places]"]
    status: Annotated[ndarray, "uint8 [places]"]


def genome_of(reference: Reference) -> Genome:
    return Genome(reference.packed, reference.contig_offsets)


def places_of(candidates: Candidates, scores: Scores) -> Places:
    return Places(
        candidates.candidate_offsets,
        candidates.strand,
        v=scores.reference_stop - scores.query_stop,
        stop=scores.reference_stop,
        query_stop=scores.query_stop,
        chain_start=candidates.query_start,
        chain_stop=candidates.query_stop,
        score=scores.score,
        status=scores.status,
    )
