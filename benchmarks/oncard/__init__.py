"""What benchmarks/gpu.py measures on a card: `ceilings` of the card itself, `engines` (kernels on made-up pairs) and
`commands` (whole runs). `timing` holds the clocks: CUDA events around launches, and how busy NVML says the card is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

Figure = tuple[str, float, str]  # subject, value, unit
Figures = Iterator[Figure]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured; `TINY` is for the simulator, where figures mean nothing."""

    copied: int = 1 << 28  # bytes
    threads: int = 1 << 20  # of the issue kernels
    rounds: int = 4096
    cells: int = 40_000_000_000  # of a batch of pairs, about
    scale: int = 1  # lengths are divided by it
    read_pairs: int = 1_000_000
    repeats: int = 5


TINY = Sizes(copied=1 << 12, threads=4, rounds=2, cells=600, scale=16, read_pairs=2, repeats=1)
