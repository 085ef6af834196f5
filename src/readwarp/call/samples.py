"""The reads of one sample among those of several that are called together (host only)."""

from readwarp.batches import AlignedReads
from readwarp.ragged import take


def of_sample(reads: AlignedReads, number: int) -> AlignedReads:
    """The reads of the sample of this number, in file order."""
    return take(reads, "reads", reads.sample == number)
