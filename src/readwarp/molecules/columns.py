"""Call the consensus of stacks, column by column: the hot loop."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import ConsensusParameters
from readwarp.molecules.agree import Stacks
from readwarp.molecules.model import LOWEST, Model, call_base
from readwarp.molecules.reads import NO_CALL, MoleculeReads
from readwarp.ragged import empty, offsets_of


class Columns(NamedTuple):
    """Consensus of each stack; a stack without enough reads has no columns."""

    offsets: Annotated[ndarray, "int64 [stacks + 1] of columns"]
    bases: Annotated[ndarray, "uint8 [columns]"]
    qualities: Annotated[ndarray, "uint8 [columns]"]
    counts: Annotated[ndarray, "int32 [columns, 4]"]  # reads with each base
    errors: Annotated[ndarray, "int32 [columns]"]  # reads with another base than the consensus


def call_stacks(reads: MoleculeReads, stacks: Stacks, model: Model, parameters: ConsensusParameters) -> Columns:
    """Call the stacks. Without --duplex, a base needs --min-reads reads."""
    needed = 1 if parameters.duplex else parameters.limits[0]
    lengths = np.empty(stacks.sizes.size, np.int64)
    measure(reads.usable, stacks, needed, lengths)
    columns = empty(Columns, {}, offsets=offsets_of(lengths))
    lowest = LOWEST if parameters.duplex else parameters.min_consensus_base_quality
    call_columns(reads, stacks, model, needed, lowest, columns)
    return columns


@kernel
def measure(usable, stacks, needed, lengths):
    """Count the columns of each stack that have as many reads as needed, into lengths (int64 [stacks])."""
    for s in range(lengths.size):
        members = stacks.reads[stacks.offsets[s] : stacks.offsets[s + 1]]
        lengths[s] = 0
        if members.size >= needed:
            sizes = np.empty(members.size, np.int64)
            for i in range(members.size):
                sizes[i] = usable[members[i]]
            sizes.sort()
            lengths[s] = sizes[members.size - needed]


@scalar
def depth_of(counts, column):
    return counts[column, 0] + counts[column, 1] + counts[column, 2] + counts[column, 3]


@kernel
def call_columns(reads, stacks, model, needed, lowest, out):
    """Call the consensus of each stack (see the formulas of `readwarp.molecules`) into `out` (Columns).

    A base with too few reads is N of quality 0; one of quality below `lowest`, N of quality 2. A single read's
    consensus has its base, whose quality allows for errors before or after the UMI, whichever is likelier.
    """
    longest = 0
    for s in range(out.offsets.size - 1):
        longest = max(longest, out.offsets[s + 1] - out.offsets[s])
    scores = np.empty((longest, 4), np.int64)
    for s in range(out.offsets.size - 1):
        column, length = out.offsets[s], out.offsets[s + 1] - out.offsets[s]
        counts = out.counts[column : column + length]
        counts[:] = 0
        scores[:length] = 0
        members = stacks.reads[stacks.offsets[s] : stacks.offsets[s + 1]]
        for member in members:
            first, size = reads.read_offsets[member], min(length, reads.usable[member])
            bases, qualities = reads.bases[first : first + size], reads.qualities[first : first + size]
            for i in range(size):
                read_base = np.uint64(bases[i])  # unsigned: no test for a negative index
                if read_base < NO_CALL:
                    scores[i, read_base] += model.weights[np.uint64(qualities[i])]
                    counts[i, read_base] += 1
        for i in range(length):
            depth = depth_of(counts, i)
            if members.size == 1:
                read = reads.read_offsets[members[0]] + i
                base, quality = np.int64(reads.bases[read]), np.int64(model.single[reads.qualities[read]])
            else:
                base, quality = call_base(model, scores[i, 0], scores[i, 1], scores[i, 2], scores[i, 3])
            out.errors[column + i] = depth if base == NO_CALL else depth - counts[i, base]
            if members.size > 1 and depth < needed:
                base, quality = np.int64(NO_CALL), np.int64(0)
            elif base == NO_CALL or quality < lowest:
                base, quality = np.int64(NO_CALL), np.int64(LOWEST)
            out.bases[column + i], out.qualities[column + i] = base, quality
