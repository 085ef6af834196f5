"""Which candidate places each read, which others are worth tracing, and how sure that is."""

from dataclasses import dataclass

import numpy as np

from readwarp.align.pair.scalar import contig_of, mix, outer_distance
from readwarp.align.records.scalar import SCALE, crowd_penalties, insert_penalties, mapping_quality, quality_slopes
from readwarp.batches import Candidates, InsertSizes, ReadBatch, Scores, Segment, Status
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.jit import kernel

FIRST, LAST, UNGAPPED = int(Segment.FIRST), int(Segment.LAST), int(Status.UNGAPPED)
PRIMARY, SUPPLEMENTARY, SECONDARY = 0, 1, 2
MOST_SUPPLEMENTARY = 4
MOST_CROWD = 255


@dataclass(frozen=True, slots=True)
class Choices:
    """Candidates to trace, grouped by read: the primary first, then supplementary ones, then those for XA. e rows."""

    choice_offsets: np.ndarray  # int64 [n + 1]
    candidate: np.ndarray  # int64 [e], row in Candidates
    strand: np.ndarray  # uint8 [e]
    role: np.ndarray  # uint8 [e], PRIMARY, SUPPLEMENTARY or SECONDARY
    mapping_quality: np.ndarray  # uint8 [e], 0 for SECONDARY
    score: np.ndarray  # int32 [e], end bonus included
    second_score: np.ndarray  # int32 [e], best score of another place for the same part of the read, 0 none
    proper: np.ndarray  # uint8 [n], 1 where the read and its mate are placed as a concordant pair


@kernel
def name_hash(names, start, stop):
    """FNV-1a of the name's bytes."""
    value = np.uint64(0xCBF29CE484222325)
    for i in range(start, stop):
        value = (value ^ np.uint64(names[i])) * np.uint64(0x100000001B3)
    return value


@kernel
def mark_places(first, last, least, name_key, strand, v, score, status, distinct, key):
    """distinct: 1 for the best candidate of each place; key: the order of equals. Returns the best row or -1."""
    best = -1
    for a in range(first, last):
        distinct[a] = status[a] <= UNGAPPED and score[a] >= least
        for b in range(first, a):
            if distinct[a] and distinct[b] and strand[a] == strand[b] and v[a] == v[b]:
                distinct[a if score[a] <= score[b] else b] = 0
        key[a] = mix(name_key ^ np.uint64(v[a] * 2 + strand[a]))
    for a in range(first, last):
        if distinct[a] and (best < 0 or score[a] > score[best] or (score[a] == score[best] and key[a] < key[best])):
            best = a
    return best


@kernel
def weigh_pairs(
    r, read_offsets, offsets, strand, v, stop, score, contig_offsets, low, high, penalties, distinct, key, worth
):
    """Raise worth by concordant pairs of reads r and r + 1; returns the best pair's rows and score (-1, -1, 0 none)."""
    best_a, best_b, best_score, best_key = -1, -1, 0, np.uint64(0)
    length_a, length_b = read_offsets[r + 1] - read_offsets[r], read_offsets[r + 2] - read_offsets[r + 1]
    for a in range(offsets[r], offsets[r + 1]):
        if not distinct[a]:
            continue
        for b in range(offsets[r + 1], offsets[r + 2]):
            if not distinct[b] or strand[a] == strand[b]:
                continue
            d = outer_distance(strand[a], v[a], length_a, strand[b], v[b], length_b)
            if d < low or d > high or contig_of(contig_offsets, stop[a] - 1) != contig_of(contig_offsets, stop[b] - 1):
                continue
            both = score[a] + score[b] - penalties[d]
            worth[a], worth[b] = max(worth[a], both), max(worth[b], both)
            pair_key = mix(key[a] ^ (key[b] << np.uint64(1)))
            if best_a < 0 or both > best_score or (both == best_score and pair_key < best_key):
                best_a, best_b, best_score, best_key = a, b, both, pair_key
    return best_a, best_b, best_score


