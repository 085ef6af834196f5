"""Which reads are aligned as long ones."""

import numpy as np
from numpy import ndarray

from readwarp.batches import ReadBatch, Segment
from readwarp.config import MAX_READ_LENGTH, AlignParameters


def are_long(reads: ReadBatch, parameters: AlignParameters) -> ndarray:
    """bool [reads]: single reads of at least `parameters.long.min_length` bases; mates that short ones cannot be."""
    is_single = reads.segment == Segment.UNPAIRED
    is_long: ndarray = np.diff(reads.read_offsets) >= np.where(
        is_single, parameters.long.min_length, MAX_READ_LENGTH + 1
    )
    return is_long
