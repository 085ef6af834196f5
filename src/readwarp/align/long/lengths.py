"""Tell long reads from short ones."""

import numpy as np
from numpy import ndarray

from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.rows import is_on_card
from readwarp.formats.common.reads import ReadBatch, Segment


def are_long(reads: ReadBatch, parameters: AlignParameters) -> ndarray:
    """Find long reads: bool [reads], single ones of `parameters.long.min_length` and mates too long for short reads.

    Those parsed on a card are short.
    """
    if is_on_card((reads.segment,)):
        return np.zeros(len(reads), bool)
    is_single = reads.segment == Segment.UNPAIRED
    least = np.where(is_single, parameters.long.min_length, MAX_READ_LENGTH + 1)
    return np.asarray(np.diff(reads.read_offsets) >= least)
