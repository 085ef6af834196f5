"""Confidence in the reference's bases from the pileup (host only)."""

import math
from functools import cache
from itertools import product

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Bands, Pileup
from readwarp.call.confidence import GQ_BANDS, UNKNOWN
from readwarp.call.confidence.repeats import count_spanning, find_repeats
from readwarp.call.evidence.scalar import LOG10_3
from readwarp.call.pileup.scalar import DELETED
from readwarp.config import CallParameters
from readwarp.device.jit import kernel

MOST_QUALITY = 93
MAX_GENOTYPE_QUALITY = 99
TEN_LOG10_3 = 10.0 * LOG10_3
BAND_OF = np.append(np.searchsorted(GQ_BANDS, np.arange(MAX_GENOTYPE_QUALITY + 1), side="right") - 1, UNKNOWN)  # by GQ


def reference_bands(
    pileup: Pileup,
    reads: AlignedReads,
    reference: ndarray,
    start: int,
    stop: int,
    covered: ndarray,
    parameters: CallParameters,
    ploidy: ndarray,
) -> Bands:
    """See the step's contract."""
    here = slice(start - pileup.start, stop - pileup.start)
    spanning, phred = weigh_repeats(pileup, reads, reference, start, stop)
    depth, most = np.zeros(stop - start, np.int32), int(ploidy.max(initial=1))
    likelihoods, quality = np.zeros((stop - start, most + 1), np.int32), np.zeros(stop - start, np.int32)
    weigh_positions(
        *(pileup.counts[here], pileup.quality_sums[here], reference[here], ploidy.astype(np.int64)),
        *(spanning, gaps_at(pileup, start, stop), phred, substitution_tables(most), gap_tables(most)),
        *(depth, likelihoods, quality),
    )
    return runs_of(pileup.contig, start, reference[here], ~covered, quality, ploidy, depth, likelihoods)


def weigh_repeats(
    pileup: Pileup, reads: AlignedReads, reference: ndarray, start: int, stop: int
) -> tuple[ndarray, ndarray]:
    """At each position of [start, stop): reads that speak for the reference's length, Phred of an indel error."""
    low, high, phred = find_repeats(reference, start - pileup.start, stop - pileup.start)
    spanning, shift = np.zeros(stop - start, np.int32), np.int32(pileup.start - start)
    count_spanning(
        *(reads.position, reads.cigar, reads.cigar_offsets, reads.qualities, reads.read_offsets),
        *(start, low + shift, high + shift, spanning),
    )
    return spanning, phred


def gaps_at(pileup: Pileup, start: int, stop: int) -> ndarray:
    """Reads with a gap at each position of [start, stop)."""
    gaps = pileup.counts[start - pileup.start : stop - pileup.start, DELETED].sum(axis=1)
    first, last = np.searchsorted(pileup.allele_position, (start, stop))
    np.add.at(gaps, pileup.allele_position[first:last] - start, pileup.allele_counts[first:last].sum(axis=1))
    return gaps


@kernel
def weigh_positions(
    counts, quality_sums, reference, ploidy, spanning, gaps, phred, substitutions, indels, depth, likelihoods, quality
):  # fmt: skip
    """Fill `depth`, `likelihoods` (int32 [w, most copies + 1]) and `quality` (GQ, -1 where nothing is known)."""
    losses = np.empty((2, likelihoods.shape[1]))
    for w in range(reference.size):
        copies, own, other, own_sum, other_sum = ploidy[w], 0, 0, 0, 0
        for base in range(4):
            number = np.int64(counts[w, base, 0]) + counts[w, base, 1]
            total = np.int64(quality_sums[w, base, 0]) + quality_sums[w, base, 1]
            if base == reference[w]:
                own, own_sum = number, total
            else:
                other, other_sum = other + number, other_sum + total
        depth[w] = own + other + counts[w, DELETED, 0] + counts[w, DELETED, 1]
        if depth[w] == 0 or reference[w] > 3:
            quality[w] = UNKNOWN
            continue
        match, gap = substitutions[copies], indels[copies]
        own_mean = min(own_sum // max(own, 1), MOST_QUALITY)
        other_mean = min(other_sum // max(other, 1), MOST_QUALITY)
        none = own * match[0, own_mean] - other_sum - TEN_LOG10_3 * other
        whole = spanning[w] * gap[0, phred[w]] + gaps[w] * gap[copies, phred[w]]
        for k in range(1, copies + 1):
            fits = own * match[k, own_mean] if k < copies else -own_sum - TEN_LOG10_3 * own
            losses[0, k] = none - fits - other * match[copies - k, other_mean]
            losses[1, k] = whole - spanning[w] * gap[k, phred[w]] - gaps[w] * gap[copies - k, phred[w]]
        by_base, by_gap = losses[0, 1], losses[1, 1]
        for k in range(2, copies + 1):
            by_base, by_gap = min(by_base, losses[0, k]), min(by_gap, losses[1, k])
        kind, quality[w] = 1 if by_gap < by_base else 0, MAX_GENOTYPE_QUALITY
        for k in range(1, copies + 1):
            likelihoods[w, k] = round(max(0.0, losses[kind, k]))
            quality[w] = min(quality[w], likelihoods[w, k])


@cache
def substitution_tables(most: int) -> ndarray:
    """[P, k, Q]: 10 log10 P(the reference's base, of quality Q | k of P copies are another allele)."""
    return _tables(most, 1.0 / 3.0)


@cache
def gap_tables(most: int) -> ndarray:
    """[P, k, Q]: 10 log10 P(the reference's length, indel errors of Phred Q | k of P copies are another allele)."""
    return _tables(most, 1.0)


def _tables(most: int, share: float) -> ndarray:
    tables = np.zeros((most + 1, most + 1, MOST_QUALITY + 1))
    for ploidy, k, quality in product(range(1, most + 1), range(most + 1), range(MOST_QUALITY + 1)):
        error = min(0.75, 10.0 ** (-0.1 * quality))
        if k <= ploidy:
            odds = ((ploidy - k) * (1.0 - error) + k * error * share) / ploidy
            tables[ploidy, k, quality] = 10.0 * math.log10(odds)
    return tables


def runs_of(
    contig: int,
    start: int,
    base: ndarray,
    wanted: ndarray,
    quality: ndarray,
    ploidy: ndarray,
    depth: ndarray,
    likelihoods: ndarray,
) -> Bands:
    """Neighbouring positions of one band; arrays by position from `start` on, `likelihoods` [positions, k]."""
    rows = np.flatnonzero(wanted)
    band = BAND_OF[quality]
    is_first = np.ones(rows.size, bool)
    before, after = rows[:-1], rows[1:]
    is_first[1:] = (after - before > 1) | (band[before] != band[after]) | (ploidy[before] != ploidy[after])
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], rows.size)[: first.size] - 1
    of_run = (lambda reduce, x: reduce.reduceat(x[rows], first, axis=0)) if rows.size else (lambda _, x: x[rows])
    return Bands(
        contig=contig,
        start=rows[first] + start,
        stop=rows[last] + start + 1,
        base=base[rows[first]],
        band=band[rows[first]].astype(np.int8),
        ploidy=ploidy[rows[first]].astype(np.int8),
        depth_sum=of_run(np.add, depth.astype(np.int64)),
        min_depth=of_run(np.minimum, depth).astype(np.int32),
        likelihoods=of_run(np.minimum, likelihoods),
    )
