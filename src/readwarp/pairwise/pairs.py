"""What travels through the pairwise engine: sequences to align, ends of the best alignments, the alignments."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.ragged import concatenate, take

Costs = tuple[int, int, int, int, int]  # match, mismatch, gap open, gap extension, bonus per query end (local mode)


class Pairs(NamedTuple):
    """Sequences to align, i-th query against i-th target; pairs may share bytes. Codes are 0 to 125."""

    queries: Annotated[ndarray, "uint8 [query bases]"]
    query_starts: Annotated[ndarray, "int64 [pairs]"]
    query_lengths: Annotated[ndarray, "int64 [pairs]"]
    targets: Annotated[ndarray, "uint8 [target bases]"]
    target_starts: Annotated[ndarray, "int64 [pairs]"]
    target_lengths: Annotated[ndarray, "int64 [pairs]"]

    def __len__(self) -> int:
        return self.query_starts.size


class Ends(NamedTuple):
    """Best score of each pair, and where its first best alignment ends (0, 0 when no local score is above 0)."""

    score: Annotated[ndarray, "int32 [pairs]"]  # bonuses included
    query_stop: Annotated[ndarray, "int32 [pairs]"]
    target_stop: Annotated[ndarray, "int32 [pairs]"]


class Traces(NamedTuple):
    """The alignments that end there. A CIGAR covers the aligned span only."""

    score: Annotated[ndarray, "int32 [pairs]"]  # what the CIGAR re-scores to: without bonuses
    query_start: Annotated[ndarray, "int32 [pairs]"]
    target_start: Annotated[ndarray, "int32 [pairs]"]
    edit_distance: Annotated[ndarray, "int32 [pairs]"]
    cigar: Annotated[ndarray, "uint32 [operations]"]  # BAM coding, M I D
    cigar_offsets: Annotated[ndarray, "int64 [pairs + 1] of operations"]


def some_of(pairs: Pairs, ends: Ends, rows: ndarray) -> tuple[Pairs, Ends]:
    """These rows; the sequences stay as they are."""
    return take(pairs, "pairs", rows), take(ends, "pairs", rows)


def merged(rows: tuple[ndarray, ...], parts: tuple[Traces, ...]) -> Traces:
    """Traces of all pairs, of which each part has those of its rows."""
    return take(concatenate(parts, "pairs"), "pairs", np.argsort(np.concatenate(rows)))
