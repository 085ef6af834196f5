"""Ragged arrays: the values of rows one behind the other, and `offsets` (int64, rows + 1) where each row begins."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike


def offsets_of(sizes: ArrayLike) -> ndarray:
    """Sizes of rows -> offsets."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def ranges(offsets: ndarray, rows: ndarray) -> ndarray:
    """All indices of the values of the given rows, one row after the other."""
    sizes = np.diff(offsets)[rows]
    ends = np.cumsum(sizes)
    return np.arange(sizes.sum()) + np.repeat(offsets[rows] - ends + sizes, sizes)


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows that users give or get: arrays of NumPy or of another library, on the host or on a card."""

    values: Any  # [offsets[-1]]
    offsets: Any  # integers [rows + 1], ascending from 0

    def __len__(self) -> int:
        return len(self.offsets) - 1
