"""PairHMM on CPU lanes."""

from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.groups import fill_tables, sum_sorted
from readwarp.call.pairhmm.pairs import PROBABILITY, Sums, by_logarithms, in_turn, items_of, solve
from readwarp.call.pairhmm.scalar import COLUMNS, FLOOR_BITS, SCALE_BITS
from readwarp.device.simd import lanes

SYMBOLS: dict[Any, Any] = {np.float32: np.int32, np.float64: np.int64}


def log_likelihoods(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract. May be called from several threads at once."""

    items = items_of(reads, haplotypes, haplotype_offsets)

    def engine(read: ndarray, haplotype: ndarray, is_narrow: ndarray) -> Sums:
        once = partial(sums_of, reads, haplotypes, haplotype_offsets)
        return in_turn(once, read, haplotype, is_narrow, items.lengths[read] * items.sizes[haplotype])

    return solve(items, pair_read, pair_haplotype, engine, by_logarithms(reads, haplotypes, haplotype_offsets))


def sums_of(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, read: ndarray, haplotype: ndarray, dtype: Any
) -> ndarray:
    """Sums of M + X over the last row of pairs that are sorted by lengths, in the scale of that type."""
    lengths, bytes_each = np.diff(reads.offsets), np.dtype(dtype).itemsize
    chosen = np.flatnonzero(np.bincount(read, minlength=len(reads)))
    table_offsets = np.zeros(len(reads), np.int64)
    table_offsets[chosen] = np.cumsum(lengths[chosen] + 1) - lengths[chosen] + 2
    tables = np.empty(int((lengths[chosen] + 1).sum() + 2) * COLUMNS, dtype)
    rows = (reads.bases, reads.qualities, reads.gap_open, reads.gap_extend, reads.offsets)
    fill_tables(rows, chosen, PROBABILITY, 2.0 ** FLOOR_BITS[bytes_each], table_offsets, tables)
    sums = np.empty(read.size, dtype)
    sum_sorted(
        reads.bases, reads.offsets[read], lengths[read], tables, table_offsets[read],
        haplotypes, haplotype_offsets[haplotype], np.diff(haplotype_offsets)[haplotype],
        2.0 ** SCALE_BITS[bytes_each], np.empty(lanes(dtype), SYMBOLS[dtype]), sums,
    )  # fmt: skip
    return sums
