"""Some of the sites (host only)."""

import numpy as np

from readwarp.batches import Sites


def within(sites: Sites, start: int, stop: int) -> np.ndarray:
    """bool [s]: position as written in VCF lies in [start, stop)."""
    position = sites.begin - sites.is_indel
    return (position >= start) & (position < stop)
