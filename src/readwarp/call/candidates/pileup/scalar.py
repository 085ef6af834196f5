"""Decide which bases and events count, and shift events; shared by CPU and CUDA."""

from readwarp.call.candidates.pileup import MAX_INDEL, MAX_SHIFT
from readwarp.call.reads.usable import HIDDEN
from readwarp.compiler.jit import scalar
from readwarp.rules.bases import OUTSIDE

DELETED = 4  # row of Pileup.counts


@scalar
def is_usable(base, quality, min_base_quality):
    return base < 4 and quality >= min_base_quality and quality > HIDDEN


@scalar
def is_event(length, quality):
    """Return whether an indel counts after an aligned base of that quality."""
    return length <= MAX_INDEL and quality > HIDDEN


@scalar
def rotate(index, shift, length):
    """Return the index, in the insertion as read, of base `index` after a shift of `shift` bases to the left."""
    return (index - shift) % length


@scalar
def move_left(reference, start, bases, position, length, query):
    """Return (position, shift) of an event shifted left while the base before it equals its last base.

    `reference` begins at `start`; `length` is negative for a deletion, whose last base may lie beyond the reference.
    The first base of a contig is the last anchor.
    """
    anchor, shift = position - start, 0
    while shift < MAX_SHIFT and anchor > 0 and reference[anchor - 1] != OUTSIDE:
        last = 4
        if length > 0:
            last = bases[query + rotate(length - 1, shift, length)]
        elif anchor - length < reference.size:
            last = reference[anchor - length]
        if reference[anchor] > 3 or reference[anchor] != last:
            break
        anchor, shift = anchor - 1, shift + 1
    return anchor + start, shift
