"""Drop the reads of a pile whose indels differ from those of most of its reads."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import ConsensusParameters
from readwarp.formats.common.reads import Segment
from readwarp.molecules.reads import MoleculeReads
from readwarp.ragged import offsets_of, take
from readwarp.rules.cigar import EQUAL, HARD_CLIP, MATCH, SOFT_CLIP, UNEQUAL, push_run, run_of
from readwarp.rules.flags import REVERSE, UNMAPPED
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
    keep_most_common(reads, order, offsets, is_kept)
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


@scalar
def is_aligned_or_clipped(operation):
    return operation in (MATCH, EQUAL, UNEQUAL, SOFT_CLIP, HARD_CLIP)


@scalar
def put_shape(reads, i, out):
    """Write the CIGAR of a read's usable bases, from the first base sequenced, with clips as matches, to `out`.

    Returns the number of operations.
    """
    start, stop = reads.cigar_offsets[i], reads.cigar_offsets[i + 1]
    left, number = reads.usable[i], 0
    is_reverse = reads.flag[i] & REVERSE != 0
    if reads.flag[i] & UNMAPPED:
        return 0
    for k in range(stop - start):
        operation, length, _, on_read = run_of(reads.cigar[stop - 1 - k if is_reverse else start + k])
        if left == 0:
            break
        if on_read:
            length = min(length, left)
            left -= length
        if length == 0:
            continue
        kind = np.int64(MATCH) if is_aligned_or_clipped(operation) else operation
        number = push_run(out, 0, number, kind, length)
    return number


@scalar
def is_prefix(one, size, other, other_size):
    """Return whether a shape is a prefix of another; its last operation may be shorter."""
    if size > other_size:
        return False
    for i in range(size):
        is_same = one[i] == other[i] if i < size - 1 else one[i] & 15 == other[i] & 15 and one[i] <= other[i]
        if not is_same:
            return False
    return True


@scalar
def is_smaller(one, size, other, other_size):
    """Return whether a shape sorts before another: by lengths of operations, then their kinds, then their number."""
    for i in range(min(size, other_size)):
        if one[i] != other[i]:
            return one[i] < other[i]
    return size < other_size


@kernel
def keep_most_common(reads, order, offsets, is_kept):
    """Keep the reads of each pile order[offsets[p]:offsets[p + 1]] that have its most common shape, in is_kept (bool).

    Reads are compared from the longest on, ties in file order. A read with a new shape founds a group; one whose shape
    is a prefix of a founder's belongs to that group, perhaps to several. The largest group is kept, on a tie the one
    with the smallest shape.
    """
    longest, widest = 0, 1
    for p in range(offsets.size - 1):
        longest = max(longest, offsets[p + 1] - offsets[p])
    for k in range(order.size):
        widest = max(widest, reads.cigar_offsets[order[k] + 1] - reads.cigar_offsets[order[k]])
    shapes, sizes = np.empty((longest, widest), np.uint32), np.empty(longest, np.int64)
    lengths, founders, members = np.empty((3, longest), np.int64)
    for p in range(offsets.size - 1):
        first, number = offsets[p], offsets[p + 1] - offsets[p]
        has_indels = False
        for k in range(number):
            sizes[k] = put_shape(reads, order[first + k], shapes[k])
            lengths[k] = -reads.usable[order[first + k]]
            has_indels |= sizes[k] != 1 or shapes[k, 0] & 15 != MATCH
        if number < 2 or not has_indels:
            continue
        ranked, groups = np.argsort(lengths[:number], kind="mergesort"), 0
        for r in range(number):
            k, found = ranked[r], False
            for g in range(groups):
                f = ranked[founders[g]]
                if is_prefix(shapes[k], sizes[k], shapes[f], sizes[f]):
                    members[g] += 1
                    found = True
            if not found:
                founders[groups], members[groups] = r, 1
                groups += 1
        best = 0
        for g in range(1, groups):
            f, b = ranked[founders[g]], ranked[founders[best]]
            is_tie = members[g] == members[best]
            if members[g] > members[best] or (is_tie and is_smaller(shapes[f], sizes[f], shapes[b], sizes[b])):
                best = g
        f = ranked[founders[best]]
        for r in range(number):
            k = ranked[r]
            in_group = r >= founders[best] and is_prefix(shapes[k], sizes[k], shapes[f], sizes[f])
            is_kept[first + k] = in_group
