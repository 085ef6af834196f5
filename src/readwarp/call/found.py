"""Hold the results of a window."""

from dataclasses import dataclass, field

from numpy import ndarray

from readwarp.batches import Bands, Calls
from readwarp.call.genome.depths import NO_RUNS


@dataclass(frozen=True, slots=True)
class WindowCalls:
    """Results of a window."""

    calls: Calls  # with positions in the window
    bands: list[Bands] | None  # positions without a call, of each contig, for a gVCF
    shallow: ndarray = field(
        default_factory=lambda: NO_RUNS
    )  # by contig, where coverage is low, for a consensus genome
