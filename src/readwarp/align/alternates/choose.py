"""Choose among places of which some are on ALT contigs: loci compete, and hits on ALT contigs follow."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align import records
from readwarp.align.alternates.lift import Loci, find_loci, is_same_locus, is_usable, rules_of
from readwarp.align.alternates.table import Alternates
from readwarp.align.insert_models import InsertModels
from readwarp.align.places import Places, are_rivals
from readwarp.align.records.choose import (
    ALTERNATE,
    SECONDARY,
    Choices,
    PlaceRules,
    Ranking,
    is_ahead,
    judge,
    place_rules,
    put_choice,
    rank_read,
)
from readwarp.compiler.jit import kernel
from readwarp.config import AlignParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import empty, offsets_of, replace, take
from readwarp.rules.hashes import hash_of

TIE = 1  # a hit on an ALT contig counts this much less, so that a primary place of equal score comes first


class PlaceWeights(NamedTuple):
    """Values of the places in the choice."""

    is_kept: Annotated[ndarray, "uint8 [places]"]  # competes for the place of its read
    score: Annotated[ndarray, "int32 [places]"]  # including what hits on ALT contigs add
    has_place: Annotated[ndarray, "uint8 [places]"]  # on an ALT contig, in a locus with a place on the primary assembly


class Hits(NamedTuple):
    """Hits that follow the place of each read."""

    best: Annotated[ndarray, "int64 [reads]"]  # on an ALT contig, better than the read's place; -1: none
    mapping_quality: Annotated[ndarray, "uint8 [reads]"]  # of the best hit
    second_score: Annotated[ndarray, "int32 [reads]"]  # of the best place in another locus
    is_other: Annotated[ndarray, "uint8 [places]"]  # other hits on ALT contigs that are nearly as good


class PlaceContext(NamedTuple):
    """Everything known about the places."""

    places: Places
    loci: Loci
    weighed: PlaceWeights
    ranking: Ranking  # by their own scores
    apart: Ranking  # the same without the locus under consideration
    rules: PlaceRules


@kernel
def best_of_locus(a, span, length, places, loci, rules):
    """Find the best usable place on the primary assembly in the locus of place a; -1 if there is none."""
    best = -1
    for b in range(*span):
        if not loci.is_alternate[b] and is_same_locus(a, b, loci) and is_usable(b, length, places, rules):
            best = b if best < 0 or places.score[b] > places.score[best] else best
    return best


@kernel
def raise_locus(a, span, length, places, loci, rules, weighed):
    """Raise the places on the primary assembly in the locus of the ALT hit a to its score, in `weighed`."""
    best = best_of_locus(a, span, length, places, loci, rules)
    if best < 0:
        return
    weighed.has_place[a] = 1
    gain = places.score[a] - TIE - places.score[best]
    for b in range(*span):
        if gain > 0 and not loci.is_alternate[b] and is_same_locus(a, b, loci) and is_usable(b, length, places, rules):
            weighed.score[b] = max(weighed.score[b], places.score[b] + gain)


@kernel
def weigh(read_offsets, places, loci, rules, weighed):
    """Write the scores of loci to `weighed`. Hits on ALT contigs compete only where a read has no other place."""
    weighed.has_place[:], weighed.is_kept[:] = 0, 1
    for r in range(read_offsets.size - 1):
        span, length = (places.offsets[r], places.offsets[r + 1]), read_offsets[r + 1] - read_offsets[r]
        hits, others = 0, 0
        for a in range(*span):
            weighed.score[a] = places.score[a]
            hits += loci.is_alternate[a]
            others += not loci.is_alternate[a] and is_usable(a, length, places, rules)
        if hits == 0 or others == 0:
            continue
        for a in range(*span):
            if loci.is_alternate[a]:
                weighed.is_kept[a] = 0
                if is_usable(a, length, places, rules):
                    raise_locus(a, span, length, places, loci, rules, weighed)


@kernel
def judge_locus(a, span, length, repetitive, known):
    """Return the MAPQ of a read at the locus of place a, and the score of the best other locus."""
    for b in range(*span):
        known.apart.distinct[b] = known.ranking.distinct[b] and (a == b or not is_same_locus(a, b, known.loci))
    return judge(a, span, length, repetitive, known.places, known.rules, known.apart)


@kernel
def best_hit(a, span, length, known):
    """Find the best hit on an ALT contig that scores more than a read's place a; -1 if there is none.

    It is in the locus of a, preferred among equals, or has no place on the primary assembly.
    """
    places, loci = known.places, known.loci
    score, ranking = places.score, known.ranking
    best, is_near = -1, False
    for b in range(*span):
        if (
            not loci.is_alternate[b]
            or not ranking.distinct[b]
            or score[b] <= score[a]
            or not are_rivals(a, b, length, places.strand, places)
        ):
            continue
        near = is_same_locus(a, b, loci)
        if known.weighed.has_place[b] and not near:
            continue
        if best >= 0 and score[b] == score[best] and near != is_near:
            comes_first = near
        else:
            comes_first = best < 0 or is_ahead(b, best, score, ranking.key)
        if comes_first:
            best, is_near = b, near
    return best


@kernel
def mark_others(a, best, span, length, known, is_other):
    """Mark in `is_other` the hits on ALT contigs, beside the best one, that are nearly as good as it and place a."""
    places = known.places
    lowest = known.rules.secondary_ratio * places.score[a if best < 0 else best]
    for b in range(*span):
        if b != best and known.loci.is_alternate[b] and known.ranking.distinct[b]:
            is_other[b] = 1000 * places.score[b] >= lowest and are_rivals(a, b, length, places.strand, places)


@kernel
def find_hits(reads, repetitive, choices, min_score, known, hits):
    """Write the hits of all reads to `hits`. A read placed on an ALT contig gets the MAPQ of its locus."""
    loci, offsets = known.loci, known.places.offsets
    hits.is_other[:] = 0
    for r in range(choices.proper.size):
        first, span = choices.choice_offsets[r], (offsets[r], offsets[r + 1])
        number, hits.best[r] = 0, -1
        for a in range(*span):
            number += loci.is_alternate[a]
        if number == 0 or first == choices.choice_offsets[r + 1]:
            continue
        a, length = choices.candidate[first], reads.read_offsets[r + 1] - reads.read_offsets[r]
        name_key = hash_of(reads.names, reads.name_offsets[r], reads.name_offsets[r + 1])
        rank_read(r, min_score, name_key, reads, known.places, known.ranking)
        if loci.is_alternate[a]:
            quality, _ = judge_locus(a, span, length, repetitive[r], known)
            choices.mapping_quality[first] = max(quality, choices.mapping_quality[first])
            continue
        best = best_hit(a, span, length, known)
        mark_others(a, best, span, length, known, hits.is_other)
        hits.best[r] = best
        if best >= 0:
            quality, hits.second_score[r] = judge_locus(best, span, length, repetitive[r], known)
            is_near = is_same_locus(a, best, loci)
            hits.mapping_quality[r] = max(quality, choices.mapping_quality[first]) if is_near else quality


@kernel
def copy_choices(start, stop, places, choices, out, made):
    for e in range(start, stop):
        quality, second_score = choices.mapping_quality[e], choices.second_score[e]
        made = put_choice(choices.candidate[e], choices.role[e], quality, second_score, places, out, made)
    return made


@kernel
def put_others(r, room, known, hits, out, made):
    """Write other hits of read r to `out`, best first, while there is room; return the number of rows so far."""
    places, key = known.places, known.ranking.key
    while room > 0:
        best = -1
        for b in range(places.offsets[r], places.offsets[r + 1]):
            if hits.is_other[b] and (best < 0 or is_ahead(b, best, places.score, key)):
                best = b
        if best < 0:
            break
        made, room = put_choice(best, SECONDARY, 0, 0, places, out, made), room - 1
        hits.is_other[best] = 0
    return made


@kernel
def join(choices, known, hits, out):
    """Write the choices and the hits that follow them to `out`; return their number."""
    made, places = np.int64(0), known.places
    out.choice_offsets[0] = 0
    for r in range(choices.proper.size):
        first, last = choices.choice_offsets[r], choices.choice_offsets[r + 1]
        secondary = first
        while secondary < last and choices.role[secondary] != SECONDARY:
            secondary += 1
        made = copy_choices(first, secondary, places, choices, out, made)
        if hits.best[r] >= 0:
            quality, second_score = hits.mapping_quality[r], hits.second_score[r]
            made = put_choice(hits.best[r], ALTERNATE, quality, second_score, places, out, made)
        made = copy_choices(secondary, last, places, choices, out, made)
        room = known.rules.max_secondary - (last - secondary) if known.rules.keeps_best else places.score.size
        made = put_others(r, room, known, hits, out, made)
        out.proper[r], out.choice_offsets[r + 1] = choices.proper[r], made
    return made


def choose(
    reads: ReadBatch,
    places: Places,
    sizes: InsertModels,
    parameters: AlignParameters,
    repetitive: ndarray,
    table: Alternates,
) -> Choices:
    """Apply `records.choose` to the loci of reads, and add hits on ALT contigs after them."""
    number, lengths = places.score.size, {"reads": len(reads), "places": places.score.size}
    loci, weighed = find_loci(reads, places, table), empty(PlaceWeights, lengths)
    weigh(reads.read_offsets, places, loci, rules_of(parameters), weighed)
    rows = np.flatnonzero(weighed.is_kept)
    competing = replace(
        take(places, "places", rows), offsets=offsets_of(weighed.is_kept)[places.offsets], score=weighed.score[rows]
    )
    choices = records.choose(reads, competing, sizes, parameters, repetitive, table.contig_offsets)
    choices = replace(choices, candidate=rows[choices.candidate])
    nothing = np.empty(0, np.int64)
    ranking = Ranking(np.zeros(number, np.uint8), np.empty(number, np.uint64), places.score, nothing)
    apart = ranking._replace(distinct=np.zeros(number, np.uint8))
    known, hits = PlaceContext(places, loci, weighed, ranking, apart, place_rules(parameters)), empty(Hits, lengths)
    find_hits(reads, repetitive, choices, parameters.records.min_score, known, hits)
    room = choices.candidate.size + len(reads) + int(hits.is_other.sum())
    out = empty(Choices, {"reads": len(reads), "choices": room})
    return take(out, "choices", slice(join(choices, known, hits, out)))
