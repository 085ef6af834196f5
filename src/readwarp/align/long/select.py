"""Select the chains of long reads to extend.

    select_chains(chains: LongChains, lengths: int64 [reads], k, parameters: LongExtendParameters) -> int64 [selected]

In order of score, a chain is a rival of the first selected one that shares at least half of the shorter read span with
it and has at least half as many anchors there; so an inversion within a chain is not its rival. A rival is selected if
it has at least `min_ratio` of that chain's score, up to `max_rivals` per chain. All other chains cover further parts of
the read, and are selected.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import query_of, strand_of
from readwarp.align.batches import LongChains
from readwarp.align.places import share_half, turned
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import LongExtendParameters
from readwarp.ragged import empty


class ReadParts(NamedTuple):
    """Chains of one read that have no rival before them."""

    chain: Annotated[ndarray, "int64 [parts]"]
    start: Annotated[ndarray, "int64 [parts]"]  # on the read as sequenced
    stop: Annotated[ndarray, "int64 [parts]"]
    rivals: Annotated[ndarray, "int64 [parts]"]


def select_chains(chains: LongChains, lengths: ndarray, k: int, parameters: LongExtendParameters) -> ndarray:
    """Return the selected rows of chains, ascending."""
    most = int(np.diff(chains.chain_offsets).max(initial=0))
    limits = round(1000 * parameters.min_ratio), parameters.max_rivals
    is_selected = np.zeros(chains.score.size, np.bool_)
    select(chains, lengths, k, limits, empty(ReadParts, {"parts": most}), is_selected)
    return np.flatnonzero(is_selected)


@scalar
def first_from(anchors, row, last, query):
    """Find the first of the ascending anchors[row:last] whose query position is at least `query`."""
    while row < last:
        middle = (row + last) >> 1
        if query_of(anchors[middle]) < query:
            row = middle + 1
        else:
            last = middle
    return row


@scalar
def is_rival(chain, other, start, stop, length, chains):
    """Return whether `other` has at least half as many anchors in the span of `chain` on the sequenced read."""
    offsets, anchors = chains.anchor_offsets, chains.anchors
    first, last = offsets[other], offsets[other + 1]
    start, stop = turned(start, stop, length, strand_of(anchors[first]))
    here = first_from(anchors, first, last, stop) - first_from(anchors, first, last, start)
    return 2 * here >= offsets[chain + 1] - offsets[chain]


@kernel
def select(chains, lengths, k, limits, parts, is_selected):
    chain_offsets, anchor_offsets, anchors, score = chains
    (part_chain, part_start, part_stop, rivals), (min_ratio, max_rivals) = parts, limits
    for read in range(lengths.size):
        found, length = 0, lengths[read]
        for chain in range(chain_offsets[read], chain_offsets[read + 1]):
            first, last = anchors[anchor_offsets[chain]], anchors[anchor_offsets[chain + 1] - 1]
            start, stop = turned(query_of(first), query_of(last) + k, length, strand_of(first))
            part = 0
            while part < found and not (
                share_half(part_start[part], part_stop[part], start, stop)
                and is_rival(chain, part_chain[part], start, stop, length, chains)
            ):
                part += 1
            if part == found:
                part_chain[part], rivals[part] = chain, 0
                part_start[part], part_stop[part] = start, stop
                is_selected[chain], found = True, found + 1
            elif rivals[part] < max_rivals:
                is_near = 1000 * np.int64(score[chain]) >= min_ratio * np.int64(score[part_chain[part]])
                is_selected[chain], rivals[part] = is_near, rivals[part] + is_near
