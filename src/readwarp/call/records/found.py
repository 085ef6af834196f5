"""Hold the results of a window."""

from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from readwarp.batches import Bands, Calls

NO_RUNS = np.zeros((0, 3), np.int64)


@dataclass(frozen=True, slots=True)
class WindowCalls:
    """Results of a window."""

    calls: Calls  # with positions in the window
    bands: list[Bands] | None  # positions without a call, of each contig, for a gVCF
    shallow: ndarray = field(default_factory=lambda: NO_RUNS)  # by contig, where a consensus genome is unknown
