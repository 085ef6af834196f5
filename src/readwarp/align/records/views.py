"""What the kernels of the records step read: traced places and the output rows made of them."""

from typing import NamedTuple

from numpy import ndarray

from readwarp.align.records.choose import Choices
from readwarp.batches import Extensions


class Traces(NamedTuple):
    """Chosen candidates and their traces, grouped by read; e rows."""

    offsets: ndarray  # int64 [n + 1]
    role: ndarray
    strand: ndarray
    mapping_quality: ndarray
    full_score: ndarray  # end bonus included
    second_score: ndarray  # likewise, of the next best place
    proper: ndarray  # [n]
    score: ndarray
    query_start: ndarray
    query_stop: ndarray
    start: ndarray
    stop: ndarray
    edit_distance: ndarray
    operations: ndarray
    operation_offsets: ndarray
    status: ndarray


class Rows(NamedTuple):
    """Output rows: r rows, n reads."""

    offsets: ndarray  # int64 [n + 1], rows of a read
    read: ndarray  # int32 [r]
    trace: ndarray  # int64 [r], row in Traces, -1 unmapped
    contig: ndarray  # int32 [r]
    position: ndarray  # int64 [r]
    mapping_quality: ndarray  # uint8 [r]


def view_traces(choices: Choices, extensions: Extensions) -> Traces:
    return Traces(
        choices.choice_offsets, choices.role, choices.strand, choices.mapping_quality, choices.score,
        choices.second_score, choices.proper, extensions.score, extensions.query_start, extensions.query_stop,
        extensions.reference_start, extensions.reference_stop, extensions.edit_distance, extensions.cigar,
        extensions.cigar_offsets, extensions.status,
    )  # fmt: skip
