"""Places of reads on the reference, as several steps see them.

v is the reference position of query position 0, gaps undone.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import Candidates, Scores
from readwarp.device.jit import scalar
from readwarp.index.reference import Reference


class Genome(NamedTuple):
    """The arrays of an `index.Reference`, for kernels."""

    packed: Annotated[ndarray, "uint8 [packed bases]"]
    contig_offsets: Annotated[ndarray, "int64 [contigs + 1]"]

    @classmethod
    def of(cls, reference: Reference) -> "Genome":
        return cls(reference.packed, reference.contig_offsets)


class Places(NamedTuple):
    """Scored candidates, grouped by read."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of places"]
    strand: Annotated[ndarray, "uint8 [places]"]
    v: Annotated[ndarray, "int64 [places]"]  # gaps undone from the end
    stop: Annotated[ndarray, "int64 [places]"]  # reference position after the alignment
    query_start: Annotated[ndarray, "int32 [places]"]  # of the aligned part of the oriented read, about
    query_stop: Annotated[ndarray, "int32 [places]"]
    score: Annotated[ndarray, "int32 [places]"]
    status: Annotated[ndarray, "uint8 [places]"]


def places_of(candidates: Candidates, scores: Scores, match: int) -> Places:
    """An alignment is taken to be as long as its score requires, or to reach back to the start of its chain."""
    start = scores.query_stop - scores.score // np.int32(match)
    chained = np.where(candidates.query_stop > 0, candidates.query_start, start)  # windows for mates have no chain
    return Places(
        candidates.candidate_offsets,
        candidates.strand,
        v=scores.reference_stop - scores.query_stop,
        stop=scores.reference_stop,
        query_start=np.maximum(0, np.minimum(start, chained)),
        query_stop=scores.query_stop,
        score=scores.score,
        status=scores.status,
    )


@scalar
def contig_of(contig_offsets, position):
    """The contig that holds a reference position (binary search)."""
    low, high = 0, contig_offsets.size - 2
    while low < high:
        middle = (low + high + 1) >> 1
        if contig_offsets[middle] <= position:
            low = middle
        else:
            high = middle - 1
    return low


@scalar
def outer_distance(strand_a, v_a, length_a, v_b, length_b):
    """Outer distance of two mates on opposite strands: negative or short when they point away from each other."""
    if strand_a == 0:
        return v_b + length_b - v_a
    return v_a + length_a - v_b


@scalar
def share_half(start_a, stop_a, start_b, stop_b):
    """Whether two spans of a read share at least half of the shorter one."""
    return 2 * (min(stop_a, stop_b) - max(start_a, start_b)) >= min(stop_a - start_a, stop_b - start_b)
