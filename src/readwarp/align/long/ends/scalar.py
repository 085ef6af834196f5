"""What both sides of ends share."""

from typing import Annotated, NamedTuple

from numpy import ndarray

MAX_ROWS = 1 << 13  # a read with more bases and no anchor is clipped there
FROM_E, FROM_F, E_OPENS, F_OPENS = 1, 2, 4, 8  # bits of a cell's direction
UNREACHED = -(1 << 29)


class Corners(NamedTuple):
    """Where ends begin, and which way they go."""

    query: Annotated[ndarray, "int64 [ends]"]  # first base, in the oriented bases
    query_length: Annotated[ndarray, "int64 [ends]"]  # to the end of the read
    reference: Annotated[ndarray, "int64 [ends]"]  # first base
    reference_length: Annotated[ndarray, "int64 [ends]"]  # to the end of the contig
    step: Annotated[ndarray, "int8 [ends]"]  # 1 or -1

    def __len__(self) -> int:
        return self.query.size


class Ended(NamedTuple):
    """The best alignments from the corners on."""

    score: Annotated[ndarray, "int32 [ends]"]  # without bonus
    on_query: Annotated[ndarray, "int64 [ends]"]  # bases that are aligned
    on_reference: Annotated[ndarray, "int64 [ends]"]
    run_offsets: Annotated[ndarray, "int64 [ends + 1] of runs"]
    runs: Annotated[ndarray, "uint32 [runs]"]  # BAM coding, in ascending order of the reference
