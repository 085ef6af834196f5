"""How limits on the share of reads follow the ploidy (host only)."""

import numpy as np
from numpy import ndarray

COPIES = 2  # the ploidy up to which such limits hold as they are written
BEYOND_ALL = 1e12


def scale_shares(ploidy: ndarray) -> ndarray:
    """float64: what a limit on the share of the reads is multiplied by, 1 up to COPIES, and COPIES / ploidy beyond.

    The reads of an allele on one copy in `ploidy` are so many fewer. Where there is no copy, no share is enough.
    """
    scale: ndarray = np.where(ploidy > 0, COPIES / np.maximum(COPIES, ploidy), BEYOND_ALL)
    return scale
