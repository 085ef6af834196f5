"""Hold the results of a window: calls, blocks of reference, and runs too shallow for a consensus genome."""

from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup
from readwarp.call.places.targets import TargetStretch
from readwarp.formats.variants.calls import Bands, Calls

NO_RUNS = np.zeros((0, 3), np.int64)


def find_shallow(counts: ndarray, is_inside: ndarray, start: int, least: int) -> ndarray:
    """Find runs of positions inside with fewer than `least` reads: int64 [runs, 2], start and stop.

    counts: of Pileup, for the positions from `start` on. is_inside: bool [positions].
    """
    is_shallow = (counts.sum(axis=(1, 2)) < least) & is_inside
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_shallow.view(np.int8), [0]))))
    return np.asarray(edges.reshape(-1, 2) + start)


def shallow_runs(pileup: Pileup | None, window: TargetStretch, least: int) -> ndarray:
    """Find the runs of a window, see `on_contig`. pileup: None without reads."""
    counts = np.zeros((window.stop - window.start, 1, 1), np.int32)
    if pileup is not None:
        counts = pileup.counts[window.start - pileup.start : window.stop - pileup.start]
    return on_contig(find_shallow(counts, window.mask(), window.start, least), window.contig)


def on_contig(runs: ndarray, contig: int) -> ndarray:
    """Put the contig in front of the runs: int64 [runs, 3]."""
    return np.column_stack((np.full(len(runs), contig), runs))


@dataclass(frozen=True, slots=True)
class WindowCalls:
    """Results of a window."""

    calls: Calls  # with positions in the window
    bands: list[Bands] | None  # positions without a call, of each contig, for a gVCF
    shallow: ndarray = field(default_factory=lambda: NO_RUNS)  # by contig, where a consensus genome is unknown
