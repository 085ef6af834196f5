"""Which candidate places each read, which others are worth tracing, and how sure that is."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from readwarp.align.pair.scalar import contig_of, mix, outer_distance
from readwarp.align.records.scalar import (
    FINE,
    MOST_CROWD,
    SCALE,
    crowd_penalties,
    insert_penalties,
    mapping_quality,
    quality_slopes,
)
from readwarp.align.views import Limits, PlaceView, limits_of, view_places, view_reads
from readwarp.batches import Candidates, InsertSizes, ReadBatch, Scores, Segment, Status
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.jit import kernel
from readwarp.rules.hashes import hash_of

FIRST, LAST, UNGAPPED = int(Segment.FIRST), int(Segment.LAST), int(Status.UNGAPPED)
PRIMARY, SUPPLEMENTARY, SECONDARY = 0, 1, 2
MOST_SUPPLEMENTARY = 4


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


class Ranking(NamedTuple):
    """What is worked out about each candidate."""

    distinct: np.ndarray  # uint8 [c], 1 for the best candidate of each place
    key: np.ndarray  # uint64 [c], order of equals
    worth: np.ndarray  # int32 [c], see the contract


class ChoiceRules(NamedTuple):
    limits: Limits
    insert_penalty: np.ndarray  # by outer distance, times FINE
    slope: np.ndarray  # by read length
    crowd_penalty: np.ndarray  # by number of places
    match: int
    mismatch: int
    end_bonus: int
    unpaired_penalty: int
    least_score: int
    least_mate_score: int
    most_secondary: int
    secondary_ratio: int  # of 1000
    seed_step: int  # read bases that one seed stands for


class ChoiceRows(NamedTuple):
    """Rows of Choices, made so far."""

    candidate: np.ndarray
    role: np.ndarray
    mapping_quality: np.ndarray
    second_score: np.ndarray


@kernel
def rank_places(first, last, least, name_key, places, ranking):
    """distinct and key of candidates first..last; returns the best row or -1."""
    strand, v, score = places.strand, places.v, places.score
    for a in range(first, last):
        ranking.distinct[a] = places.status[a] <= UNGAPPED and score[a] >= least
        ranking.key[a] = mix(name_key ^ np.uint64(v[a] * 2 + strand[a]))
        for b in range(first, a):
            same = ranking.distinct[a] and ranking.distinct[b] and strand[a] == strand[b] and v[a] == v[b]
            if same:
                ranking.distinct[a if score[a] <= score[b] else b] = 0
    best = -1
    for a in range(first, last):
        if ranking.distinct[a] and (best < 0 or is_ahead(a, best, score, ranking.key)):
            best = a
    return best


@kernel
def rank_read(r, lowest, name_key, reads, places, ranking):
    """rank_places for read r, with at least the score `lowest` or, of a short read, half its length."""
    least = min(lowest, max(1, (reads.offsets[r + 1] - reads.offsets[r]) // 2))
    return rank_places(places.offsets[r], places.offsets[r + 1], least, name_key, places, ranking)


@kernel
def is_ahead(a, b, score, key):
    return score[a] > score[b] or (score[a] == score[b] and key[a] < key[b])


@kernel
def weigh_pairs(r, read_offsets, places, contig_offsets, rules, ranking):
    """Raise the worth of concordant candidates of reads r and r + 1.

    Returns the rows of the best pair (-1, -1: none) and its score times FINE.
    """
    best_a, best_b, best_score, best_key = -1, -1, 0, np.uint64(0)
    length_a, length_b = read_offsets[r + 1] - read_offsets[r], read_offsets[r + 2] - read_offsets[r + 1]
    strand, v, stop, worth = places.strand, places.v, places.stop, ranking.worth
    for a in range(places.offsets[r], places.offsets[r + 1]):
        for b in range(places.offsets[r + 1], places.offsets[r + 2]):
            if not ranking.distinct[a] or not ranking.distinct[b] or strand[a] == strand[b]:
                continue
            d = outer_distance(strand[a], v[a], length_a, strand[b], v[b], length_b)
            if d < rules.limits.low or d > rules.limits.high:
                continue
            if contig_of(contig_offsets, stop[a] - 1) != contig_of(contig_offsets, stop[b] - 1):
                continue
            both = FINE * (places.score[a] + places.score[b]) - rules.insert_penalty[d]
            whole = (both + FINE // 2) // FINE
            worth[a], worth[b] = max(worth[a], whole), max(worth[b], whole)
            key = mix(ranking.key[a] ^ (ranking.key[b] << np.uint64(1)))
            if best_a < 0 or both > best_score or (both == best_score and key < best_key):
                best_a, best_b, best_score, best_key = a, b, both, key
    return best_a, best_b, best_score


@kernel
def place_pair(r, read_offsets, places, contig_offsets, rules, ranking, winner):
    """Worth of the candidates of two mates, both with a winner; True, and new winners, when they are best as a pair."""
    score = places.score
    for m in range(2):
        for a in range(places.offsets[r + m], places.offsets[r + m + 1]):
            ranking.worth[a] += score[winner[1 - m]] - rules.unpaired_penalty
    apart = score[winner[0]] + score[winner[1]] - rules.unpaired_penalty
    a, b, together = weigh_pairs(r, read_offsets, places, contig_offsets, rules, ranking)
    if a < 0 or together <= FINE * apart:
        return False
    winner[0], winner[1] = a, b
    return True


@kernel
def is_rival(a, b, length, places, match):
    """Whether two candidates place the same part of a read: at least half of the shorter span is shared.

    A span ends at query_stop and is as long as its score asks for, or reaches back to the start of the chain.
    """
    tail_a, tail_b = places.query_stop[a], places.query_stop[b]
    head_a, head_b = tail_a - places.score[a] // match, tail_b - places.score[b] // match
    if places.chain_stop[a] > 0:
        head_a = min(head_a, places.chain_start[a])
    if places.chain_stop[b] > 0:
        head_b = min(head_b, places.chain_start[b])
    head_a, head_b = max(0, head_a), max(0, head_b)
    if places.strand[a] != places.strand[b]:
        head_b, tail_b = length - tail_b, length - head_b
    return 2 * (min(tail_a, tail_b) - max(head_a, head_b)) >= min(tail_a - head_a, tail_b - head_b)


@kernel
def survey_rivals(a, first, last, length, places, rules, ranking):
    """Best worth and best score of the other places for the same part of the read, and how many are near that worth."""
    best_worth, best_score, crowd = 0, 0, 0
    near = rules.match + rules.mismatch
    for counting in range(2):
        for b in range(first, last):
            if b == a or not ranking.distinct[b] or not is_rival(a, b, length, places, rules.match):
                continue
            if counting:
                crowd += ranking.worth[b] >= best_worth - near
            best_score, best_worth = max(best_score, places.score[b]), max(best_worth, ranking.worth[b])
    return best_worth, best_score, min(crowd, MOST_CROWD)


@kernel
def pick_supplementary(a, first, last, length, places, rules, ranking, rows):
    """Best candidates for parts of the read that the primary a leaves -> rows, best first; how many."""
    n = 0
    for b in range(first, last):
        if b == a or not ranking.distinct[b] or is_rival(a, b, length, places, rules.match):
            continue
        if n == MOST_SUPPLEMENTARY and not is_ahead(b, rows[n - 1], places.score, ranking.key):
            continue
        n = min(n + 1, MOST_SUPPLEMENTARY)
        i = n - 1
        while i > 0 and is_ahead(b, rows[i - 1], places.score, ranking.key):
            rows[i] = rows[i - 1]
            i -= 1
        rows[i] = b
    return n


@kernel
def pick_secondary(a, first, last, length, places, rules, ranking, rows, n):
    """Places nearly as good as a for the same part of the read -> rows from n on; none if they are too many."""
    found = n
    for b in range(first, last):
        if b == a or not ranking.distinct[b] or 1000 * places.score[b] < rules.secondary_ratio * places.score[a]:
            continue
        if is_rival(a, b, length, places, rules.match):
            if found - n == rules.most_secondary:
                return n
            rows[found] = b
            found += 1
    return found


@kernel
def list_choices(a, first, last, length, repetitive, places, rules, ranking, rows, made, out):
    """Rows for a read placed at candidate a (-1: nowhere) -> out from `made` on; returns the rows made by then."""
    if a < 0:
        return made
    others = pick_supplementary(a, first, last, length, places, rules, ranking, rows)
    n = pick_secondary(a, first, last, length, places, rules, ranking, rows, others)
    share = min(SCALE, repetitive * rules.seed_step * SCALE // length)
    for i in range(-1, n):
        c = a if i < 0 else rows[i]
        next_worth, next_score, crowd = survey_rivals(c, first, last, length, places, rules, ranking)
        out.candidate[made], out.second_score[made], out.mapping_quality[made] = c, next_score, 0
        out.role[made] = PRIMARY if i < 0 else (SUPPLEMENTARY if i < others else SECONDARY)
        if i < others:
            out.mapping_quality[made] = mapping_quality(
                ranking.worth[c] - next_worth,
                places.score[c] - next_score,
                rules.slope[min(length, MAX_READ_LENGTH)],
                rules.crowd_penalty[crowd],
                places.score[c],
                length * rules.match + 2 * rules.end_bonus,
                share,
            )
        made += 1
    return made


@kernel
def choose_places(reads, repetitive, places, contig_offsets, rules, choice_offsets, out, proper):
    """Choices of all reads; returns how many."""
    candidates = places.score.size
    ranking = Ranking(np.zeros(candidates, np.uint8), np.empty(candidates, np.uint64), places.score.copy())
    rows, winner = np.empty(MOST_SUPPLEMENTARY + rules.most_secondary, np.int64), np.empty(2, np.int64)
    made = 0
    choice_offsets[0] = 0
    for r in range(reads.segment.size):
        if reads.segment[r] == LAST:
            continue
        mates = 2 if reads.segment[r] == FIRST else 1
        name_key = hash_of(reads.names, reads.name_offsets[r], reads.name_offsets[r + 1])
        for m in range(mates):
            winner[m] = rank_read(r + m, rules.least_score, name_key, reads, places, ranking)
        weak = 0 if winner[0] < 0 else 1
        leaning = mates == 2 and winner[weak] < 0 and winner[1 - weak] >= 0  # placed beside its mate or not at all
        if leaning:
            winner[weak] = rank_read(r + weak, rules.least_mate_score, name_key, reads, places, ranking)
        paired = mates == 2 and winner[0] >= 0 and winner[1] >= 0
        paired = paired and place_pair(r, reads.offsets, places, contig_offsets, rules, ranking, winner)
        if leaning:
            if not paired:
                winner[weak] = -1
            for a in range(places.offsets[r + weak], places.offsets[r + weak + 1]):
                ranking.worth[a] = places.score[a]  # its mate makes it no surer
        for q in range(r, r + mates):
            length, first, last = reads.offsets[q + 1] - reads.offsets[q], places.offsets[q], places.offsets[q + 1]
            made = list_choices(
                winner[q - r], first, last, length, repetitive[q], places, rules, ranking, rows, made, out
            )
            proper[q], choice_offsets[q + 1] = paired, made
    return made


def least_mate_score(parameters: AlignParameters) -> int:
    """Lowest score of a read that is reported because its mate is placed beside it."""
    return min(parameters.records.min_score, parameters.records.min_mate_bases * parameters.scoring.match)


def rules_of(sizes: InsertSizes, parameters: AlignParameters) -> ChoiceRules:
    scoring, records, seed = parameters.scoring, parameters.records, parameters.seed
    return ChoiceRules(
        limits_of(sizes),
        insert_penalties(sizes, scoring.match),
        quality_slopes(MAX_READ_LENGTH, scoring.match),
        crowd_penalties(),
        scoring.match,
        scoring.mismatch,
        scoring.end_bonus,
        parameters.pair.unpaired_penalty,
        records.min_score,
        least_mate_score(parameters),
        records.max_secondary,
        round(1000 * records.secondary_ratio),
        seed.k - seed.s + 1,
    )


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
    room = len(reads) * (1 + MOST_SUPPLEMENTARY + parameters.records.max_secondary)
    offsets, proper = np.zeros(len(reads) + 1, np.int64), np.zeros(len(reads), np.uint8)
    rows = ChoiceRows(
        np.empty(room, np.int64), np.empty(room, np.uint8), np.empty(room, np.uint8), np.empty(room, np.int32)
    )
    places: PlaceView = view_places(candidates, scores)
    rules = rules_of(sizes, parameters)
    made = choose_places(view_reads(reads), repetitive, places, contig_offsets, rules, offsets, rows, proper)
    candidate, role, quality, second = (column[:made] for column in rows)
    return Choices(offsets, candidate, places.strand[candidate], role, quality, places.score[candidate], second, proper)
