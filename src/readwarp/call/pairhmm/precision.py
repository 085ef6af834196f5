"""The two precisions in which sums are computed."""

from typing import Any, NamedTuple

import numpy as np

MARGIN_BITS = 17  # a sum is good where it is above floor * cells * 2 ** bits


class Precision(NamedTuple):
    number: Any  # the dtype of sums
    symbol: Any  # integers of the same width, in which CPU lanes compare bases
    scale_bits: int  # the first row holds 2 ** bits / haplotype length in each column
    floor_bits: int  # 2 ** bits is added to each M: nothing becomes subnormal, which would be slow
    codes: int  # bases of a haplotype that the card knows: 4, or 5 with the unknown one
    rows: tuple[int, ...]  # that a thread of the card can hold

    @property
    def scale(self) -> float:
        return 2.0**self.scale_bits

    @property
    def floor(self) -> float:
        return 2.0**self.floor_bits

    @property
    def min_per_cell(self) -> float:
        """What a sum must reach for each of its cells."""
        return 2.0 ** (self.floor_bits + MARGIN_BITS)

    @property
    def bytes_each(self) -> int:
        return np.dtype(self.number).itemsize


FLOAT32 = Precision(np.float32, np.int32, scale_bits=110, floor_bits=-126, codes=4, rows=(8, 12, 16, 20))
FLOAT64 = Precision(np.float64, np.int64, scale_bits=900, floor_bits=-1022, codes=5, rows=(8, 10))
