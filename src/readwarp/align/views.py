"""The arrays of travelling types as named tuples, which compiled kernels on the host can take."""

from typing import NamedTuple

from numpy import ndarray

from readwarp.batches import Candidates, Chains, InsertSizes, ReadBatch, Scores
from readwarp.index.reference import Reference


class ReadView(NamedTuple):
    offsets: ndarray
    bases: ndarray
    qualities: ndarray
    names: ndarray
    name_offsets: ndarray
    segment: ndarray


class ReferenceView(NamedTuple):
    packed: ndarray
    contig_offsets: ndarray


class ChainView(NamedTuple):
    offsets: ndarray
    start: ndarray
    stop: ndarray
    query_start: ndarray
    query_stop: ndarray
    strand: ndarray
    score: ndarray


class PlaceView(NamedTuple):
    """Scored candidates, grouped by read."""

    offsets: ndarray
    strand: ndarray
    v: ndarray  # reference position of query position 0, gaps undone from the end of the alignment
    stop: ndarray  # reference position behind the alignment
    query_stop: ndarray
    chain_start: ndarray  # span of the chain on the oriented read; 0, 0 for rescue windows
    chain_stop: ndarray
    score: ndarray
    status: ndarray


class Limits(NamedTuple):
    """Outer distances of a proper pair."""

    low: int
    high: int


def view_reads(reads: ReadBatch) -> ReadView:
    return ReadView(
        reads.read_offsets, reads.bases, reads.qualities, reads.names, reads.name_offsets, reads.segment
    )  # fmt: skip


def view_reference(reference: Reference) -> ReferenceView:
    return ReferenceView(reference.packed, reference.contig_offsets)


def view_chains(chains: Chains) -> ChainView:
    return ChainView(
        chains.chain_offsets, chains.reference_start, chains.reference_stop, chains.query_start, chains.query_stop,
        chains.strand, chains.score,
    )  # fmt: skip


def view_places(candidates: Candidates, scores: Scores) -> PlaceView:
    return PlaceView(
        candidates.candidate_offsets, candidates.strand, scores.reference_stop - scores.query_stop,
        scores.reference_stop, scores.query_stop, candidates.query_start, candidates.query_stop, scores.score,
        scores.status,
    )  # fmt: skip


def limits_of(sizes: InsertSizes) -> Limits:
    return Limits(sizes.low, sizes.high)
