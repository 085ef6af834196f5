"""Combine the consensus of one or both strands into a read, and choose the reads that are written."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_QUALITY, ConsensusParameters
from readwarp.molecules.agree import PILES
from readwarp.molecules.columns import Columns, depth_of
from readwarp.molecules.model import LOWEST
from readwarp.molecules.reads import NO_CALL
from readwarp.ragged import empty, offsets_of


class Strand(NamedTuple):
    """Contribution of a strand to a consensus read; zeros where it has no reads."""

    stack: Annotated[ndarray, "int64 [piles]"]  # -1: none
    most: Annotated[ndarray, "int64 [piles]"]  # reads at the deepest column
    fewest: Annotated[ndarray, "int64 [piles]"]
    error: Annotated[ndarray, "float64 [piles]"]  # share of its reads' bases that differ from its consensus


class Consensus(NamedTuple):
    """Consensus read of each pile; a pile without reads has no bases."""

    offsets: Annotated[ndarray, "int64 [piles + 1] of bases"]
    bases: Annotated[ndarray, "uint8 [bases]"]
    qualities: Annotated[ndarray, "uint8 [bases]"]
    most: Annotated[ndarray, "int64 [piles]"]
    fewest: Annotated[ndarray, "int64 [piles]"]
    error: Annotated[ndarray, "float64 [piles]"]
    no_calls: Annotated[ndarray, "int64 [piles]"]  # number of N
    strands: tuple[Strand, Strand]

    def __len__(self) -> int:
        return self.offsets.size - 1


class Chosen(NamedTuple):
    """Piles whose reads are written, and counts of unused input reads, by reason."""

    is_written: Annotated[ndarray, "bool [piles]"]
    left_out: dict[str, int]


def combine(columns: Columns, parameters: ConsensusParameters) -> Consensus:
    piles = (columns.offsets.size - 1) // 2
    lengths, stacks = np.empty(piles, np.int64), np.empty((2, piles), np.int64)
    choose_strands(columns, lengths, stacks)
    first, second = (empty(Strand, {}, stack=stack) for stack in stacks)
    consensus = empty(Consensus, {}, offsets=offsets_of(lengths), strands=(first, second))
    limits = parameters.max_base_error_rate, parameters.strand_agreement, parameters.min_consensus_base_quality
    combine_strands(columns, *limits, consensus)
    return consensus


def choose(consensus: Consensus, sizes: ndarray, parameters: ConsensusParameters) -> Chosen:
    """Choose the piles. sizes: reads of each stack (int64 [2 * piles])."""
    has_read = np.diff(consensus.offsets) > 0
    reads = sizes.reshape(-1, 2).sum(axis=1)
    deep = has_read & enough(consensus, parameters) if parameters.duplex else has_read
    both = together(deep)
    filtered = together(both & passes(consensus, parameters))
    reasons = {"reads_too_few": ~deep, "reads_of_orphans": deep & ~both, "reads_filtered": both & ~filtered}
    return Chosen(filtered, {name: int(reads[rows].sum()) for name, rows in reasons.items()})


def enough(consensus: Consensus, parameters: ConsensusParameters) -> ndarray:
    """Return whether the strands have as many reads as --min-reads requires (bool [piles])."""
    one, other = (strand.most for strand in consensus.strands)
    total, larger, smaller = parameters.limits
    is_enough: ndarray = (one + other >= total) & (np.maximum(one, other) >= larger)
    is_enough &= np.minimum(one, other) >= smaller
    return is_enough


def passes(consensus: Consensus, parameters: ConsensusParameters) -> ndarray:
    """Apply the filters of whole reads (bool [piles])."""
    share = consensus.no_calls / np.maximum(1, np.diff(consensus.offsets))
    is_fine: ndarray = (consensus.error <= parameters.max_read_error_rate) & (share <= parameters.max_no_calls)
    return is_fine


def together(has_read: ndarray) -> ndarray:
    """Keep only piles whose mates have a read too (bool [piles])."""
    piles = has_read.reshape(-1, PILES).copy()
    piles[:, 1:] &= piles[:, 1:].all(axis=1, keepdims=True)
    return piles.ravel()


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
def combine_strands(columns, max_error, must_agree, lowest, out):
    """Write the read of each pile to `out` (Consensus), with N for bases that the limits do not allow."""
    first, second = out.strands
    for p in range(out.offsets.size - 1):
        start, length = out.offsets[p], out.offsets[p + 1] - out.offsets[p]
        one, other = first.stack[p], second.stack[p]
        summarise(columns, one, length, p, first)
        summarise(columns, other, length, p, second)
        most, fewest = 0, 1 << 30 if length else 0
        total = wrong = no_calls = 0
        for i in range(length):
            column = columns.offsets[one] + i
            raw = base = np.int64(columns.bases[column])
            quality, differ = int(columns.qualities[column]), False
            depth, errors = depth_of(columns.counts, column), columns.errors[column]
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
            most, fewest = max(most, depth), min(fewest, depth)
            total, wrong = total + depth, wrong + errors
            no_calls += is_masked or base == NO_CALL
        out.most[p], out.fewest[p] = most, fewest
        out.no_calls[p] = no_calls
        out.error[p] = wrong / total if total else 0.0


@scalar
def summarise(columns, stack, length, p, out):
    """Summarise depths and errors of a strand's first columns in row p of `out` (Strand)."""
    most = total = wrong = 0
    fewest = 1 << 30
    if stack >= 0:
        for column in range(columns.offsets[stack], columns.offsets[stack] + length):
            depth = depth_of(columns.counts, column)
            most, fewest = max(most, depth), min(fewest, depth)
            total, wrong = total + depth, wrong + columns.errors[column]
    out.most[p], out.fewest[p] = most, fewest if length and stack >= 0 else 0
    out.error[p] = wrong / total if total else 0.0
