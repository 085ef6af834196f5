"""Choose the place of each read, its MAPQ, and the other candidates worth tracing."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Extensions
from readwarp.align.insert_models import InsertLimits, InsertModels, model_of
from readwarp.align.places import Places, are_rivals, contig_of, outer_distance, place_key
from readwarp.align.records import quality as rule
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.rows import each_row, empty_beside, ragged_rows, to_side_of
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.rules.hashes import hash_of, mix
from readwarp.rules.statuses import Status

UNPAIRED, FIRST, LAST = map(int, Segment)
UNGAPPED = int(Status.UNGAPPED)
PRIMARY, SUPPLEMENTARY, SECONDARY = range(3)
ALTERNATE = 3  # a hit on an ALT contig better than the primary one (`align.alternates`)
MAX_SUPPLEMENTARY = 4


class Choices(NamedTuple):
    """Candidates to trace, grouped by read: primary, supplementary, alternate and secondary ones."""

    choice_offsets: Annotated[ndarray, "int64 [reads + 1] of choices"]
    candidate: Annotated[ndarray, "int64 [choices]"]  # row in Candidates
    strand: Annotated[ndarray, "uint8 [choices]"]
    role: Annotated[ndarray, "uint8 [choices]"]  # PRIMARY, SUPPLEMENTARY, SECONDARY or ALTERNATE
    mapping_quality: Annotated[ndarray, "uint8 [choices]"]  # 0 for SECONDARY
    score: Annotated[ndarray, "int32 [choices]"]  # end bonus included
    second_score: Annotated[ndarray, "int32 [choices]"]  # of another place for the same part of the read; 0: none
    proper: Annotated[ndarray, "uint8 [reads]"]  # 1 where the read and its mate are placed as a concordant pair


class TracedChoices(NamedTuple):
    """The choices with their alignments, row by row."""

    choices: Choices
    extensions: Extensions


class Ranking(NamedTuple):
    """Candidates compared with each other."""

    distinct: Annotated[ndarray, "uint8 [candidates]"]  # 1 for the best candidate of each place
    key: Annotated[ndarray, "uint64 [candidates]"]  # breaks ties
    worth: Annotated[ndarray, "int32 [candidates]"]  # see the package's contract
    picked: Annotated[ndarray, "int64 [candidates]"]  # room for the other candidates of each read worth tracing


class Winners(NamedTuple):
    """The places of reads and their mates."""

    best: Annotated[ndarray, "int64 [reads]"]  # candidate; -1: none
    paired: Annotated[ndarray, "uint8 [reads]"]  # 1 where the mates are placed as a concordant pair


class PlaceRules(NamedTuple):
    """Rules for one read; few, since they are passed for every place."""

    slope: Annotated[ndarray, "int32 [lengths]"]  # by read length
    crowd_penalty: Annotated[ndarray, "int32 [places]"]  # by number of places
    match: int
    mismatch: int
    end_bonus: int
    max_secondary: int
    keeps_best: bool  # keep the best of more than max_secondary secondary places; else there are none then
    secondary_ratio: int  # in 1/1000
    seed_step: int  # read bases per seed


class ChoiceRules(NamedTuple):
    of_one: PlaceRules
    limits: InsertLimits
    insert_penalty: Annotated[ndarray, "int32 [models, distances]"]  # times FINE
    unpaired_penalty: int
    min_score: int
    min_mate_score: int
    pairing: bool


@kernel
def rank_read(r, lowest, name_key, reads, places, ranking):
    """Write distinct and key of the candidates of read r to `ranking`; return the best row or -1.

    Candidates need the score `lowest` or, for a short read, half its length.
    """
    first, last = places.offsets[r], places.offsets[r + 1]
    score, distinct = places.score, ranking.distinct
    lowest = max(1, min(lowest, (reads.read_offsets[r + 1] - reads.read_offsets[r]) // 2))
    for a in range(first, last):
        distinct[a] = places.status[a] <= UNGAPPED and score[a] >= lowest
        ranking.key[a] = place_key(name_key, places.v[a], places.strand[a])
        for b in range(first, a):
            if distinct[a] and distinct[b] and places.strand[a] == places.strand[b] and places.v[a] == places.v[b]:
                distinct[a if score[a] <= score[b] else b] = 0
    best = -1
    for a in range(first, last):
        if distinct[a] and (best < 0 or is_ahead(a, best, score, ranking.key)):
            best = a
    return best


@kernel
def is_ahead(a, b, score, key):
    return score[a] > score[b] or (score[a] == score[b] and key[a] < key[b])


@kernel
def weigh_pairs(r, model, read_offsets, places, contig_offsets, rules, ranking):
    """Raise the worth of concordant candidates of reads r and r + 1.

    Returns the rows of the best pair (-1, -1: none) and its score times FINE.
    """
    best_a = best_b = -1
    best_score, best_key = 0, np.uint64(0)
    length_a, length_b = read_offsets[r + 1] - read_offsets[r], read_offsets[r + 2] - read_offsets[r + 1]
    worth, low, high = ranking.worth, rules.limits.low[model], rules.limits.high[model]
    for a in range(places.offsets[r], places.offsets[r + 1]):
        for b in range(places.offsets[r + 1], places.offsets[r + 2]):
            if not ranking.distinct[a] or not ranking.distinct[b] or places.strand[a] == places.strand[b]:
                continue
            d = outer_distance(places.strand[a], places.v[a], length_a, places.v[b], length_b)
            if d < low or d > high:
                continue
            if contig_of(contig_offsets, places.stop[a] - 1) != contig_of(contig_offsets, places.stop[b] - 1):
                continue
            both = rule.FINE * (places.score[a] + places.score[b]) - rules.insert_penalty[model, d]
            whole = (both + rule.FINE // 2) // rule.FINE
            worth[a], worth[b] = max(worth[a], whole), max(worth[b], whole)
            key = mix(ranking.key[a] ^ (ranking.key[b] << np.uint64(1)))
            if best_a < 0 or both > best_score or (both == best_score and key < best_key):
                best_a, best_b, best_score, best_key = a, b, both, key
    return best_a, best_b, best_score


@kernel
def place_pair(r, reads, places, contig_offsets, rules, ranking, winner):
    """Weigh the candidates of two mates that both have a winner; return True, with new winners, if a pair is better."""
    score = places.score
    for m in range(2):
        for a in range(places.offsets[r + m], places.offsets[r + m + 1]):
            ranking.worth[a] += score[winner[1 - m]] - rules.unpaired_penalty
    apart = score[winner[0]] + score[winner[1]] - rules.unpaired_penalty
    model = model_of(rules.limits, reads.read_group[r])
    a, b, together = weigh_pairs(r, model, reads.read_offsets, places, contig_offsets, rules, ranking)
    if a < 0 or together <= rule.FINE * apart:
        return False
    winner[0], winner[1] = a, b
    return True


@kernel
def survey_rivals(a, span, length, places, rules, ranking):
    """Return best worth and score of other places for the same part of the read, and how many are near that worth."""
    best_worth = best_score = crowd = 0
    near = rules.match + rules.mismatch
    for counting in range(2):
        for b in range(*span):
            if b == a or not ranking.distinct[b] or not are_rivals(a, b, length, places.strand, places):
                continue
            if counting:
                crowd += ranking.worth[b] >= best_worth - near
            best_score, best_worth = max(best_score, places.score[b]), max(best_worth, ranking.worth[b])
    return best_worth, best_score, min(crowd, rule.MAX_CROWD)


@kernel
def judge(a, span, length, repetitive, places, rules, ranking):
    """Return the MAPQ of a read placed at a, and the score of the best other place for the same part."""
    next_worth, next_score, crowd = survey_rivals(a, span, length, places, rules, ranking)
    quality = rule.mapping_quality(
        ranking.worth[a] - next_worth,
        places.score[a] - next_score,
        rules.slope[min(length, MAX_READ_LENGTH)],
        rules.crowd_penalty[crowd],
        places.score[a],
        length * rules.match + 2 * rules.end_bonus,
        rule.share_left_out(repetitive, rules.seed_step, length),
    )
    return quality, next_score


@kernel
def is_nearer(primary, a, b, places, key):
    """Return whether a precedes b, which scores as much, as the place of another part: it is nearer to the primary."""
    far_a, far_b = distance(primary, a, places), distance(primary, b, places)
    return far_a < far_b or (far_a == far_b and key[a] < key[b])


@kernel
def distance(a, b, places):
    """Return the bases between the diagonals of two places; the other strand counts as farthest."""
    return abs(places.v[a] - places.v[b]) if places.strand[a] == places.strand[b] else 1 << 62


@kernel
def pick_supplementary(a, span, length, places, ranking, picked):
    """Pick the best candidates for parts that the primary a leaves over, best first; return their number."""
    score, key, n = places.score, ranking.key, 0
    for b in range(*span):
        if b == a or not ranking.distinct[b] or are_rivals(a, b, length, places.strand, places):
            continue
        row = n
        while row > 0:
            other = picked[row - 1]
            if score[b] < score[other] or (score[b] == score[other] and not is_nearer(a, b, other, places, key)):
                break
            row -= 1
        if row < MAX_SUPPLEMENTARY:
            n = min(n + 1, MAX_SUPPLEMENTARY)
            for i in range(n - 1, row, -1):
                picked[i] = picked[i - 1]
            picked[row] = b
    return n


@kernel
def pick_secondary(a, span, length, places, rules, ranking, picked, n):
    """Write places nearly as good as a for the same part of the read to `picked`, from row n.

    If there are too many: the best ones, best first, or none.
    """
    found, most = n, n + rules.max_secondary
    if most == n:
        return n
    for b in range(*span):
        if b == a or not ranking.distinct[b] or 1000 * places.score[b] < rules.secondary_ratio * places.score[a]:
            continue
        if are_rivals(a, b, length, places.strand, places):
            if found == most and not rules.keeps_best:
                return n
            if found == most and not is_ahead(b, picked[most - 1], places.score, ranking.key):
                continue
            found = min(found + 1, most)
            i = found - 1
            while rules.keeps_best and i > n and is_ahead(b, picked[i - 1], places.score, ranking.key):
                picked[i] = picked[i - 1]
                i -= 1
            picked[i] = b
    return found


@kernel
def put_choice(c, role, quality, second_score, scored, out, made):
    """Write candidate c, of a batch with strand and score, to row `made` of `out`; return the next row."""
    out.candidate[made], out.strand[made] = c, scored.strand[c]
    out.role[made], out.mapping_quality[made] = role, quality
    out.score[made], out.second_score[made] = scored.score[c], second_score
    return made + 1


@each_row
def place_template(r, reads, places, contig_offsets, rules, ranking, winners):
    """Choose the places of read r and its mate."""
    segment, best = reads.segment[r], winners.best[r : r + 2]
    if segment == LAST:
        return
    mates = 2 if segment == FIRST else 1
    name_key = hash_of(reads.names, reads.name_offsets[r], reads.name_offsets[r + 1])
    for a in range(places.offsets[r], places.offsets[r + mates]):
        ranking.worth[a] = places.score[a]
    for m in range(mates):
        best[m] = rank_read(r + m, rules.min_score, name_key, reads, places, ranking)
        winners.paired[r + m] = 0
    if mates == 1 or not rules.pairing:
        return
    weak = 0 if best[0] < 0 else 1
    leaning = best[weak] < 0 and best[1 - weak] >= 0  # placed beside its mate or nowhere
    if leaning:
        best[weak] = rank_read(r + weak, rules.min_mate_score, name_key, reads, places, ranking)
    if best[0] >= 0 and best[1] >= 0 and place_pair(r, reads, places, contig_offsets, rules, ranking, best):
        winners.paired[r] = winners.paired[r + 1] = 1
    elif leaning:
        best[weak] = -1
    if leaning:
        for a in range(places.offsets[r + weak], places.offsets[r + weak + 1]):
            ranking.worth[a] = places.score[a]  # the mate adds no confidence


@scalar
def room_of_choices(r, reads, repetitive, places, rules, ranked):
    """Return the maximum choices of read r."""
    return places.offsets[r + 1] - places.offsets[r] if ranked[1].best[r] >= 0 else np.int64(0)


@ragged_rows(Choices, room_of_choices)
def list_choices(r, at, reads, repetitive, places, rules, ranked, out):
    """Write the choices for read r: its place, and others worth tracing."""
    ranking, winners = ranked
    a, length = winners.best[r], reads.read_offsets[r + 1] - reads.read_offsets[r]
    out.proper[r] = winners.paired[r]
    if a < 0:
        return at
    span = places.offsets[r], places.offsets[r + 1]
    picked = ranking.picked[span[0] : span[1]]
    others = pick_supplementary(a, span, length, places, ranking, picked)
    for i in range(-1, pick_secondary(a, span, length, places, rules, ranking, picked, others)):
        c = a if i < 0 else picked[i]
        role = PRIMARY if i < 0 else (SUPPLEMENTARY if i < others else SECONDARY)
        quality, next_score = judge(c, span, length, repetitive[r], places, rules, ranking)
        at = put_choice(c, role, 0 if role == SECONDARY else quality, next_score, places, out, at)
    return at


def min_mate_score(parameters: AlignParameters) -> int:
    """Return the minimum score of a read that is reported because it is placed beside its mate."""
    return min(parameters.records.min_score, parameters.records.min_mate_bases * parameters.scoring.match)


def place_rules(parameters: AlignParameters) -> PlaceRules:
    scoring, records = parameters.scoring, parameters.records
    return PlaceRules(
        rule.slope_table(scoring.match),
        rule.crowd_penalties(),
        scoring.match,
        scoring.mismatch,
        scoring.end_bonus,
        records.max_secondary,
        records.secondary_records,
        round(1000 * records.secondary_ratio),
        parameters.seed.k - parameters.seed.s + 1,
    )


def rules_of(sizes: InsertModels, parameters: AlignParameters) -> ChoiceRules:
    penalties = [rule.insert_penalties(each, parameters.scoring.match) for each in sizes.all]
    table = np.zeros((len(penalties), max(row.size for row in penalties)), np.int32)
    for row, penalty in zip(table, penalties, strict=True):
        row[: penalty.size] = penalty
    return ChoiceRules(
        place_rules(parameters),
        sizes.limits(),
        table,
        parameters.pair.unpaired_penalty,
        parameters.records.min_score,
        min_mate_score(parameters),
        parameters.pair.pairing,
    )


def choose(
    reads: ReadBatch,
    places: Places,
    sizes: InsertModels,
    parameters: AlignParameters,
    repetitive: ndarray,
    contig_offsets: ndarray,
) -> Choices:
    """Choose the place of each read and its mate, other places worth tracing, and MAPQs."""
    rules, n = to_side_of(places.score, rules_of(sizes, parameters)), len(reads)
    ranking = empty_beside(places.score, Ranking, {"candidates": places.score.size})
    winners = empty_beside(places.score, Winners, {"reads": n})
    place_template(n, reads, places, contig_offsets, rules, ranking, winners)
    return list_choices(n, reads, repetitive, places, rules.of_one, (ranking, winners))
