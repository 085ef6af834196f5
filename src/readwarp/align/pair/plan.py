"""Choose the chains to extend, and their windows of the reference."""

from typing import NamedTuple

import numpy as np

from readwarp.align.batches import Candidates, Chains, Scores
from readwarp.align.insert_models import InsertLimits, InsertModels
from readwarp.align.places import contig_of, outer_distance, put_window, turned
from readwarp.compiler.jit import kernel
from readwarp.config import PairParameters
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.ragged import concatenate, empty, replace, take

FIRST = int(Segment.FIRST)
WEAK = 7  # tenths of the score of a read's best chain


class PlanRules(NamedTuple):
    limits: InsertLimits
    pairing: bool
    max_candidates: int
    padding: int


@kernel
def add_mate_scores(r, read_offsets, chains, contig_offsets, limits, value):
    """Write each chain's score plus that of the mate's best concordant chain to `value`, for reads r and r + 1."""
    length_a, length_b = read_offsets[r + 1] - read_offsets[r], read_offsets[r + 2] - read_offsets[r + 1]
    offsets, start = chains.chain_offsets, chains.reference_start
    model = limits.model[r]
    low, high = limits.low[model], limits.high[model]
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


@kernel
def plan(reads, chains, contig_offsets, rules, out):
    """Write the candidates of all reads to `out`, which has a row per chain; return their number."""
    value, order = chains.score.copy(), np.empty(rules.max_candidates, np.int64)
    made = 0
    read_offsets, segment = reads.read_offsets, reads.segment
    out.candidate_offsets[0] = 0
    for r in range(segment.size):
        if rules.pairing and segment[r] == FIRST:
            add_mate_scores(r, read_offsets, chains, contig_offsets, rules.limits, value)
        length = read_offsets[r + 1] - read_offsets[r]
        for i in range(best_chains(r, length, chains, value, order)):
            c = order[i]
            contig = contig_of(contig_offsets, chains.reference_start[c])
            head = chains.reference_start[c] - chains.query_start[c]
            tail = chains.reference_stop[c] - chains.query_stop[c]
            place, chained = (r, chains.strand[c], head), (chains.query_start[c], chains.query_stop[c])
            window = min(head, tail) - rules.padding, max(head, tail) + length + rules.padding
            made = put_window(out, made, place, window, contig, contig_offsets, chained, (0, 0))
        out.candidate_offsets[r + 1] = made
    return made


def plan_candidates(
    reads: ReadBatch, chains: Chains, contig_offsets: np.ndarray, sizes: InsertModels, parameters: PairParameters
) -> Candidates:
    """Plan the windows in which to extend each read: the best `max_candidates` chains, considering mates together."""
    out = empty(Candidates, {"reads": len(reads), "candidates": chains.score.size})
    limits = sizes.limits(reads.read_group)
    rules = PlanRules(limits, parameters.pairing, parameters.max_candidates, parameters.window_padding)
    made = plan(reads, chains, contig_offsets, rules, out)
    return take(out, "candidates", slice(made))


def join(parts: Candidates, rescued: Candidates) -> Candidates:
    """Join both, not grouped by read."""
    offsets = parts.candidate_offsets + rescued.candidate_offsets
    return replace(concatenate((parts, rescued), "candidates"), candidate_offsets=offsets)


def merge(
    candidates: Candidates, scores: Scores, others: Candidates, other_scores: Scores
) -> tuple[Candidates, Scores]:
    """Merge all candidates and their scores, grouped by read, the others last."""
    if len(others) == 0:
        return candidates, scores
    both = join(candidates, others)
    order = np.argsort(both.read, kind="stable")
    return take(both, "candidates", order), take(concatenate((scores, other_scores), "candidates"), "candidates", order)
