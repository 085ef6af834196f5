"""CIGARs with = and X instead of M."""

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.pairwise.pairs import Pairs, Traces
from readwarp.rules.cigar import EQUAL, MATCH, UNEQUAL, run_of


def split_matches(pairs: Pairs, traces: Traces) -> tuple[ndarray, ndarray]:
    """Return (CIGARs with = and X, their offsets)."""
    lengths, operations = traces.cigar >> 4, traces.cigar & 15
    out = np.empty(traces.cigar.size + int(lengths[operations == MATCH].sum()), np.uint32)
    offsets = np.zeros(len(pairs) + 1, np.int64)
    split_all(pairs, traces, out, offsets)
    return out[: offsets[-1]].copy(), offsets


@kernel
def split_all(pairs, traces, out, offsets):
    for pair in range(offsets.size - 1):
        offsets[pair + 1] = offsets[pair] + split_pair(pairs, traces, pair, out[offsets[pair] :])


@scalar
def split_pair(pairs, traces, pair, out):
    """Write the runs of a pair to `out`, unless that is empty; return their number."""
    i = pairs.target_starts[pair] + traces.target_start[pair]
    j = pairs.query_starts[pair] + traces.query_start[pair]
    number, last = 0, np.int64(-1)
    for k in range(traces.cigar_offsets[pair], traces.cigar_offsets[pair + 1]):
        operation, length, on_target, on_query = run_of(traces.cigar[k])
        is_match = operation == MATCH
        for step in range(length if is_match else 1):
            kind, size = operation, np.uint32(1 if is_match else length)
            if is_match:
                kind = np.int64(EQUAL if pairs.queries[j + step] == pairs.targets[i + step] else UNEQUAL)
            if kind != last or not is_match:
                number, last = number + 1, kind
                if out.size > 0:
                    out[number - 1] = np.uint32(kind)
            if out.size > 0:
                out[number - 1] += np.uint32(size << 4)
        i, j = i + on_target, j + on_query
    return number
