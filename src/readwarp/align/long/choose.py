"""Choose which alignments of long reads become records, and how certain their places are.

    choose(reads: ReadBatch, found: Found, repetitive: int32 [reads], parameters, alternates) -> (Choices, Extensions)

**Roles.** Alignments are taken in order of score (bonuses included; ties: nearest to the read's best one, then as in
align/records). One that shares at least half of the shorter read span with an earlier one is a rival of the first such,
or the same place again if the two share as much of the reference on one strand. The others place further parts of the
read: the first is the primary alignment, the rest are supplementary. With `secondary_records`, rivals with at least
`secondary_ratio` of the score of what they rival are secondary, up to the best `max_secondary` of a read. XA is not
written: its CIGARs would be as long as the read's. Alignments to ALT contigs come after those to the primary assembly,
whatever their score; those that rival one of these are left out.

**MAPQ** is that of align/records, from the score less that of the best rival. The slope is that of the aligned span,
and a score of less than SURE matches is trusted in proportion, since few seeds support it. A supplementary alignment is
also scaled by the fourth power of its identity (score by span) over that of the read's primary alignment: both were
sequenced with the same errors, so one that differs more is more likely a relative of the part, such as another Alu.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.alternates.table import Alternates, are_alternate
from readwarp.align.batches import Extensions
from readwarp.align.places import place_key, share_half
from readwarp.align.records import quality as rule
from readwarp.align.records.choose import PRIMARY, SECONDARY, SUPPLEMENTARY, Choices, put_choice
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import AlignParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import empty, offsets_of, take
from readwarp.rules.hashes import hash_of

SURE = 1000  # matches less differences
NO_RIVAL = -1


class LongAlignments(NamedTuple):
    """Alignments of the reads of a batch, grouped by read."""

    extensions: Extensions
    read: Annotated[ndarray, "int64 [alignments]"]
    strand: Annotated[ndarray, "uint8 [alignments]"]


class Ranked(NamedTuple):
    """Alignments of each read, best first."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of alignments"]
    strand: Annotated[ndarray, "uint8 [alignments]"]
    start: Annotated[ndarray, "int64 [alignments]"]  # on the read as sequenced
    stop: Annotated[ndarray, "int64 [alignments]"]
    reference_start: Annotated[ndarray, "int64 [alignments]"]
    reference_stop: Annotated[ndarray, "int64 [alignments]"]
    score: Annotated[ndarray, "int32 [alignments]"]  # bonuses included
    is_alternate: Annotated[ndarray, "bool [alignments]"]  # on an ALT contig; these come last


class Verdicts(NamedTuple):
    """Decisions on the alignments, row by row."""

    rivals: Annotated[ndarray, "int64 [alignments]"]  # row of the alignment it rivals; NO_RIVAL: none
    is_left_out: Annotated[ndarray, "bool [alignments]"]  # the same place again, or an ALT contig beside it
    second: Annotated[ndarray, "int32 [alignments]"]  # score of the best rival; 0: none
    crowd: Annotated[ndarray, "int64 [alignments]"]  # number of rivals that score nearly as much as the best one


class QualityRules(NamedTuple):
    """MAPQ rules of one batch."""

    slope: Annotated[ndarray, "int32 [alignments]"]
    crowd_penalty: Annotated[ndarray, "int32 [places]"]
    repetitive: Annotated[ndarray, "int32 [reads]"]  # seeds left out
    lengths: Annotated[ndarray, "int64 [reads]"]
    seed_step: int  # read bases per seed
    match: int
    min_score: int


def choose(
    reads: ReadBatch,
    found: LongAlignments,
    repetitive: ndarray,
    parameters: AlignParameters,
    alternates: Alternates | None = None,
) -> tuple[Choices, Extensions]:
    """Choose the alignments that become records, the primary of each read first."""
    extensions, read, strand = found
    lengths = np.diff(reads.read_offsets)
    length = lengths[read]
    reached = (extensions.query_start == 0).astype(np.int32) + (extensions.query_stop == length)
    score = (extensions.score + parameters.scoring.end_bonus * reached).astype(np.int32)
    start = np.where(strand == 0, extensions.query_start, length - extensions.query_stop)
    stop = np.where(strand == 0, extensions.query_stop, length - extensions.query_start)
    keys = np.empty(read.size, np.uint64)
    make_keys(reads, read, extensions.reference_start - extensions.query_start, strand, keys)
    begin = extensions.reference_start
    is_alternate = np.zeros(read.size, bool) if alternates is None else are_alternate(alternates, begin)
    order = np.lexsort((keys, -score, is_alternate, read))
    far = distances(read, strand, extensions, order)
    order = np.lexsort((keys, far, -score, is_alternate, read))
    offsets = offsets_of(np.bincount(read, minlength=len(reads)))
    places = extensions.reference_start, extensions.reference_stop
    ranked = Ranked(offsets, *(column[order] for column in (strand, start, stop, *places, score, is_alternate)))
    verdicts = empty(Verdicts, {"alignments": read.size})
    judge(ranked, parameters.scoring.match + parameters.scoring.mismatch, verdicts)
    rules = rules_of(ranked, repetitive, lengths, parameters)
    out = empty(Choices, {"reads": len(reads), "choices": read.size})
    secondary = parameters.records.max_secondary if parameters.records.secondary_records else 0
    made = list_choices(ranked, verdicts, rules, (secondary, round(1000 * parameters.records.secondary_ratio)), out)
    rows = order[out.candidate[:made]]
    return take(out, "choices", slice(made))._replace(candidate=rows), take(extensions, "extensions", rows)


