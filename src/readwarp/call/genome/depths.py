"""Find where a window is too shallow to know its bases."""

import numpy as np
from numpy import ndarray

from readwarp.call.places.strips import Strip
from readwarp.call.records.found import NO_RUNS


def find_shallow(counts: ndarray, is_inside: ndarray, start: int, least: int) -> ndarray:
    """Find runs of positions inside with fewer than `least` reads: int64 [runs, 2], start and stop.

    counts: of Pileup, for the positions from `start` on. is_inside: bool [positions].
    """
    is_shallow = (counts.sum(axis=(1, 2)) < least) & is_inside
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_shallow.view(np.int8), [0]))))
    return np.asarray(edges.reshape(-1, 2) + start)


def on_contig(runs: ndarray, contig: int) -> ndarray:
    """Put the contig in front of the runs: int64 [runs, 3]."""
    return np.column_stack((np.full(len(runs), contig), runs))


def split_runs(runs: ndarray, strip: Strip) -> ndarray:
    """Move runs from the axis of a strip to its contigs, see `on_contig`."""
    parts = [NO_RUNS]
    for stretch, origin in strip.called:
        own = np.clip(runs - origin, stretch.start, stretch.stop)
        parts.append(on_contig(own[own[:, 0] < own[:, 1]], stretch.contig))
    return np.concatenate(parts)
