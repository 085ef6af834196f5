"""What the steps find in a window."""

from dataclasses import dataclass, field

from numpy import ndarray

from readwarp.batches import Bands, Calls
from readwarp.call.genome.depths import NO_RUNS


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a window."""

    calls: Calls  # those with positions in the window
    bands: list[Bands] | None  # positions without a call, of each contig, for a gVCF
    shallow: ndarray = field(
        default_factory=lambda: NO_RUNS
    )  # where reads are few, of each contig, for a consensus genome
