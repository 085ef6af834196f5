"""Anchors: each is one uint64, so that a plain sort orders them by strand, reference and query.

bit 63 strand, bits 24-62 reference start, bits 0-23 query start on the oriented read
"""

import numpy as np

from readwarp.compiler.jit import scalar

QUERY_BITS = 24  # so only reads of up to 16 million bases have anchors
REFERENCE_BITS = 63 - QUERY_BITS


@scalar
def anchor_of(position, entry_strand, query, seed_strand, length, k):
    """Make the anchor of an index entry (position and strand of its k-mer) and a syncmer of the read at `query`."""
    strand = np.uint64(entry_strand ^ seed_strand)
    on_strand = np.uint64(query if strand == 0 else length - k - query)
    return strand << np.uint64(63) | np.uint64(position) << np.uint64(QUERY_BITS) | on_strand


@scalar
def strand_of(anchor):
    return np.int64(anchor >> np.uint64(63))


@scalar
def reference_of(anchor):
    return np.int64((anchor >> np.uint64(QUERY_BITS)) & np.uint64((1 << REFERENCE_BITS) - 1))


@scalar
def query_of(anchor):
    return np.int64(anchor & np.uint64((1 << QUERY_BITS) - 1))
