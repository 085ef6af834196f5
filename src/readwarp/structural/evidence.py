"""Types of the evidence of long reads for structural variants, passed between the steps."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.ragged import concatenate, empty

# An event lies within an alignment, with known bases, or between two of a read. PARTIAL: a duplication that begins
# before the first of the two does.
WITHIN, BETWEEN, PARTIAL = 0, 1, 2


class ReadSpans(NamedTuple):
    """Alignments of long reads to one contig; read positions count along the reference's forward strand."""

    start: Annotated[ndarray, "int64 [spans]"]  # 0-based
    stop: Annotated[ndarray, "int64 [spans]"]
    query_start: Annotated[ndarray, "int64 [spans]"]  # bases of the read clipped before it
    query_stop: Annotated[ndarray, "int64 [spans]"]
    clipped: Annotated[ndarray, "int64 [spans]"]  # bases clipped after it
    strand: Annotated[ndarray, "uint8 [spans]"]
    name: Annotated[ndarray, "uint64 [spans]"]  # hash of the read's name: equal for all alignments of a read
    sample: Annotated[ndarray, "uint16 [spans]"]

    def __len__(self) -> int:
        return self.start.size


class StructuralEvents(NamedTuple):
    """Replacements on one contig: a read has its bases [query_start, query_stop) for the reference's [start, stop)."""

    start: Annotated[ndarray, "int64 [events]"]  # 0-based
    stop: Annotated[ndarray, "int64 [events]"]
    query_start: Annotated[ndarray, "int64 [events]"]  # on the whole read, along the reference's forward strand
    query_stop: Annotated[ndarray, "int64 [events]"]
    strand: Annotated[ndarray, "uint8 [events]"]
    name: Annotated[ndarray, "uint64 [events]"]  # hash of the read's name
    sample: Annotated[ndarray, "uint16 [events]"]
    kind: Annotated[ndarray, "uint8 [events]"]  # WITHIN, BETWEEN, PARTIAL
    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4: the read's replacement; none between alignments
    base_offsets: Annotated[ndarray, "int64 [events + 1] of bases"]

    @property
    def length(self) -> ndarray:
        """Return the bases that the read gains (insertion) or lacks (deletion, negative), int64 [events]."""
        return np.asarray(self.query_stop - self.query_start - self.stop + self.start)

    def __len__(self) -> int:
        return self.start.size


class StructuralEvidence(NamedTuple):
    """Spans and events of a window or a whole contig."""

    spans: ReadSpans
    events: StructuralEvents


def join_evidence(parts: list[StructuralEvidence]) -> StructuralEvidence:
    """Join the evidence of windows into that of their contig."""
    if not parts:
        return StructuralEvidence(
            empty(ReadSpans, {"spans": 0}), empty(StructuralEvents, {"events": 0}, base_offsets=np.zeros(1, np.int64))
        )
    return StructuralEvidence(
        concatenate([part.spans for part in parts], "spans"), concatenate([part.events for part in parts], "events")
    )
