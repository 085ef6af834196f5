"""What a base counts for, and how an event moves; for both sides."""

from readwarp.call.pileup import MAX_SHIFT
from readwarp.device.jit import scalar

DELETED = 4  # row of Pileup.counts


@scalar
def is_usable(base, quality, min_base_quality):
    return base < 4 and quality >= min_base_quality and quality > 0


@scalar
def rotated(index, shift, length):
    """Index in an insertion as the read shows it of base `index` after it moved `shift` bases to the left."""
    return (index - shift) % length


@scalar
def moved_left(reference, start, bases, position, length, query):
    """(position, shift) of an event that moves left while the base before it equals its last base."""
    anchor, shift = position - start, 0
    while shift < MAX_SHIFT and anchor > 0:
        last = 4
        if length > 0:
            last = bases[query + rotated(length - 1, shift, length)]
        elif anchor - length < reference.size:
            last = reference[anchor - length]
        if reference[anchor] > 3 or reference[anchor] != last:
            break
        anchor, shift = anchor - 1, shift + 1
    return anchor + start, shift
