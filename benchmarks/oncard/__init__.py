"""What benchmarks/gpu.py measures on a card: `ceilings` of the card itself, `engines` (kernels on simulated pairs) and
`commands` (whole runs). `timing` holds the clocks: CUDA events around launches, and how busy NVML says the card is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

Figure = tuple[str, float, str]  # subject, value, unit
Figures = Iterator[Figure]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured; `TINY` is for the emulated card, whose figures mean nothing."""

    copied: int = 1 << 28  # bytes
    threads: int = 1 << 20  # of the issue kernels
    rounds: int = 4096
    cells: int = 40_000_000_000  # of a batch of pairs, about
    reference: int = 0  # bases of a random one; 0: chromosome 20 if it is available, else 10 million
    read_pairs: int = 1_000_000
    limits: tuple[str, ...] = ("256M", "512M", "1G", "2G", "4G", "8G")  # of VRAM
    repeats: int = 5


TINY = Sizes(
    copied=1 << 16, threads=512, rounds=2, cells=2_000_000, repeats=1,
    reference=20_000, read_pairs=300, limits=("512M",),
)  # fmt: skip