@kernel
def overlapping(a, b, length, strand, query_start, query_stop, chain_stop, score, match):
    """Whether two candidates place the same part of a read: at least half of the shorter span is shared.

    A span ends at query_stop and is as long as its score asks for, or reaches back to the start of the chain.
    """
    head_a, head_b = query_stop[a] - score[a] // match, query_stop[b] - score[b] // match
    if chain_stop[a] > 0:
        head_a = min(head_a, query_start[a])
    if chain_stop[b] > 0:
        head_b = min(head_b, query_start[b])
    head_a, tail_a, head_b, tail_b = max(0, head_a), query_stop[a], max(0, head_b), query_stop[b]
    if strand[a] != strand[b]:
        head_b, tail_b = length - tail_b, length - head_b
    shared = min(tail_a, tail_b) - max(head_a, head_b)
    return 2 * shared >= min(tail_a - head_a, tail_b - head_b)


@kernel
def rivals(a, first, last, length, near, match, strand, query_start, query_stop, chain_stop, score, distinct, worth):
    """Best worth and best score of the other places for the same part of the read, and how many are near that worth."""
    best_worth, best_score, crowd = 0, 0, 0
    for counting in range(2):
        for b in range(first, last):
            if (
                b == a
                or not distinct[b]
                or not overlapping(a, b, length, strand, query_start, query_stop, chain_stop, score, match)
            ):
                continue
            if counting:
                crowd += worth[b] >= best_worth - near
            best_score, best_worth = max(best_score, score[b]), max(best_worth, worth[b])
    return best_worth, best_score, min(crowd, MOST_CROWD)


@kernel
def add_supplementary(
    a, first, last, length, match, strand, query_start, query_stop, chain_stop, score, distinct, key, rows
):
    """Best candidates for parts of the read that the primary leaves -> rows; how many."""
    n = 0
    for b in range(first, last):
        if (
            b == a
            or not distinct[b]
            or overlapping(a, b, length, strand, query_start, query_stop, chain_stop, score, match)
        ):
            continue
        i = min(n, MOST_SUPPLEMENTARY)
        while i > 0 and (
            score[rows[i - 1]] < score[b] or (score[rows[i - 1]] == score[b] and key[b] < key[rows[i - 1]])
        ):
            if i < MOST_SUPPLEMENTARY:
                rows[i] = rows[i - 1]
            i -= 1
        if i < MOST_SUPPLEMENTARY:
            rows[i] = b
            n = min(n + 1, MOST_SUPPLEMENTARY)
    return n


@kernel
def add_secondary(
    a, first, last, length, match, least, most, strand, query_start, query_stop, chain_stop, score, distinct, rows, n
):
    """Places with at least the score `least` for the same part of the read -> rows from n on, if they are no more than `most`."""
    found = n
    for b in range(first, last):
        if b == a or not distinct[b] or score[b] < least:
            continue
        if overlapping(a, b, length, strand, query_start, query_stop, chain_stop, score, match):
            if found - n == most:
                return n
            rows[found] = b
            found += 1
    return found


