"""Combine the consensus of strands into reads in compiled loops."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_QUALITY
from readwarp.molecules.model import LOWEST
from readwarp.molecules.read_kernels import NO_CALL


@scalar
def depth_of(counts, column):
    return counts[column, 0] + counts[column, 1] + counts[column, 2] + counts[column, 3]


@scalar
def has_depth(columns, stack, length):
    """Return whether a strand has a called base among its first columns."""
    first, most = columns.offsets[stack], 0
    for i in range(min(length, columns.offsets[stack + 1] - first)):
        most = max(most, depth_of(columns.counts, first + i))
    return most > 0


@kernel
def choose_strands(columns, lengths, stacks):
    """Choose the stacks that make each pile's read, and its length: lengths (int64 [piles]), stacks (int64 [2, piles]).

    A read of both strands is as long as the shorter one. A strand without a base within that length is dropped, and a
    single strand takes the first place.
    """
    for p in range(lengths.size):
        one = columns.offsets[2 * p + 1] - columns.offsets[2 * p]
        other = columns.offsets[2 * p + 2] - columns.offsets[2 * p + 1]
        shorter = min(one, other) if one and other else max(one, other)
        has_one, has_other = has_depth(columns, 2 * p, shorter), has_depth(columns, 2 * p + 1, shorter)
        stacks[0, p] = 2 * p if has_one else 2 * p + 1 if has_other else -1
        stacks[1, p] = 2 * p + 1 if has_one and has_other else -1
        lengths[p] = shorter if has_one and has_other else one if has_one else other if has_other else 0


@scalar
def join(base, quality, mate, its):
    """Join the bases of two strands; return (base before it is masked, base, quality)."""
    if base == mate:
        raw, joined = base, min(MAX_QUALITY, quality + its)
    elif quality == its:
        raw, joined = base, LOWEST
    else:
        raw, joined = base if quality > its else mate, abs(quality - its)
    if base == NO_CALL or mate == NO_CALL or joined <= LOWEST:
        return raw, NO_CALL, LOWEST
    return raw, raw, joined


@kernel
def combine(columns, max_error, must_agree, lowest, out):
    """Write the read of each pile to `out` (Consensus), with N for bases that the limits do not allow."""
    first, second = out.strands
    for p in range(out.offsets.size - 1):
        start, length = out.offsets[p], out.offsets[p + 1] - out.offsets[p]
        one, other = first.stack[p], second.stack[p]
        summarise(columns, one, length, p, first)
        summarise(columns, other, length, p, second)
        most, fewest, total, wrong, no_calls = 0, 1 << 30 if length else 0, 0, 0, 0
        for i in range(length):
            column = columns.offsets[one] + i
            raw = base = np.int64(columns.bases[column])
            quality, depth, errors = (
                int(columns.qualities[column]),
                depth_of(columns.counts, column),
                columns.errors[column],
            )
            differ = False
            if other >= 0:
                its = columns.offsets[other] + i
                raw, base, quality = join(base, quality, np.int64(columns.bases[its]), np.int64(columns.qualities[its]))
                own, errors = depth, 0
                depth += depth_of(columns.counts, its)
                if raw != NO_CALL:
                    errors = depth - columns.counts[column, raw] - columns.counts[its, raw]
                both = own > 0 and depth > own
                differ = both and columns.bases[column] != columns.bases[its]
            is_masked = quality < lowest or (must_agree and differ) or errors > max_error * depth
            out.bases[start + i] = NO_CALL if is_masked else base
            out.qualities[start + i] = min(quality, LOWEST) if is_masked else quality
            most, fewest, total, wrong = max(most, depth), min(fewest, depth), total + depth, wrong + errors
            no_calls += is_masked or base == NO_CALL
        out.most[p], out.fewest[p], out.no_calls[p] = most, fewest, no_calls
        out.error[p] = wrong / total if total else 0.0


@scalar
def summarise(columns, stack, length, p, out):
    """Summarise depths and errors of a strand's first columns in row p of `out` (Strand)."""
    most, fewest, total, wrong = 0, 1 << 30, 0, 0
    if stack >= 0:
        for column in range(columns.offsets[stack], columns.offsets[stack] + length):
            depth = depth_of(columns.counts, column)
            most, fewest, total = max(most, depth), min(fewest, depth), total + depth
            wrong += columns.errors[column]
    out.most[p], out.fewest[p] = most, fewest if length and stack >= 0 else 0
    out.error[p] = wrong / total if total else 0.0
