"""Scaling of limits on fractions of reads with ploidy (host only)."""

import numpy as np
from numpy import ndarray

COPIES = 2  # ploidy up to which such limits hold unscaled
BEYOND_ALL = 1e12


def scale_shares(ploidy: ndarray) -> ndarray:
    """Return the factors for limits on fractions of reads, float64: 1 up to COPIES, COPIES / ploidy beyond.

    An allele on one copy in `ploidy` has so many fewer reads. Without any copy, no fraction is enough.
    """
    scale: ndarray = np.where(ploidy > 0, COPIES / np.maximum(COPIES, ploidy), BEYOND_ALL)
    return scale
