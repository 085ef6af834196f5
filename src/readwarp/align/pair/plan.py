"""Choose the chains to extend, and their windows of the reference."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Candidates, Chains, gather_candidates
from readwarp.align.insert_models import InsertLimits, InsertModels, model_of
from readwarp.align.places import contig_of, outer_distance, put_window, turned
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import PairParameters
from readwarp.device.gather import merge_offsets
from readwarp.device.rows import each_row, empty_beside, ragged_rows, to_side_of
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.ragged import replace

FIRST, LAST = int(Segment.FIRST), int(Segment.LAST)
WEAK = 7  # tenths of the score of a read's best chain


class PlanRules(NamedTuple):
    limits: InsertLimits
    pairing: bool
    max_candidates: int
    padding: int


class ChainRanks(NamedTuple):
    """Chains compared with those of the mate."""

    value: Annotated[ndarray, "int32 [chains]"]  # score, plus that of the mate's best concordant chain
    order: Annotated[ndarray, "int64 [chains]"]  # room for the best chains of each read


@each_row
def add_mate_scores(r, reads, chains, contig_offsets, rules, ranks):
    """Set the values of the chains of read r and its mate."""
    offsets, start, segment = chains.chain_offsets, chains.reference_start, reads.segment[r]
    if segment == LAST:
        return
    for a in range(offsets[r], offsets[r + 2 if segment == FIRST else r + 1]):
        ranks.value[a] = chains.score[a]
    if segment != FIRST or not rules.pairing:
        return
    read_offsets, value = reads.read_offsets, ranks.value
    length_a, length_b = read_offsets[r + 1] - read_offsets[r], read_offsets[r + 2] - read_offsets[r + 1]
    model = model_of(rules.limits, reads.read_group[r])
    low, high = rules.limits.low[model], rules.limits.high[model]
    for a in range(offsets[r], offsets[r + 1]):
        v_a = start[a] - chains.query_start[a]
        for b in range(offsets[r + 1], offsets[r + 2]):
            if chains.strand[a] == chains.strand[b]:
                continue
            d = outer_distance(chains.strand[a], v_a, length_a, start[b] - chains.query_start[b], length_b)
            if d < low or d > high:
                continue
            if contig_of(contig_offsets, start[a]) == contig_of(contig_offsets, start[b]):
                both = chains.score[a] + chains.score[b]
                value[a], value[b] = max(value[a], both), max(value[b], both)


@kernel
def shares_half(c, top, length, chains):
    """Return whether chain c shares at least half of its part of the read with chain `top`."""
    is_turned = chains.strand[c] != chains.strand[top]
    head, tail = turned(chains.query_start[c], chains.query_stop[c], length, is_turned)
    shared = min(tail, chains.query_stop[top]) - max(head, chains.query_start[top])
    return 2 * shared >= tail - head


@kernel
def best_chains(r, length, chains, value, order):
    """Write as many chains of read r as fit to `order`, by descending value, ties in order; return their number.

    If the best chain has a concordant mate, chains without one that are weak beside the read's first chain are left
    out: such a place for the same part of the read could not win; and since it is worse by a penalty and a mismatch, it
    could not lower the winner's MAPQ.
    """
    first, last = chains.chain_offsets[r], chains.chain_offsets[r + 1]
    n, score = 0, chains.score
    top = first
    for c in range(first, last):
        top = c if value[c] > value[top] else top
    for c in range(first, last):
        if n == order.size and value[c] <= value[order[n - 1]]:
            continue
        is_weak = value[c] == score[c] and 10 * score[c] < WEAK * score[first]
        if is_weak and value[top] > score[top] and shares_half(c, top, length, chains):
            continue
        n = min(n + 1, order.size)
        i = n - 1
        while i > 0 and value[order[i - 1]] < value[c]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = c
    return n


@scalar
def room_of_windows(r, reads, chains, contig_offsets, rules, ranks):
    """Return the maximum windows of read r."""
    return min(rules.max_candidates, chains.chain_offsets[r + 1] - chains.chain_offsets[r])


@ragged_rows(Candidates, room_of_windows)
def plan_windows(r, at, reads, chains, contig_offsets, rules, ranks, out):
    """Write the windows of read r."""
    length, first = reads.read_offsets[r + 1] - reads.read_offsets[r], chains.chain_offsets[r]
    order = ranks.order[first : first + min(rules.max_candidates, chains.chain_offsets[r + 1] - first)]
    for i in range(best_chains(r, length, chains, ranks.value, order)):
        c = order[i]
        contig = contig_of(contig_offsets, chains.reference_start[c])
        head = chains.reference_start[c] - chains.query_start[c]
        tail = chains.reference_stop[c] - chains.query_stop[c]
        place, chained = (r, chains.strand[c], head), (chains.query_start[c], chains.query_stop[c])
        window = min(head, tail) - rules.padding, max(head, tail) + length + rules.padding
        at = put_window(out, at, place, window, contig, contig_offsets, chained, (0, 0))
    return at


def plan_candidates(
    reads: ReadBatch, chains: Chains, contig_offsets: np.ndarray, sizes: InsertModels, parameters: PairParameters
) -> Candidates:
    """Plan the windows in which to extend each read: the best `max_candidates` chains, considering mates together."""
    rules = PlanRules(sizes.limits(), parameters.pairing, parameters.max_candidates, parameters.window_padding)
    rules = to_side_of(chains.score, rules)
    given = reads, chains, contig_offsets, rules, empty_beside(chains.score, ChainRanks, {"chains": chains.score.size})
    add_mate_scores(len(reads), *given)
    return plan_windows(len(reads), *given)


def merge(candidates: Candidates, others: Candidates) -> tuple[Candidates, Any]:
    """Merge candidates by read, the others last; return them, and their rows among both (int64 [candidates])."""
    both = candidates.candidate_offsets, others.candidate_offsets
    number = len(candidates) + len(others)
    offsets, rows = merge_offsets(both[0].size - 1, *both, len(candidates), number=number)
    return replace(gather_candidates(rows, candidates, others), candidate_offsets=offsets), rows
