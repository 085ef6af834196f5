"""What the records step writes: traced places, and the records made of them."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.records.choose import Choices
from readwarp.batches import Extensions
from readwarp.device.jit import scalar


class Traced(NamedTuple):
    """Choices with their alignments, grouped by read."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of choices"]
    role: Annotated[ndarray, "uint8 [choices]"]
    strand: Annotated[ndarray, "uint8 [choices]"]
    mapping_quality: Annotated[ndarray, "uint8 [choices]"]
    full_score: Annotated[ndarray, "int32 [choices]"]  # end bonus included
    second_score: Annotated[ndarray, "int32 [choices]"]  # likewise, of the next best place
    proper: Annotated[ndarray, "uint8 [reads]"]
    score: Annotated[ndarray, "int32 [choices]"]
    query_start: Annotated[ndarray, "int32 [choices]"]
    query_stop: Annotated[ndarray, "int32 [choices]"]
    start: Annotated[ndarray, "int64 [choices]"]
    stop: Annotated[ndarray, "int64 [choices]"]
    edit_distance: Annotated[ndarray, "int32 [choices]"]
    cigar: Annotated[ndarray, "uint32 [operations]"]
    cigar_offsets: Annotated[ndarray, "int64 [choices + 1] of operations"]
    status: Annotated[ndarray, "uint8 [choices]"]


class Records(NamedTuple):
    """Records of each read, and where they lie."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of records"]
    read: Annotated[ndarray, "int32 [records]"]
    trace: Annotated[ndarray, "int64 [records]"]  # row in Traced, -1 unmapped
    contig: Annotated[ndarray, "int32 [records]"]
    position: Annotated[ndarray, "int64 [records]"]
    mapping_quality: Annotated[ndarray, "uint8 [records]"]


class Cigars(NamedTuple):
    """Of records, clips included."""

    operations: Annotated[ndarray, "uint32 [operations]"]
    offsets: Annotated[ndarray, "int64 [records + 1] of operations"]


def traced_of(choices: Choices, extensions: Extensions) -> Traced:
    return Traced(
        choices.choice_offsets,
        choices.role,
        choices.strand,
        choices.mapping_quality,
        full_score=choices.score,
        second_score=choices.second_score,
        proper=choices.proper,
        score=extensions.score,
        query_start=extensions.query_start,
        query_stop=extensions.query_stop,
        start=extensions.reference_start,
        stop=extensions.reference_stop,
        edit_distance=extensions.edit_distance,
        cigar=extensions.cigar,
        cigar_offsets=extensions.cigar_offsets,
        status=extensions.status,
    )


@scalar
def base_of(bases, q, strand):
    """The base of a read at a query position; not 0 to 3 where it is none."""
    return np.int64(bases[q]) if strand == 0 else 3 - np.int64(bases[bases.size - 1 - q])


@scalar
def are_equal(base, reference_base):
    return base == reference_base and 0 <= base <= 3
