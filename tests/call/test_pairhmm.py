"""PairHMM against a float64 oracle in plain Python, and what must not matter: neighbours, order, lanes, device."""

import math

import numpy as np

from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.cpu import log_likelihoods


def oracle(bases, qualities, gap_open, gap_extend, haplotype) -> float:
    """log10 P by the recurrence of the contract, with a factor taken out of every row."""
    size = len(haplotype)
    M, X, Y = np.zeros(size + 1), np.zeros(size + 1), np.full(size + 1, 1.0 / size)
    logarithm, straight, close, begin, stay = 0.0, 0.0, 1.0, 0.0, 0.0
    for base, quality, opening, extending in zip(bases, qualities, gap_open, gap_extend, strict=True):
        error, open_here, stay_here = (10.0 ** (-0.1 * float(q)) for q in (quality, max(opening, 4), extending))
        if base > 3 or quality < 2:
            emission = np.ones(size)
        else:
            emission = np.where(haplotype > 3, 0.25, np.where(haplotype == base, 1 - error, error / 3))
        above = M[:-1] * straight + (X[:-1] + Y[:-1]) * close
        X = M * begin + X * stay
        M = np.concatenate(([0.0], emission * above))
        Y = np.zeros(size + 1)
        for j in range(1, size + 1):
            Y[j] = M[j - 1] * open_here + Y[j - 1] * stay_here
        straight, close, begin, stay = 1 - 2 * open_here, 1 - stay_here, open_here, stay_here
        largest = max(M.max(), X.max(), Y.max())
        M, X, Y, logarithm = M / largest, X / largest, Y / largest, logarithm + math.log10(largest)
    return logarithm + math.log10((M + X).sum())


def rows_of(reads) -> ReadRows:
    """Reads as (bases, qualities, gap_open, gap_extend) each."""
    columns = [np.concatenate([np.asarray(read[k], np.uint8) for read in reads]) for k in range(4)]
    return ReadRows(*columns, np.cumsum([0, *(len(read[0]) for read in reads)]).astype(np.int64))


def random_read(rng, length, haplotype, *, matching=True, unknown=0.0):
    """A read from the haplotype (with errors by quality, and sometimes an indel), or one without any likeness."""
    bases = rng.integers(0, 4, length)
    if matching and len(haplotype) >= length:
        start = rng.integers(0, len(haplotype) - length + 1)
        bases = haplotype[start : start + length].copy()
        if length > 20 and rng.random() < 0.5:
            cut, size = rng.integers(5, length - 10), rng.integers(1, 8)
            bases = np.concatenate((bases[:cut], bases[cut + size :], rng.integers(0, 4, size)))
    qualities = rng.integers(2, 61, length)
    wrong = rng.random(length) < 10.0 ** (-0.1 * qualities)
    bases = np.where(wrong, rng.integers(0, 4, length), bases)
    bases[rng.random(length) < unknown] = 4
    return bases, qualities, rng.integers(20, 50, length), rng.integers(3, 20, length)


def all_pairs(reads, haplotypes, function=log_likelihoods):
    offsets = np.cumsum([0, *map(len, haplotypes)]).astype(np.int64)
    read, haplotype = (x.ravel().astype(np.int32) for x in np.indices((len(reads), len(haplotypes))))
    bases = np.concatenate(haplotypes).astype(np.uint8)
    values, status = function(rows_of(reads), bases, offsets, read, haplotype)
    assert not status.any()
    return values.reshape(len(reads), len(haplotypes))


def test_equals_the_oracle():
    rng = np.random.default_rng(5)
    haplotypes = [rng.integers(0, 4, size) for size in (1, 2, 17, 100, 180, 250, 1000)]
    haplotypes[3][40:44] = 4
    lengths = (1, 2, 3, 4, 5, 16, 60, 99, 150, 300, 500)
    reads = [random_read(rng, n, h, matching=n % 2 == 0, unknown=0.05) for n in lengths for h in haplotypes[2:]]
    values = all_pairs(reads, haplotypes)
    expected = [[oracle(*read, haplotype) for haplotype in haplotypes] for read in reads]
    assert np.abs(values - expected).max() < 1e-4
