"""Repeats of the reference, and the reads across them."""

import numpy as np

from readwarp.call.confidence import MOST_UNIT, REACH
from readwarp.call.confidence.scalar import log_indel_error
from readwarp.call.sites import MAX_TRACT
from readwarp.device.jit import kernel
from readwarp.rules.cigar import INSERTION, SOFT_CLIP, is_match

NOWHERE = -(1 << 30)  # before all reads


def find_repeats(reference: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and last base that a read must cover to speak for the reference at p, and the Phred of an indel error.

    int32 [stop - start] each, for p from `start` to `stop` - 1. Positions count from the first base of `reference`, and
    what must be covered ends with it. NOWHERE where the repeat is longer than MAX_TRACT.
    """
    low = np.arange(start, stop, dtype=np.int32)
    high = low + np.int32(1)
    phred = np.full(stop - start, round(-10.0 * log_indel_error(1, 1, 1)), np.int32)
    mark_repeats(reference, MOST_UNIT, start, low, high, phred)
    first = np.where(low == NOWHERE, low, np.maximum(low - REACH, 0))
    return first.astype(np.int32), np.minimum(high + REACH, reference.size - 1).astype(np.int32), phred


@kernel
def mark_repeats(reference, most_unit, start, low, high, phred):
    for unit in range(1, most_unit + 1):
        first = 0  # of the stretch whose bases equal those one unit before
        for i in range(unit, reference.size + 1):
            if i < reference.size and reference[i] == reference[i - unit] and reference[i] < 4:
                continue
            if i - first >= 2 * unit:
                tract = i - first
                error = np.int32(round(-10.0 * log_indel_error(unit, unit, tract)))
                begin = first if tract <= MAX_TRACT else NOWHERE
                for p in range(max(first - 1, start), min(i, start + low.size)):
                    low[p - start] = min(low[p - start], begin)
                    high[p - start] = max(high[p - start], i - 1)
                    phred[p - start] = min(phred[p - start], error)
            first = i - unit + 1


@kernel
def count_spanning(position, cigar, cigar_offsets, qualities, read_offsets, start, low, high, spanning):
    """Add each read to `spanning` (int32 [w]) where bases without a gap cover [low, high], and its own base counts.

    `low`, `high` (int32 [w]) and the index count from `start`.
    """
    for read in range(position.size):
        p, q = position[read] - start, read_offsets[read]
        first, i, end = p, cigar_offsets[read], cigar_offsets[read + 1]
        while i < end:
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            if not is_match(operation) and length:
                if operation in (INSERTION, SOFT_CLIP):
                    q += length
                elif operation < SOFT_CLIP:
                    p += length
                i += 1
                continue
            first, from_base = p, q
            while i < end and (is_match(cigar[i] & 15) or cigar[i] < 16):
                p, q = p + np.int64(cigar[i] >> 4), q + np.int64(cigar[i] >> 4)
                i += 1
            a, b = max(first, 0), min(p, low.size)
            if a < b:
                add_spanning(
                    low[a:b], high[a:b], qualities[from_base + a - first : from_base + b - first],
                    np.int32(first), np.int32(p), spanning[a:b],
                )  # fmt: skip


@kernel
def add_spanning(low, high, qualities, first, stop, spanning):
    for i in range(spanning.size):
        spanning[i] += np.int32(low[i] >= first) & np.int32(high[i] < stop) & np.int32(qualities[i] > 0)
