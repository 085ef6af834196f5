"""Chains laid on their oriented reads."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import query_of, reference_of
from readwarp.align.batches import LongChains
from readwarp.align.extend.cpu import Oriented
from readwarp.compiler.jit import kernel


class LaidAlignments(NamedTuple):
    strand: Annotated[ndarray, "int64 [chains]"]
    start: Annotated[ndarray, "int64 [chains]"]  # start of the read in the oriented bases
    query_start: Annotated[ndarray, "int64 [chains]"]  # first anchor, on the oriented read
    query_stop: Annotated[ndarray, "int64 [chains]"]
    query_length: Annotated[ndarray, "int64 [chains]"]  # read length
    reference_start: Annotated[ndarray, "int64 [chains]"]
    reference_stop: Annotated[ndarray, "int64 [chains]"]


def lay(reads: Oriented, chains: LongChains, read: ndarray, k: int) -> LaidAlignments:
    """Lay the chains on their reads. read (int64 [chains]): read of each chain."""
    anchors, offsets = chains.anchors, chains.anchor_offsets
    first, last = anchors[offsets[:-1]], anchors[offsets[1:] - 1]
    strand = (first >> np.uint64(63)).astype(np.int64)
    columns = np.empty((4, first.size), np.int64)
    place_anchors(first, last, k, columns)
    query_start, query_stop, reference_start, reference_stop = columns
    length = reads.offsets[read + 1] - reads.offsets[read]
    start = reads.offsets[read] + strand * reads.offsets[-1]
    return LaidAlignments(strand, start, query_start, query_stop, length, reference_start, reference_stop)


@kernel
def place_anchors(first, last, k, columns):
    for chain in range(first.size):
        columns[0, chain], columns[1, chain] = query_of(first[chain]), query_of(last[chain]) + k
        columns[2, chain], columns[3, chain] = reference_of(first[chain]), reference_of(last[chain]) + k
