"""The recurrence in logarithms, for the rare pairs whose probability not even float64 holds (below about 1e-570)."""

import math

import numpy as np

from readwarp.call.pairhmm.scalar import MIN_OPEN, PROBABILITY, UNKNOWN, emissions
from readwarp.device.jit import kernel


@kernel
def _log(value):
    return math.log(value) if value > 0 else -math.inf


@kernel
def _sum(a, b):
    """log(exp(a) + exp(b))"""
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high)) if low > -math.inf else high


@kernel
def log_probabilities(reads, haplotypes, haplotype_offsets, pair_read, pair_haplotype):
    """log10 P of pairs of reads and haplotypes with at least one base each."""
    bases, qualities, gap_open, gap_extend, offsets = reads
    out = np.empty(pair_read.size, np.float64)
    for pair in range(pair_read.size):
        low = haplotype_offsets[pair_haplotype[pair]]
        size = haplotype_offsets[pair_haplotype[pair] + 1] - low
        M, X, Y = np.full(size + 1, -math.inf), np.full(size + 1, -math.inf), np.full(size + 1, -math.log(size))
        open_before = stay_before = straight = -math.inf
        close = 0.0
        for i in range(offsets[pair_read[pair]], offsets[pair_read[pair] + 1]):
            emission = emissions(PROBABILITY[qualities[i]], qualities[i], bases[i])
            opening, extending = PROBABILITY[max(gap_open[i], MIN_OPEN)], PROBABILITY[gap_extend[i]]
            open_here, stay_here = math.log(opening), math.log(extending)
            M_diagonal, gap_diagonal = M[0], _sum(X[0], Y[0])
            M[0] = X[0] = Y[0] = M_left = Y_left = -math.inf
            for j in range(1, size + 1):
                symbol = haplotypes[low + j - 1]
                kind = 2 if symbol >= UNKNOWN else 0 if symbol == bases[i] else 1
                M_above, X_above, gap_above = M[j], X[j], _sum(X[j], Y[j])
                M[j] = _log(emission[kind]) + _sum(M_diagonal + straight, gap_diagonal + close)
                X[j] = _sum(M_above + open_before, X_above + stay_before)
                Y[j] = _sum(M_left + open_here, Y_left + stay_here)
                M_diagonal, gap_diagonal, M_left, Y_left = M_above, gap_above, M[j], Y[j]
            open_before, stay_before = open_here, stay_here
            straight, close = _log(1.0 - 2.0 * opening), _log(1.0 - extending)
        total = -math.inf
        for j in range(1, size + 1):
            total = _sum(total, _sum(M[j], X[j]))
        out[pair] = total / math.log(10.0)
    return out
