"""The rules of links between anchors of long reads, for CPU and GPU."""

from readwarp.align.chain.scalar import LinkRules
from readwarp.config import LongChainParameters

# An anchor is linked to one of the LOOKBACK before it, or of the DENSE_LOOKBACK within NEAR reference bases.
LOOKBACK = 64
DENSE_LOOKBACK, NEAR = 1024, 256
STEEP = 64  # gap bases that cost as much as in an alignment


def rules_of(k: int, parameters: LongChainParameters) -> LinkRules:
    return LinkRules(k, parameters.max_gap, parameters.max_step, 5, STEEP, LOOKBACK, DENSE_LOOKBACK, NEAR)