def rules_of(ranked: Ranked, repetitive: ndarray, lengths: ndarray, parameters: AlignParameters) -> QualityRules:
    seed, match = parameters.seed, parameters.scoring.match
    step = (seed.k - seed.s + 1) << parameters.long.seed.sampling_bits
    trust = np.minimum(1.0, ranked.score / (match * SURE))
    slope = np.rint(rule.quality_slopes(ranked.stop - ranked.start, match) * trust).astype(np.int32)
    return QualityRules(slope, rule.crowd_penalties(), repetitive, lengths, step, match, parameters.records.min_score)


def distances(read: ndarray, strand: ndarray, extensions: Extensions, order: ndarray) -> ndarray:
    """Return int64 [alignments]: bases between the diagonals of each and of its read's best one, by `order`."""
    is_best = np.diff(read[order], prepend=-1) != 0
    best = np.repeat(order[is_best], np.diff(np.flatnonzero(is_best), append=read.size))[np.argsort(order)]
    diagonal = extensions.reference_start - extensions.query_start
    return np.where(strand == strand[best], np.abs(diagonal - diagonal[best]), np.iinfo(np.int64).max)


@kernel
def make_keys(reads, read, diagonal, strand, keys):
    names, name_offsets = reads.names, reads.name_offsets
    for row in range(read.size):
        r = read[row]
        name_key = hash_of(names, name_offsets[r], name_offsets[r + 1])
        keys[row] = place_key(name_key, diagonal[row], strand[row])


@kernel
def judge(ranked, near, verdicts):
    """Write the rival of each alignment to `verdicts`. Scores within `near` of the best rival's are near."""
    offsets, score = ranked.offsets, ranked.score
    rivals, is_left_out, second, crowd = verdicts
    for read in range(offsets.size - 1):
        for b in range(offsets[read], offsets[read + 1]):
            rivals[b], is_left_out[b] = NO_RIVAL, False
            second[b], crowd[b] = 0, 0
            for a in range(offsets[read], b):
                if rivals[a] != NO_RIVAL:
                    continue
                if share_half(ranked.start[a], ranked.stop[a], ranked.start[b], ranked.stop[b]):
                    rivals[b] = a
                    is_left_out[b] = are_same_place(a, b, ranked) or ranked.is_alternate[b] > ranked.is_alternate[a]
                    break
            a = rivals[b]
            if a != NO_RIVAL and not is_left_out[b]:
                if second[a] == 0:
                    second[a] = score[b]
                crowd[a] += score[b] >= second[a] - near


@scalar
def are_same_place(a, b, ranked):
    start, stop = ranked.reference_start, ranked.reference_stop
    return ranked.strand[a] == ranked.strand[b] and share_half(start[a], stop[a], start[b], stop[b])


@scalar
def identity_of(score, perfect):
    """Return the identity in units of 1 / SCALE, at least 1."""
    return max(1, min(rule.SCALE, score * rule.SCALE // perfect))


@scalar
def relative_trust(identity, best):
    """Return (identity / best)^4 in units of 1 / SCALE, at most 1."""
    square = min(rule.SCALE, identity * rule.SCALE // best) ** 2 // rule.SCALE
    return square * square // rule.SCALE


@kernel
def list_choices(ranked, verdicts, rules, secondary, out):
    """Write the rows of each read by role to `out`, `candidate` counting in `ranked`; return their number."""
    offsets, score = ranked.offsets, ranked.score
    rivals, is_left_out, second, crowd = verdicts
    (max_secondary, ratio), made = secondary, np.int64(0)
    out.choice_offsets[0] = 0
    for read in range(offsets.size - 1):
        first = made
        others, best = np.int64(0), np.int64(rule.SCALE)
        for a in range(offsets[read], offsets[read + 1]):
            if rivals[a] != NO_RIVAL or score[a] < rules.min_score:
                continue
            delta = score[a] - second[a]
            penalty = rules.crowd_penalty[min(crowd[a], rule.MAX_CROWD)]
            perfect = max((ranked.stop[a] - ranked.start[a]) * rules.match, 1)
            identity = identity_of(np.int64(score[a]), perfect)
            best = identity if made == first else best
            trusted = rules.slope[a] * relative_trust(identity, best) // rule.SCALE
            share = rule.share_left_out(rules.repetitive[read], rules.seed_step, rules.lengths[read])
            quality = rule.mapping_quality(delta, delta, trusted, penalty, score[a], perfect, share)
            role = PRIMARY if made == first else SUPPLEMENTARY
            made = put_choice(a, role, quality, second[a], ranked, out, made)
        for b in range(offsets[read], offsets[read + 1] if made > first else offsets[read]):
            a = rivals[b]
            if a == NO_RIVAL or is_left_out[b] or others == max_secondary:
                continue
            if 1000 * np.int64(score[b]) >= ratio * np.int64(score[a]) and score[a] >= rules.min_score:
                made, others = put_choice(b, SECONDARY, 0, score[a], ranked, out, made), others + 1
        out.proper[read], out.choice_offsets[read + 1] = 0, made
    return made
