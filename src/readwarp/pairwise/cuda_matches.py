"""CIGARs with = and X in place of M, where the sequences lie on a card: one pair per thread, two passes."""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_launch import threads_for
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import current
from readwarp.ragged import offsets_of


def split_matches(
    queries: Any, query_starts: ndarray, targets: Any, target_starts: ndarray, cigar: ndarray, offsets: ndarray
) -> tuple[ndarray, ndarray]:
    """(CIGARs, their offsets) as host arrays; see `api._split_matches`. Sequences may lie on either side."""
    pairs = query_starts.size
    if not pairs:
        return cigar, offsets
    with current().frame() as workspace:
        given = (queries, query_starts, targets, target_starts, cigar, offsets)
        there = [workspace.upload(x) if isinstance(x, ndarray) else x for x in given]
        runs, layout = workspace.empty(pairs, np.int64), threads_for(pairs, workspace)
        split_runs[layout](*there, runs, runs, workspace.empty(1, np.uint32), False)
        out_offsets = offsets_of(workspace.download(runs)[0])
        out = workspace.empty(int(out_offsets[-1]), np.uint32)
        split_runs[layout](*there, runs, workspace.upload(out_offsets), out, True)
        return workspace.download(out)[0], out_offsets


@cuda_kernel
def split_runs(
    queries, query_starts, targets, target_starts, cigar, offsets, runs, out_offsets, out, is_written
):  # fmt: skip
    """Count each pair's runs, or write them from its offset on."""
    pair = cuda.grid(1)
    if pair >= query_starts.size:
        return
    i, j, number, last = target_starts[pair], query_starts[pair], 0, np.int64(-1)
    begin = out_offsets[pair] if is_written else 0
    for k in range(offsets[pair], offsets[pair + 1]):
        length, taken = np.int64(cigar[k] >> 4), np.int64(cigar[k] & 15)
        for step in range(length if taken == 0 else 1):
            kind, size = taken, np.uint32(length)
            if taken == 0:
                kind, size = np.int64(7 if queries[j + step] == targets[i + step] else 8), np.uint32(1)
            if kind != last or taken != 0:
                number, last = number + 1, kind
                if is_written:
                    out[begin + number - 1] = np.uint32(kind)
            if is_written:
                out[begin + number - 1] += np.uint32(size << 4)
        i += length if taken != 1 else 0
        j += length if taken != 2 else 0
    if not is_written:
        runs[pair] = number