@kernel
def choose_places(
    segment, read_offsets, names, name_offsets, repetitive, offsets, strand, query_start, chain_stop, score, query_stop, stop,
    status, contig_offsets, low, high, penalties, slopes, crowds, match, mismatch, bonus, unpaired, least_score, most_secondary,
    ratio, seed_step, choice_offsets, candidate, role, quality, second, proper,
):  # fmt: skip
    """Choices of all reads; returns how many."""
    v = stop - query_stop
    distinct, worth, key = np.zeros(score.size, np.uint8), score.copy(), np.empty(score.size, np.uint64)
    rows, winner = np.empty(MOST_SUPPLEMENTARY + max(1, most_secondary), np.int64), np.empty(2, np.int64)
    made = 0
    choice_offsets[0] = 0
    for r in range(segment.size):
        if segment[r] == LAST:
            continue
        mates = 2 if segment[r] == FIRST else 1
        name_key = name_hash(names, name_offsets[r], name_offsets[r + 1])
        for m in range(mates):
            length = read_offsets[r + m + 1] - read_offsets[r + m]
            least = min(least_score, max(1, length // 2))
            winner[m] = mark_places(
                offsets[r + m], offsets[r + m + 1], least, name_key, strand, v, score, status, distinct, key
            )
            proper[r + m] = 0
        if mates == 2 and winner[0] >= 0 and winner[1] >= 0:
            for m in range(2):
                for a in range(offsets[r + m], offsets[r + m + 1]):
                    worth[a] += score[winner[1 - m]] - unpaired
            apart = score[winner[0]] + score[winner[1]] - unpaired
            a, b, together = weigh_pairs(
                r,
                read_offsets,
                offsets,
                strand,
                v,
                stop,
                score,
                contig_offsets,
                low,
                high,
                penalties,
                distinct,
                key,
                worth,
            )
            if a >= 0 and together > apart:
                winner[0], winner[1] = a, b
                proper[r] = proper[r + 1] = 1
        for m in range(mates):
            a, first, last = winner[m], offsets[r + m], offsets[r + m + 1]
            length = read_offsets[r + m + 1] - read_offsets[r + m]
            n, alone = 0, 0
            if a >= 0:
                n = add_supplementary(
                    a,
                    first,
                    last,
                    length,
                    match,
                    strand,
                    query_start,
                    query_stop,
                    chain_stop,
                    score,
                    distinct,
                    key,
                    rows,
                )
                alone = n
                n = add_secondary(a, first, last, length, match, (score[a] * ratio + 999) // 1000, most_secondary, strand, query_start,
                                  query_stop, chain_stop, score, distinct, rows, n)  # fmt: skip
            share = min(SCALE, repetitive[r + m] * seed_step * SCALE // max(1, length))
            for i in range(-1 if a >= 0 else 0, n):
                c = rows[i] if i >= 0 else a
                candidate[made], quality[made] = c, 0
                role[made] = PRIMARY if i < 0 else (SUPPLEMENTARY if i < alone else SECONDARY)
                next_worth, second[made], crowd = rivals(
                    c,
                    first,
                    last,
                    length,
                    match + mismatch,
                    match,
                    strand,
                    query_start,
                    query_stop,
                    chain_stop,
                    score,
                    distinct,
                    worth,
                )
                if i < alone:
                    quality[made] = mapping_quality(
                        worth[c] - next_worth, score[c] - second[made], slopes[min(length, MAX_READ_LENGTH)], crowds[crowd],
                        score[c], length * match + 2 * bonus, share,
                    )  # fmt: skip
                made += 1
            choice_offsets[r + m + 1] = made
    return made


def choose(
    reads: ReadBatch,
    candidates: Candidates,
    scores: Scores,
    sizes: InsertSizes,
    parameters: AlignParameters,
    repetitive: np.ndarray,
    contig_offsets: np.ndarray,
) -> Choices:
    """The place of each read and its pair, other places worth tracing, and mapping qualities."""
    scoring, records, seed = parameters.scoring, parameters.records, parameters.seed
    room = len(reads) * (1 + MOST_SUPPLEMENTARY + records.max_secondary)
    choice_offsets, candidate = np.zeros(len(reads) + 1, np.int64), np.empty(room, np.int64)
    role, quality, second = np.empty(room, np.uint8), np.empty(room, np.uint8), np.empty(room, np.int32)
    proper = np.zeros(len(reads), np.uint8)
    made = choose_places(
        reads.segment, reads.read_offsets, reads.names, reads.name_offsets, repetitive,
        candidates.candidate_offsets, candidates.strand, candidates.query_start, candidates.query_stop,
        scores.score, scores.query_stop, scores.reference_stop, scores.status, contig_offsets,
        sizes.low, sizes.high, insert_penalties(sizes, scoring.match), quality_slopes(MAX_READ_LENGTH, scoring.match),
        crowd_penalties(MOST_CROWD), scoring.match, scoring.mismatch, scoring.end_bonus, parameters.pair.unpaired_penalty,
        records.min_score, records.max_secondary, round(1000 * records.secondary_ratio), seed.k - seed.s + 1,
        choice_offsets, candidate, role, quality, second, proper,
    )  # fmt: skip
    candidate = candidate[:made]
    return Choices(
        choice_offsets,
        candidate,
        candidates.strand[candidate],
        role[:made],
        quality[:made],
        scores.score[candidate],
        second[:made],
        proper,
    )
