"""What a base counts for, and how an event moves; for both sides."""

from readwarp.device.jit import scalar

MATCH, INSERTION, DELETION, SKIP, SOFT_CLIP = 0, 1, 2, 3, 4  # BAM operations; 7 = and 8 X are matches too
DELETED = 4  # row of Pileup.counts
OFFSET_BASIS, PRIME = 0xCBF29CE484222325, 0x100000001B3  # FNV-1a


@scalar
def is_match(operation):
    return operation == 0 or operation == 7 or operation == 8


@scalar
def is_usable(base, quality, min_base_quality):
    return base < 4 and quality >= min_base_quality and quality > 0


@scalar
def rotated(index, shift, length):
    """Index in an insertion as the read shows it of base `index` after it moved `shift` bases to the left."""
    return (index - shift) % length
