"""CIGARs with = and X instead of M: a thread per pair, two passes."""

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_launch import threads_for
from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import current
from readwarp.pairwise.matches import split_pair
from readwarp.pairwise.pairs import Pairs, Traces
from readwarp.ragged import offsets_of


def split_matches(pairs: Pairs, traces: Traces) -> tuple[ndarray, ndarray]:
    """See matches.split_matches. Sequences may be on either side; results are on the host."""
    number = len(pairs)
    if not number:
        return traces.cigar, traces.cigar_offsets
    with current().frame() as workspace:
        pairs, traces = workspace.on_card(pairs), workspace.on_card(traces)
        runs, layout = workspace.empty(number, np.int64), threads_for(number, workspace)
        split_runs[layout](pairs, traces, runs, workspace.empty(0, np.uint32))
        offsets = offsets_of(workspace.download(runs)[0])
        out = workspace.empty(int(offsets[-1]), np.uint32)
        split_runs[layout](pairs, traces, workspace.upload(offsets), out)
        return workspace.download(out)[0], offsets


@cuda_kernel
def split_runs(pairs, traces, runs, out):
    """Count each pair's runs, or, if `out` has room, write them from runs[pair] on."""
    pair = cuda.grid(1)
    if pair >= pairs.query_starts.size:
        return
    if out.size > 0:
        split_pair(pairs, traces, pair, out[runs[pair] :])
    else:
        runs[pair] = split_pair(pairs, traces, pair, out)
