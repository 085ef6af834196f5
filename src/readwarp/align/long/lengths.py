"""Which reads are aligned as long ones."""

import numpy as np
from numpy import ndarray

from readwarp.batches import ReadBatch, Segment
from readwarp.config import AlignParameters


def are_long(reads: ReadBatch, parameters: AlignParameters) -> ndarray:
    """bool [reads]: single reads of at least `parameters.long.min_length` bases."""
    is_long = np.diff(reads.read_offsets) >= parameters.long.min_length
    return np.asarray(is_long & (reads.segment == Segment.UNPAIRED))
