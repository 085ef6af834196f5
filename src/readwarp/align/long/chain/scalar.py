"""The rule of links between anchors of long reads, for CPU and GPU."""

from typing import NamedTuple

from readwarp.config import LongChainParameters
from readwarp.device.jit import scalar

# An anchor is linked to one of the LOOKBACK before it, or of the DENSE_LOOKBACK within NEAR bases of the reference.
LOOKBACK, DENSE_LOOKBACK, NEAR = 64, 1024, 256
STEEP = 64  # bases of a gap that cost as much as in an alignment; the others cost an eighth
NOT_LINKED = -(1 << 30)


class Limits(NamedTuple):
    """See `config.LongChainParameters`."""

    k: int
    max_gap: int
    max_step: int


def limits_of(k: int, parameters: LongChainParameters) -> Limits:
    return Limits(k, parameters.max_gap, parameters.max_step)


@scalar
def gap_cost(gap):
    """Of a change of diagonal by `gap` bases."""
    return 0 if gap == 0 else 5 + min(gap, STEEP) + (max(gap - STEEP, 0) >> 3)


@scalar
def link(on_query, on_reference, limits):
    """What an anchor adds to the chain of one so many bases before it: bases newly covered less the cost of the gap.

    NOT_LINKED where they cannot be linked.
    """
    k, max_gap, max_step = limits
    gap, step = abs(on_reference - on_query), min(on_query, on_reference)
    if step <= 0 or step > max_step or gap > max_gap:
        return NOT_LINKED
    return min(k, step) - gap_cost(gap)
