"""Which chains to extend, in which windows of the reference."""

import numpy as np

from readwarp.align.pair.scalar import contig_of, outer_distance
from readwarp.align.views import limits_of, view_chains
from readwarp.batches import Candidates, Chains, InsertSizes, Origin, ReadBatch, Scores, Segment
from readwarp.config import PairParameters
from readwarp.device.jit import kernel
from readwarp.ragged import concatenate, replace, take

FIRST, CHAIN = int(Segment.FIRST), int(Origin.CHAIN)
WEAK = 7  # tenths of the score of a read's best chain


@kernel
def add_mate_scores(r, read_offsets, chains, contig_offsets, limits, value):
    """value of each chain of reads r and r + 1: its score plus that of the mate's best concordant chain."""
    length_a, length_b = read_offsets[r + 1] - read_offsets[r], read_offsets[r + 2] - read_offsets[r + 1]
    for a in range(chains.offsets[r], chains.offsets[r + 1]):
        v_a = chains.start[a] - chains.query_start[a]
        for b in range(chains.offsets[r + 1], chains.offsets[r + 2]):
            if chains.strand[a] == chains.strand[b]:
                continue
            v_b = chains.start[b] - chains.query_start[b]
            d = outer_distance(chains.strand[a], v_a, length_a, chains.strand[b], v_b, length_b)
            if d < limits.low or d > limits.high:
                continue
            if contig_of(contig_offsets, chains.start[a]) == contig_of(contig_offsets, chains.start[b]):
                both = chains.score[a] + chains.score[b]
                value[a], value[b] = max(value[a], both), max(value[b], both)


@kernel
def is_hopeless(c, first, top, length, chains, value):
    """Whether a chain is too weak beside the read's best one (`first`), when `top` has a concordant mate and c has not.

    Such a place for the same part of the read could neither win nor, being worse by a penalty and a mismatch, make the
    winner less sure.
    """
    score = chains.score
    if value[top] == score[top] or value[c] > score[c] or 10 * score[c] >= WEAK * score[first]:
        return False
    head, tail = chains.query_start[c], chains.query_stop[c]
    if chains.strand[c] != chains.strand[top]:
        head, tail = length - tail, length - head
    shared = min(tail, chains.query_stop[top]) - max(head, chains.query_start[top])
    return 2 * shared >= tail - head


@kernel
def best_chains(first, last, length, chains, value, most, order):
    """Rows first..last by descending value, the earlier first where equal -> order; how many, `most` at most."""
    n, top = 0, first
    for c in range(first, last):
        top = c if value[c] > value[top] else top
    for c in range(first, last):
        if is_hopeless(c, first, top, length, chains, value) or (n == most and value[c] <= value[order[n - 1]]):
            continue
        n = min(n + 1, most)
        i = n - 1
        while i > 0 and value[order[i - 1]] < value[c]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = c
    return n


@kernel
def plan(read_offsets, segment, chains, contig_offsets, limits, most, padding, offsets, read, chain, windows):
    """Candidates of all reads -> offsets (by read) and a row each; windows: start, stop, diagonal. Returns the rows."""
    value, order = chains.score.copy(), np.empty(most, np.int64)
    made = 0
    offsets[0] = 0
    for r in range(segment.size):
        if segment[r] == FIRST:
            add_mate_scores(r, read_offsets, chains, contig_offsets, limits, value)
        length = read_offsets[r + 1] - read_offsets[r]
        for i in range(best_chains(chains.offsets[r], chains.offsets[r + 1], length, chains, value, most, order)):
            c = order[i]
            contig = contig_of(contig_offsets, chains.start[c])
            head, tail = chains.start[c] - chains.query_start[c], chains.stop[c] - chains.query_stop[c]
            read[made], chain[made] = r, c
            windows[0, made] = max(contig_offsets[contig], min(head, tail) - padding)
            windows[1, made] = min(contig_offsets[contig + 1], max(head, tail) + length + padding)
            windows[2, made] = head
            made += 1
        offsets[r + 1] = made
    return made


def plan_candidates(
    reads: ReadBatch, chains: Chains, contig_offsets: np.ndarray, sizes: InsertSizes, parameters: PairParameters
) -> Candidates:
    """The windows to extend each read in: the best `max_candidates` chains, mates taken together."""
    room = chains.score.size
    offsets, read, chain = np.empty(len(reads) + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)
    windows = np.empty((3, room), np.int64)
    made = plan(
        reads.read_offsets, reads.segment, view_chains(chains), contig_offsets, limits_of(sizes),
        parameters.max_candidates, parameters.window_padding, offsets, read, chain, windows,
    )  # fmt: skip
    chain = chain[:made]
    return Candidates(
        candidate_offsets=offsets,
        read=read[:made],
        strand=chains.strand[chain],
        window_start=windows[0, :made],
        window_stop=windows[1, :made],
        diagonal=windows[2, :made],
        chain_score=chains.score[chain],
        query_start=chains.query_start[chain],
        query_stop=chains.query_stop[chain],
        origin=np.full(made, CHAIN, np.uint8),
    )


def merge(
    candidates: Candidates, scores: Scores, rescued: Candidates, rescued_scores: Scores
) -> tuple[Candidates, Scores]:
    """One set of candidates, still grouped by read, rescued ones last, and its scores."""
    if len(rescued) == 0:
        return candidates, scores
    offsets = candidates.candidate_offsets + rescued.candidate_offsets
    both = concatenate((candidates, rescued), "candidates")
    order = np.argsort(both.read, kind="stable")
    merged = replace(take(both, "candidates", order), candidate_offsets=offsets)
    return merged, take(concatenate((scores, rescued_scores), "candidates"), "candidates", order)
