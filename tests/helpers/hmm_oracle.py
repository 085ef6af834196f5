"""PairHMM in plain Python and float64, and random reads for it."""

import math
from itertools import accumulate

import numpy as np

from readwarp.call.likelihoods.pairhmm import ReadRows


def oracle(bases, qualities, gap_open, gap_extend, haplotype) -> float:
    """log10 P by the recurrence of the contract; a factor is taken out of every row."""
    size = len(haplotype)
    M, X, Y = np.zeros(size + 1), np.zeros(size + 1), np.full(size + 1, 1.0 / size)
    logarithm, straight, close, begin, stay = 0.0, 0.0, 1.0, 0.0, 0.0
    for base, quality, opening, extending in zip(bases, qualities, gap_open, gap_extend, strict=True):
        error, open_here, stay_here = (10.0 ** (-0.1 * float(q)) for q in (quality, max(opening, 4), extending))
        if base > 3 or quality < 2:
            emission = np.ones(size)
        else:
            emission = np.where(haplotype > 3, 0.25, np.where(haplotype == base, 1 - error, error / 3))
        aligned = emission * (M[:-1] * straight + (X[:-1] + Y[:-1]) * close)
        X = M * begin + X * stay
        M = np.concatenate(([0.0], aligned))
        deleted = accumulate((M[:-1] * open_here).tolist(), lambda y, m, e=stay_here: y * e + m)
        Y = np.concatenate(([0.0], list(deleted)))
        straight, close, begin, stay = 1 - 2 * open_here, 1 - stay_here, open_here, stay_here
        largest = max(M.max(), X.max(), Y.max())
        M, X, Y, logarithm = M / largest, X / largest, Y / largest, logarithm + math.log10(largest)
    return logarithm + math.log10((M + X).sum())


def rows_of(reads) -> ReadRows:
    """Reads as (bases, qualities, gap_open, gap_extend) each."""
    columns = [np.concatenate([np.asarray(read[k], np.uint8) for read in reads]) for k in range(4)]
    return ReadRows(*columns, np.cumsum([0, *(len(read[0]) for read in reads)]).astype(np.int64))


def random_read(rng, length, haplotype, matching=True, unknown=0.0, low=2, high=60):
    """A read of the haplotype with errors according to its qualities and perhaps an indel, or an unrelated one."""
    bases = rng.integers(0, 4, length)
    if matching and len(haplotype) >= length:
        start = rng.integers(0, len(haplotype) - length + 1)
        bases = haplotype[start : start + length].copy()
        if length > 20 and rng.random() < 0.5:
            cut, size = rng.integers(5, length - 10), rng.integers(1, 8)
            bases = np.concatenate((bases[:cut], bases[cut + size :], rng.integers(0, 4, size)))[:length]
    qualities = rng.integers(low, high + 1, length)
    bases = np.where(rng.random(length) < 10.0 ** (-0.1 * qualities), rng.integers(0, 4, length), bases)
    bases[rng.random(length) < unknown] = 4
    return bases, qualities, rng.integers(20, 50, length), rng.integers(3, 20, length)


def packed(haplotypes):
    bases = np.concatenate([*haplotypes, np.empty(0, np.uint8)]).astype(np.uint8)
    return bases, np.cumsum([0, *map(len, haplotypes)]).astype(np.int64)


def all_pairs(reads, haplotypes, function):
    """log10 P of every read and haplotype, by log_likelihoods of the given side."""
    return all_with_status(reads, haplotypes, function)[0]


def all_with_status(reads, haplotypes, function):
    """(log10 P, Status) of every read and haplotype."""
    read, haplotype = (x.ravel().astype(np.int32) for x in np.indices((len(reads), len(haplotypes))))
    values, status = function(rows_of(reads), *packed(haplotypes), read, haplotype)
    assert values.dtype == np.float64 and status.dtype == np.uint8 and not np.isnan(values).any()
    shape = len(reads), len(haplotypes)
    return values.reshape(shape), status.reshape(shape)


def a_batch(seed):
    rng = np.random.default_rng(seed)
    haplotypes = [rng.integers(0, 4, rng.integers(20, 90)) for _ in range(6)]
    haplotypes[3][5] = 4
    reads = [random_read(rng, rng.integers(1, 70), haplotypes[rng.integers(0, 6)]) for _ in range(20)]
    reads += [(np.zeros(60, int), np.full(60, 60), np.full(60, 45), np.full(60, 60))]
    return reads, haplotypes
