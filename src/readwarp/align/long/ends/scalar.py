"""Definitions that CPU and CUDA share for ends."""

from typing import Annotated, NamedTuple

from numpy import ndarray

MAX_ROWS = 1 << 13  # a read with more bases beyond its last anchor is clipped there
FROM_E, FROM_F = 1, 2  # direction bits of a cell: how it is reached, ...
E_OPENS, F_OPENS = 4, 8  # ... and whether gaps open there
UNREACHED = -(1 << 29)


class Corners(NamedTuple):
    """Corners where ends begin, and their directions."""

    query: Annotated[ndarray, "int64 [ends]"]  # first base, in the oriented bases
    query_length: Annotated[ndarray, "int64 [ends]"]  # to the end of the read
    reference: Annotated[ndarray, "int64 [ends]"]  # first base
    reference_length: Annotated[ndarray, "int64 [ends]"]  # to the end of the contig
    step: Annotated[ndarray, "int8 [ends]"]  # 1 or -1

    def __len__(self) -> int:
        return self.query.size


class Ended(NamedTuple):
    """Best alignments from the corners on."""

    score: Annotated[ndarray, "int32 [ends]"]  # without the bonus
    on_query: Annotated[ndarray, "int64 [ends]"]  # aligned bases
    on_reference: Annotated[ndarray, "int64 [ends]"]
    run_offsets: Annotated[ndarray, "int64 [ends + 1] of runs"]
    runs: Annotated[ndarray, "uint32 [runs]"]  # BAM coding, in ascending reference order
