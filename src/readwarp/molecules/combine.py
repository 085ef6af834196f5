"""Combine the consensus of one or both strands into a read, and choose the reads that are written."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import ConsensusParameters
from readwarp.molecules import combine_kernels as kernels
from readwarp.molecules.agree import PILES
from readwarp.molecules.columns import Columns
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
    kernels.choose_strands(columns, lengths, stacks)
    first, second = (empty(Strand, {}, stack=stack) for stack in stacks)
    consensus = empty(Consensus, {}, offsets=offsets_of(lengths), strands=(first, second))
    limits = parameters.max_base_error_rate, parameters.strand_agreement, parameters.min_consensus_base_quality
    kernels.combine(columns, *limits, consensus)
    return consensus


def choose(consensus: Consensus, sizes: ndarray, parameters: ConsensusParameters) -> Chosen:
    """Choose the piles. sizes: reads of each stack (int64 [2 * piles])."""
    has_read = np.diff(consensus.offsets) > 0
    reads = sizes.reshape(-1, 2).sum(axis=1)
    deep = has_read & enough(consensus, parameters) if parameters.duplex else has_read
    both = together(deep)
    filtered = together(both & passes(consensus, parameters))
    reasons = {
        "reads_too_few": ~deep,
        "reads_of_orphans": deep & ~both,
        "reads_filtered": both & ~filtered,
    }
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
