"""Count the depth of each base of a window; reads of one name count once where they overlap."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from readwarp.ragged import concatenate
from readwarp.report.counting import span_kernels as kernels
from readwarp.report.counting.span_kernels import DepthReads, Spans


def depth_of(start: int, stop: int, parts: Sequence[tuple[DepthReads, Spans]]) -> ndarray:
    """Return the depth of the window (int32 [bases]). parts: at least one, in file order."""
    reads = concatenate([part for part, _ in parts], "reads")
    runs = concatenate([part for _, part in parts], "spans")
    is_shared, steps = np.empty(reads.name.size, bool), np.zeros(stop - start + 1, np.int32)
    kernels.find_shared(reads, np.full(2 << reads.name.size.bit_length(), -1, np.int32), is_shared)
    if kernels.add_unshared(reads, runs, is_shared, start, steps):
        shared = np.repeat(is_shared, reads.runs)
        name = np.repeat(reads.name[is_shared], reads.runs[is_shared])
        kernels.add_runs(Spans(*count_once(name, runs.start[shared], runs.stop[shared])), start, steps)
    kernels.sum_up(steps)
    return steps[:-1]


def count_once(name: ndarray, start: ndarray, stop: ndarray) -> tuple[ndarray, ndarray]:
    """Return start and stop of the runs, less their overlaps with earlier runs of the same name."""
    order = np.lexsort((start, name))
    name, start, stop = name[order], start[order], stop[order]
    is_new = np.append(True, name[1:] != name[:-1])
    shift = np.cumsum(is_new) * (int(stop.max()) + 1)  # restarts a running maximum at each name
    reach = np.maximum.accumulate(stop + shift)
    start[1:] = np.maximum(start[1:], np.where(is_new[1:], start[1:], reach[:-1] - shift[1:]))
    return start, np.maximum(start, stop)
