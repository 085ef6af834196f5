"""The rule of links between anchors of long reads, for CPU and GPU."""

from typing import NamedTuple

from readwarp.compiler.jit import scalar
from readwarp.config import LongChainParameters

# An anchor is linked to one of the LOOKBACK before it, or of the DENSE_LOOKBACK within NEAR reference bases.
LOOKBACK = 64
DENSE_LOOKBACK, NEAR = 1024, 256
STEEP = 64  # gap bases that cost as much as in an alignment; further ones cost an eighth
NOT_LINKED = -(1 << 30)


class LongChainLimits(NamedTuple):
    """Limits of chaining: see `config.LongChainParameters`."""

    k: int
    max_gap: int
    max_step: int


def limits_of(k: int, parameters: LongChainParameters) -> LongChainLimits:
    return LongChainLimits(k, parameters.max_gap, parameters.max_step)


@scalar
def gap_cost(gap):
    """Return the cost of shifting the diagonal by `gap` bases."""
    return 0 if gap == 0 else 5 + min(gap, STEEP) + (max(gap - STEEP, 0) >> 3)


@scalar
def link(on_query, on_reference, limits):
    """Return what an anchor adds to an earlier one's chain at this distance: newly covered bases less the gap cost.

    NOT_LINKED where they cannot be linked.
    """
    k, max_gap, max_step = limits
    gap, step = abs(on_reference - on_query), min(on_query, on_reference)
    if step <= 0 or step > max_step or gap > max_gap:
        return NOT_LINKED
    return min(k, step) - gap_cost(gap)
