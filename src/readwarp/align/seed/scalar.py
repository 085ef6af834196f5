"""Rules of the seed step, one place for both sides."""

import numpy as np

from readwarp.device.jit import scalar


@scalar
def anchor_of(position, entry_strand, query, seed_strand, length, k):
    """The anchor of an index entry (position and strand of its k-mer) and a syncmer of the read at `query`."""
    strand = np.uint64(entry_strand ^ seed_strand)
    on_strand = np.uint64(query if strand == 0 else length - k - query)
    return strand << np.uint64(63) | np.uint64(position) << np.uint64(16) | on_strand


@scalar
def next_cap(cap, anchors, max_hits, rescue_hits, max_anchors):
    """The next number of places above which seeds of a read are left out; `cap` itself when it is right.

    It starts at max_hits, goes up by doubling while the read has no anchor, down by halving while it has too many.
    """
    if anchors == 0 and max_hits <= cap < rescue_hits:
        return min(2 * cap, rescue_hits)
    if anchors > max_anchors and cap > 1 and cap <= max_hits:
        return cap // 2
    return cap
