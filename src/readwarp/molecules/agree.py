"""Drop the reads of a pile whose indels differ from those of most of its reads."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import ConsensusParameters
from readwarp.formats.common.reads import Segment
from readwarp.molecules import agree_kernels as kernels
from readwarp.molecules.reads import MoleculeReads
from readwarp.ragged import offsets_of, take
from readwarp.rules.hashes import spread

PILES = 3  # piles of a molecule: single reads; A's first mates and B's last; A's last mates and B's first


class Stacks(NamedTuple):
    """The reads of each strand in a pile: stack 2 * pile + strand."""

    reads: Annotated[ndarray, "int64 [members]"]  # rows of Reads, in file order
    offsets: Annotated[ndarray, "int64 [stacks + 1] of members"]

    @property
    def sizes(self) -> ndarray:
        sizes: ndarray = np.diff(self.offsets)
        return sizes


class Stacked(NamedTuple):
    stacks: Stacks
    without_bases: int  # reads with no bases left
    minority: int  # reads whose indels differ from most


def stack_reads(reads: MoleculeReads, pile: ndarray, molecules: int, parameters: ConsensusParameters) -> Stacked:
    """Stack the reads. pile: int64 [reads], -1 for a read that is left out."""
    rows = np.flatnonzero((pile >= 0) & (reads.usable > 0))
    order = rows[np.argsort(pile[rows], kind="stable")]
    offsets = offsets_of(np.bincount(pile[rows], minlength=PILES * molecules))
    is_kept = np.ones(order.size, bool)
    kernels.keep_most_common(reads, order, offsets, is_kept)
    kept = order[is_kept]
    stack = 2 * pile[kept] + reads.strand[kept]
    kept = kept[np.argsort(stack, kind="stable")]
    stacks = Stacks(kept, offsets_of(np.bincount(stack, minlength=2 * PILES * molecules)))
    without = np.count_nonzero((pile >= 0) & (reads.usable == 0))
    if parameters.max_reads is not None:
        stacks = limit_reads(stacks, reads.name_hash, parameters.max_reads)
    return Stacked(stacks, int(without), int(order.size - kept.size))


def limit_reads(stacks: Stacks, name_hash: ndarray, limit: int) -> Stacks:
    """Limit the reads of a stack: those whose names have the lowest hashes stay, so mates stay together."""
    stack = np.repeat(np.arange(stacks.sizes.size), stacks.sizes)
    order = np.lexsort((spread(name_hash[stacks.reads]), stack))
    is_kept = np.empty(order.size, bool)
    is_kept[order] = np.arange(order.size) - stacks.offsets[stack[order]] < limit
    return take(stacks, "members", is_kept)._replace(offsets=offsets_of(np.minimum(stacks.sizes, limit)))


def piles_of(reads: MoleculeReads, has_a: ndarray) -> ndarray:
    """Return the pile of each read (int64 [reads]); has_a: bool [molecules]. Strand B alone takes the place of A."""
    reads.strand[~has_a[reads.molecule]] = 0
    pile: ndarray = PILES * reads.molecule + np.where(
        reads.segment == Segment.UNPAIRED, 0, 1 + ((reads.segment == Segment.LAST) ^ (reads.strand == 1))
    )
    return pile
