"""Bases good enough to spell haplotypes and insertions."""

import numpy as np
from numpy import ndarray

from readwarp.rules.bases import UNKNOWN

MIN_QUALITY = 10  # least Phred of usable bases


def hide_poor(bases: ndarray, qualities: ndarray) -> ndarray:
    """Return a read's bases (uint8), UNKNOWN where quality is low."""
    return np.where(qualities < MIN_QUALITY, np.uint8(UNKNOWN), bases)
