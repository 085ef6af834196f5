"""Types of the pairwise engine: sequences, scoring schemes, ends of the best alignments, alignments."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray


class Costs(NamedTuple):
    """Affine-gap scores, all as magnitudes: a gap of n bases costs gap_open + n * gap_extend.

    A mismatch with N costs less: `scalar.gain_of_bases`.
    """

    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    bonus: int = 0  # of an aligned pair at either end of the query, in local mode


class Scheme(NamedTuple):
    """A scoring scheme: costs, mode, and an optional matrix."""

    costs: Costs
    mode: int  # scalar.LOCAL, GLOBAL or SEMIGLOBAL
    # Scores by query code * ALPHABET + target code, replacing match and mismatch, which are then their extremes.
    matrix: Annotated[ndarray, "int32 [letter pairs]"] = np.empty(0, np.int32)


class Pairs(NamedTuple):
    """Sequences to align, the i-th query with the i-th target. Pairs may share bytes. Codes are 0 to 125."""

    queries: Annotated[ndarray, "uint8 [query bases]"]
    query_starts: Annotated[ndarray, "int64 [pairs]"]
    query_lengths: Annotated[ndarray, "int64 [pairs]"]
    targets: Annotated[ndarray, "uint8 [target bases]"]
    target_starts: Annotated[ndarray, "int64 [pairs]"]
    target_lengths: Annotated[ndarray, "int64 [pairs]"]

    def __len__(self) -> int:
        return self.query_starts.size

    @property
    def cells(self) -> int:
        """Cells of all tables."""
        return int((self.query_lengths * self.target_lengths).sum())


class Ends(NamedTuple):
    """Best score of each pair, and the end of its first best alignment (0, 0 if no local score is above 0)."""

    score: Annotated[ndarray, "int32 [pairs]"]  # bonuses included
    query_stop: Annotated[ndarray, "int32 [pairs]"]
    target_stop: Annotated[ndarray, "int32 [pairs]"]


class Traces(NamedTuple):
    """Alignments of pairs. A CIGAR covers the aligned span only."""

    score: Annotated[ndarray, "int32 [pairs]"]  # score of the CIGAR, without bonuses
    query_start: Annotated[ndarray, "int32 [pairs]"]
    target_start: Annotated[ndarray, "int32 [pairs]"]
    edit_distance: Annotated[ndarray, "int32 [pairs]"]
    cigar: Annotated[ndarray, "uint32 [operations]"]  # BAM coding, M I D
    cigar_offsets: Annotated[ndarray, "int64 [pairs + 1] of operations"]


class Tasks(NamedTuple):
    """Pairs to trace, the ends of their alignments, and the band that holds each path."""

    pairs: Pairs
    ends: Ends  # scores without the bonus for the query's end
    # How far a path can stray from the diagonal it ends on, by deletions and by insertions: `scalar.longest_gaps`.
    strays: Annotated[ndarray, "int64 [pairs, 2]"]


class Walks(NamedTuple):
    """Results of walks back from the ends. A pair's runs are together, first run first; pairs are in any order."""

    query_start: Annotated[ndarray, "int32 [pairs]"]
    target_start: Annotated[ndarray, "int32 [pairs]"]
    edit_distance: Annotated[ndarray, "int32 [pairs]"]
    left: Annotated[ndarray, "int32 [pairs]"]  # score left: the bonus if the query's first base is aligned, else 0
    runs: Annotated[ndarray, "int32 [pairs]"]
    first_run: Annotated[ndarray, "int64 [pairs]"]
