"""Which chains to extend, in which windows of the reference."""

import numpy as np

from readwarp.align.pair.scalar import contig_of, outer_distance
from readwarp.batches import Candidates, Chains, InsertSizes, Origin, ReadBatch, Scores, Segment
from readwarp.config import PairParameters
from readwarp.device.jit import kernel

FIRST, CHAIN = int(Segment.FIRST), int(Origin.CHAIN)


@kernel
def add_mate_scores(
    r, read_offsets, chain_offsets, start, query_start, strand, score, contig_offsets, low, high, value
):
    """value of each chain of reads r and r + 1: its score plus that of the mate's best concordant chain."""
    length_a, length_b = read_offsets[r + 1] - read_offsets[r], read_offsets[r + 2] - read_offsets[r + 1]
    for a in range(chain_offsets[r], chain_offsets[r + 1]):
        for b in range(chain_offsets[r + 1], chain_offsets[r + 2]):
            if strand[a] == strand[b]:
                continue
            d = outer_distance(
                strand[a], start[a] - query_start[a], length_a, strand[b], start[b] - query_start[b], length_b
            )
            if d < low or d > high or contig_of(contig_offsets, start[a]) != contig_of(contig_offsets, start[b]):
                continue
            value[a] = max(value[a], score[a] + score[b])
            value[b] = max(value[b], score[a] + score[b])


@kernel
def best_chains(first, last, value, most, order):
    """Rows first..last by descending value, the earlier first where equal -> order; how many, `most` at most."""
    n = 0
    for c in range(first, last):
        if n == most and value[c] <= value[order[n - 1]]:
            continue
        n = min(n + 1, most)
        i = n - 1
        while i > 0 and value[order[i - 1]] < value[c]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = c
    return n


@kernel
def plan(segment, read_offsets, chain_offsets, start, stop, query_start, query_stop, strand, score, contig_offsets,
         low, high, most, padding, offsets, read, window_start, window_stop, diagonal, chain):  # fmt: skip
    """Candidates of all reads -> offsets (by read) and one row each; `chain` is the row in Chains."""
    value, order = score.copy(), np.empty(most, np.int64)
    made = 0
    offsets[0] = 0
    for r in range(segment.size):
        if segment[r] == FIRST:
            add_mate_scores(
                r, read_offsets, chain_offsets, start, query_start, strand, score, contig_offsets, low, high, value
            )
        length = read_offsets[r + 1] - read_offsets[r]
        for i in range(best_chains(chain_offsets[r], chain_offsets[r + 1], value, most, order)):
            c = order[i]
            contig = contig_of(contig_offsets, start[c])
            head, tail = start[c] - query_start[c], stop[c] - query_stop[c]
            read[made], chain[made], diagonal[made] = r, c, head
            window_start[made] = max(contig_offsets[contig], min(head, tail) - padding)
            window_stop[made] = min(contig_offsets[contig + 1], max(head, tail) + length + padding)
            made += 1
        offsets[r + 1] = made
    return made


def plan_candidates(
    reads: ReadBatch, chains: Chains, contig_offsets: np.ndarray, sizes: InsertSizes, parameters: PairParameters
) -> Candidates:
    """The windows to extend each read in: the best `max_candidates` chains, mates taken together."""
    room = chains.score.size
    offsets, read = np.empty(len(reads) + 1, np.int64), np.empty(room, np.int32)
    window_start, window_stop, diagonal, chain = (np.empty(room, np.int64) for _ in range(4))
    made = plan(
        reads.segment, reads.read_offsets, chains.chain_offsets, chains.reference_start, chains.reference_stop,
        chains.query_start, chains.query_stop, chains.strand, chains.score, contig_offsets,
        sizes.low, sizes.high, parameters.max_candidates, parameters.window_padding,
        offsets, read, window_start, window_stop, diagonal, chain,
    )  # fmt: skip
    chain = chain[:made]
    return Candidates(
        candidate_offsets=offsets,
        read=read[:made],
        strand=chains.strand[chain],
        window_start=window_start[:made],
        window_stop=window_stop[:made],
        diagonal=diagonal[:made],
        chain_score=chains.score[chain],
        query_start=chains.query_start[chain],
        query_stop=chains.query_stop[chain],
        origin=np.full(made, CHAIN, np.uint8),
    )


@kernel
def merged_rows(offsets, more_offsets, rows, more_rows, merged_offsets):
    """Rows in the union of two sets grouped by read; the second set's rows of a read come after the first's."""
    made = 0
    merged_offsets[0] = 0
    for r in range(offsets.size - 1):
        for c in range(offsets[r], offsets[r + 1]):
            rows[c] = made
            made += 1
        for c in range(more_offsets[r], more_offsets[r + 1]):
            more_rows[c] = made
            made += 1
        merged_offsets[r + 1] = made


def merge(
    candidates: Candidates, scores: Scores, rescued: Candidates, rescued_scores: Scores
) -> tuple[Candidates, Scores]:
    """One set of candidates, still grouped by read, and its scores."""
    if len(rescued) == 0:
        return candidates, scores
    rows, more_rows = np.empty(len(candidates), np.int64), np.empty(len(rescued), np.int64)
    offsets = np.empty_like(candidates.candidate_offsets)
    merged_rows(candidates.candidate_offsets, rescued.candidate_offsets, rows, more_rows, offsets)

    def union(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        out = np.empty(one.size + other.size, one.dtype)
        out[rows], out[more_rows] = one, other
        return out

    names = [name for name in Candidates.__slots__ if name != "candidate_offsets"]  # type: ignore[attr-defined]
    both = {name: union(getattr(candidates, name), getattr(rescued, name)) for name in names}
    all_scores = {name: union(getattr(scores, name), getattr(rescued_scores, name)) for name in Scores.__slots__}  # type: ignore[attr-defined]
    return Candidates(candidate_offsets=offsets, **both), Scores(**all_scores)
