"""The haplotype of each long read."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

SURE = 1.0  # log10 odds from which a read counts as being of that haplotype alone


class Sides(NamedTuple):
    """Haplotypes of a window's reads, and the odds of each read in the window."""

    odds: Annotated[ndarray, "float64 [reads]"]  # see Phasing
    phase_set: Annotated[ndarray, "int64 [reads]"]
    own_offsets: Annotated[ndarray, "int64 [reads + 1] of sites"]  # phased sites of each read, by position
    own_position: Annotated[ndarray, "int64 [sites]"]
    own_odds: Annotated[ndarray, "float64 [sites]"]


def split_sides(odds: ndarray) -> list[ndarray]:
    """Return the rows of reads of the first haplotype, of the second, and of either. odds: log10, of the first."""
    is_sure = np.abs(odds) >= SURE
    return [np.flatnonzero(chosen) for chosen in (is_sure & (odds > 0), is_sure & (odds < 0), ~is_sure)]
