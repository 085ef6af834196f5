"""What travels through the pairwise engine: sequences to align, ends of the best alignments, the alignments."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.ragged import offsets_of, ranges

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


def some_of(pairs: Pairs, ends: Ends, rows: ndarray) -> tuple[Pairs, Ends]:
    """These rows; the sequences stay as they are."""
    queries = pairs.queries, pairs.query_starts[rows], pairs.query_lengths[rows]
    targets = pairs.targets, pairs.target_starts[rows], pairs.target_lengths[rows]
    return Pairs(*queries, *targets), Ends(*(column[rows] for column in arrays(ends)))


def merged(rows: tuple[ndarray, ...], parts: tuple[Traces, ...]) -> Traces:
    """Traces of all pairs, of which each part has those of its rows."""
    order = np.argsort(np.concatenate(rows))
    columns = (np.concatenate([arrays(part)[k] for part in parts])[order] for k in range(4))
    score, query_start, target_start, edits = columns
    offsets = offsets_of(np.concatenate([np.diff(part.cigar_offsets) for part in parts]))
    cigar = np.concatenate([part.cigar for part in parts])[ranges(offsets, order)]
    return Traces(score, query_start, target_start, edits, cigar, offsets_of(np.diff(offsets)[order]))


def arrays(value: Any) -> tuple[ndarray, ...]:
    """The arrays of one of these types (or of those in `batches`), as kernels take them."""
    return tuple(getattr(value, field.name) for field in fields(value))
