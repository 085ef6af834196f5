"""Lay chains on their long reads, and cut them into runs of the alignment and pieces that are still to be aligned.

    cut_chains(bases, starts, chains: LongChains, k, packed, costs: Costs) -> Cut

Between neighbouring anchors, the equal bases at both ends of the two sequences are aligned. That never costs score: of
all paths with the same cost, the furthest one on a diagonal loses to no other (Marco-Sola 2021, Bioinformatics 37:456).
The rest is

    nothing             one run of M
    of equal lengths    a run of M, if its mismatches cost no more than two gaps
    of one sequence     a gap
    of both             a piece for the pairwise engine, in global mode

An anchor that overlaps the previous one, on the read or on the reference, counts from where it no longer does.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import query_of, reference_of, strand_of
from readwarp.align.batches import LongChains
from readwarp.align.extend.steps import Oriented
from readwarp.compiler.jit import kernel, scalar
from readwarp.pairwise.pairs import Costs
from readwarp.pairwise.scalar import gain_of_bases
from readwarp.ragged import empty
from readwarp.rules.bases import reference_code
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

PIECE = 15  # an operation outside the CIGAR set: the number of a piece


class LaidAlignments(NamedTuple):
    """Chains laid on their oriented reads."""

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
    query, reference = query_of.py_func, reference_of.py_func  # in Python, of whole arrays
    strand = strand_of.py_func(first)
    start, length = reads.offsets[read] + strand * reads.offsets[-1], reads.offsets[read + 1] - reads.offsets[read]
    query_span, reference_start = (query(first), query(last) + k), reference(first)
    return LaidAlignments(strand, start, *query_span, length, reference_start, reference(last) + k)


class CutChains(NamedTuple):
    """Runs of each chain from its first to its last anchor; neighbours may share an operation."""

    run_offsets: Annotated[ndarray, "int64 [chains + 1] of runs"]
    runs: Annotated[ndarray, "uint32 [runs]"]  # BAM coding; M I D, or PIECE and a piece's number
    query_start: Annotated[ndarray, "int64 [pieces]"]  # in the oriented bases
    query_length: Annotated[ndarray, "int64 [pieces]"]
    reference_start: Annotated[ndarray, "int64 [pieces]"]
    reference_length: Annotated[ndarray, "int64 [pieces]"]


def cut_chains(bases: ndarray, starts: ndarray, chains: LongChains, k: int, packed: ndarray, costs: Costs) -> CutChains:
    """Cut the chains. bases: oriented reads, 0-4; starts (int64 [chains]): where each chain's read begins there."""
    number, anchors = len(chains.score), chains.anchors.size
    cut = empty(CutChains, {"chains": number, "runs": 4 * anchors, "pieces": anchors})
    anchors_of_chains = chains.anchor_offsets, chains.anchors
    runs, pieces = cut_anchors(bases, starts, anchors_of_chains, k, packed, costs, cut)
    return CutChains(cut.run_offsets, cut.runs[:runs], *(column[:pieces] for column in cut[2:]))


@scalar
def least_loss_by_gaps(costs):
    """Return the least that sequences of one length lose of their matches' score when aligned with gaps.

    Such an alignment has at least two gaps and one aligned pair fewer.
    """
    return costs.match + 2 * (costs.gap_open + costs.gap_extend)


@scalar
def are_equal(bases, packed, query, reference):
    """Return whether the bases are equal; N equals nothing."""
    return bases[query] == reference_code(packed, reference)


@kernel
def cut_anchors(bases, starts, anchors_of_chains, k, packed, costs, cut):
    """Write runs and pieces to `cut`; return their numbers."""
    anchor_offsets, anchors = anchors_of_chains
    run_offsets, runs = cut.run_offsets, cut.runs
    row, piece = np.int64(0), np.int64(0)
    run_offsets[0] = 0
    for chain in range(starts.size):
        first, last = anchor_offsets[chain], anchor_offsets[chain + 1]
        query, reference = starts[chain] + query_of(anchors[first]) + k, reference_of(anchors[first]) + k
        matched = k
        for i in range(first + 1, last):
            next_query, next_reference = starts[chain] + query_of(anchors[i]), reference_of(anchors[i])
            hidden = max(np.int64(0), query - next_query, reference - next_reference)
            if hidden >= k:
                continue
            on_query, on_reference = next_query + hidden - query, next_reference + hidden - reference
            while on_query > 0 and on_reference > 0 and are_equal(bases, packed, query, reference):
                query, reference, matched = query + 1, reference + 1, matched + 1
                on_query, on_reference = on_query - 1, on_reference - 1
            tail = np.int64(0)
            while on_query > 0 and on_reference > 0:
                if not are_equal(bases, packed, query + on_query - 1, reference + on_reference - 1):
                    break
                on_query, on_reference, tail = on_query - 1, on_reference - 1, tail + 1
            if on_query == on_reference:
                lost = 0
                for j in range(on_query):
                    code = reference_code(packed, reference + j)
                    lost += costs.match - gain_of_bases(bases[query + j], code, costs)
                if lost <= least_loss_by_gaps(costs):
                    matched += on_query
                    on_query = on_reference = np.int64(0)
            if on_query > 0 or on_reference > 0:
                runs[row] = np.uint32(matched << 4 | MATCH)
                if on_reference == 0:
                    runs[row + 1] = np.uint32(on_query << 4 | INSERTION)
                elif on_query == 0:
                    runs[row + 1] = np.uint32(on_reference << 4 | DELETION)
                else:
                    runs[row + 1] = np.uint32(piece << 4 | PIECE)
                    cut.query_start[piece], cut.query_length[piece] = query, on_query
                    cut.reference_start[piece], cut.reference_length[piece] = reference, on_reference
                    piece += 1
                row, matched = row + 2, 0
            matched += tail + k - hidden
            query, reference = next_query + k, next_reference + k
        runs[row] = np.uint32(matched << 4 | MATCH)
        row += 1
        run_offsets[chain + 1] = row
    return row, piece
