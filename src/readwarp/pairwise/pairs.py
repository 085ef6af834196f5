"""What travels through the pairwise engine: sequences to align, ends of the best alignments, the alignments."""

from dataclasses import dataclass, fields
from typing import Any

from numpy import ndarray

Costs = tuple[int, int, int, int, int]  # match, mismatch, gap open, gap extension, bonus per query end (local mode)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sequences to align, i-th query against i-th target; pairs may share bytes. Codes are 0 to 125."""

    queries: ndarray  # uint8
    query_starts: ndarray  # int64 [p]
    query_lengths: ndarray  # int64 [p]
    targets: ndarray  # uint8
    target_starts: ndarray  # int64 [p]
    target_lengths: ndarray  # int64 [p]

    def __len__(self) -> int:
        return self.query_starts.size


@dataclass(frozen=True, slots=True)
class Ends:
    """Best score of each pair, and where its first best alignment ends (0, 0 when no local score is above 0)."""

    score: ndarray  # int32 [p], bonuses included
    query_stop: ndarray  # int32 [p]
    target_stop: ndarray  # int32 [p]


@dataclass(frozen=True, slots=True)
class Traces:
    """The alignments that end there. A CIGAR covers the aligned span only."""

    score: ndarray  # int32 [p], what the CIGAR re-scores to: without bonuses
    query_start: ndarray  # int32 [p]
    target_start: ndarray  # int32 [p]
    edit_distance: ndarray  # int32 [p]
    cigar: ndarray  # uint32, BAM coding, M I D
    cigar_offsets: ndarray  # int64 [p + 1]


def arrays(value: Any) -> tuple[ndarray, ...]:
    """The arrays of one of these types (or of those in `batches`), as kernels take them."""
    return tuple(getattr(value, field.name) for field in fields(value))
