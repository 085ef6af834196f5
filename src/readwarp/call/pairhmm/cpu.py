"""PairHMM on CPU lanes."""

from functools import partial

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.groups import Tables, fill_tables, sum_sorted
from readwarp.call.pairhmm.logarithms import log_probabilities
from readwarp.call.pairhmm.pairs import Work, items_of, solve, sum_in_turn
from readwarp.call.pairhmm.precision import Precision
from readwarp.call.pairhmm.scalar import COLUMNS
from readwarp.device.simd import lanes
from readwarp.pairwise.pairs import Pairs


def log_likelihoods(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, pair_read: ndarray, pair_haplotype: ndarray
) -> tuple[ndarray, ndarray]:
    """See the step's contract. May be called from several threads at once."""
    sequences = reads, haplotypes, haplotype_offsets
    engine = partial(sum_in_turn, partial(sum_pairs, *sequences))
    return solve(items_of(*sequences), pair_read, pair_haplotype, engine, partial(log_probabilities, *sequences))


def sum_pairs(
    reads: ReadRows, haplotypes: ndarray, haplotype_offsets: ndarray, work: Work, precision: Precision
) -> ndarray:
    """Sums of M + X over the last row of pairs that are sorted by lengths, in the scale of that precision."""
    lengths = np.diff(reads.offsets)
    used = np.flatnonzero(np.bincount(work.read, minlength=len(reads)))
    starts = np.zeros(len(reads), np.int64)
    starts[used] = np.cumsum(lengths[used] + 1) - lengths[used] + 2
    tables = Tables(np.empty(int((lengths[used] + 1).sum() + 2) * COLUMNS, precision.number), starts)
    fill_tables(reads, used, precision.floor, tables)
    pairs = Pairs(
        queries=reads.bases,
        query_starts=reads.offsets[work.read],
        query_lengths=lengths[work.read],
        targets=haplotypes,
        target_starts=haplotype_offsets[work.haplotype],
        target_lengths=np.diff(haplotype_offsets)[work.haplotype],
    )
    sums, symbols = np.empty(len(pairs), precision.number), np.empty(lanes(precision.number), precision.symbol)
    sum_sorted(pairs, work.read, tables, precision.scale, symbols, sums)
    return sums
