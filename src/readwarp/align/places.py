"""Places of reads on the reference, as several steps use them.

v is the reference position of query position 0, gaps undone.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Candidates, Scores
from readwarp.compiler.jit import scalar
from readwarp.config import AlignParameters
from readwarp.device.rows import each_row, maker_beside
from readwarp.index.reference import Reference
from readwarp.rules.hashes import mix


class Genome(NamedTuple):
    """The arrays of an `index.Reference`, for kernels."""

    packed: Annotated[ndarray, "uint8 [packed bases]"]
    contig_offsets: Annotated[ndarray, "int64 [contigs + 1]"]

    @classmethod
    def of(cls, reference: Reference) -> "Genome":
        return cls(reference.packed, reference.contig_offsets)


class Places(NamedTuple):
    """Scored candidates, grouped by read."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of places"]
    strand: Annotated[ndarray, "uint8 [places]"]
    v: Annotated[ndarray, "int64 [places]"]  # gaps undone from the end
    stop: Annotated[ndarray, "int64 [places]"]  # reference position after the alignment
    query_start: Annotated[ndarray, "int32 [places]"]  # approximate start of the aligned part of the oriented read
    query_stop: Annotated[ndarray, "int32 [places]"]
    score: Annotated[ndarray, "int32 [places]"]
    status: Annotated[ndarray, "uint8 [places]"]


def places_of(candidates: Candidates, scores: Scores, parameters: AlignParameters) -> Places:
    """Return the places of the candidates, each as long as its score requires or reaching back to its chain's start.

    It does not reach back over a gap that may cost more than the minimum score of a part; an insertion, which may be a
    tandem duplication, also costs its bases. A part that scores less than a seed, which chance may bring, counts as 0.
    """
    scoring, room = parameters.scoring, max(0, parameters.records.min_score - parameters.scoring.gap_open)
    longest = room // max(1, scoring.gap_extend), room // (scoring.gap_extend + scoring.match)
    rules = (scoring.match, scoring.end_bonus, parameters.seed.k * scoring.match), longest
    make, number = maker_beside(scores.score), len(candidates)
    v, query_start, score = make(number, np.int64), make(number, np.int32), make(number, np.int32)
    find_start(number, candidates, scores, rules, v, query_start, score)
    return Places(
        candidates.candidate_offsets,
        candidates.strand,
        v=v,
        stop=scores.reference_stop,
        query_start=query_start,
        query_stop=scores.query_stop,
        score=score,
        status=scores.status,
    )


@each_row
def find_start(c, candidates, scores, rules, v, query_start, score):
    """See `places_of`."""
    (match, end_bonus, least), (longest_deletion, longest_insertion) = rules
    v[c], score[c] = scores.reference_stop[c] - scores.query_stop[c], scores.score[c]
    if candidates.part_stop[c] > 0:
        if has_false_bonus(c, candidates, score[c], scores.query_stop[c], match, end_bonus):
            score[c] -= end_bonus
        score[c] *= score[c] >= least
    start = scores.query_stop[c] - score[c] // match
    is_chained = candidates.query_stop[c] > 0  # windows for mates and for parts have no chain
    if is_chained and -longest_insertion <= v[c] - candidates.diagonal[c] <= longest_deletion:
        start = min(start, np.int64(candidates.query_start[c]))
    query_start[c] = max(start, 0)


@scalar
def has_false_bonus(c, candidates, score, query_stop, match, end_bonus):
    """Return whether a part of a read has the bonus of an end not the read's; for a start, only the score tells."""
    start, at_stop = candidates.part_start[c], query_stop == candidates.part_stop[c]
    return at_stop if start == 0 else score > match * (query_stop - start) + end_bonus * at_stop


@scalar
def contig_of(contig_offsets, position):
    """Return the contig that holds a reference position (binary search)."""
    low, high = 0, contig_offsets.size - 2
    while low < high:
        middle = (low + high + 1) >> 1
        if contig_offsets[middle] <= position:
            low = middle
        else:
            high = middle - 1
    return low


@scalar
def outer_distance(strand_a, v_a, length_a, v_b, length_b):
    """Return the outer distance of mates on opposite strands: negative or short if they point away from each other."""
    if strand_a == 0:
        return v_b + length_b - v_a
    return v_a + length_a - v_b


@scalar
def share_half(start_a, stop_a, start_b, stop_b):
    """Return whether two spans of a read share at least half of the shorter one."""
    return 2 * (min(stop_a, stop_b) - max(start_a, start_b)) >= min(stop_a - start_a, stop_b - start_b)


@scalar
def turned(start, stop, length, is_reverse):
    """Return a span of a read, counted from the read's other end if it is reversed."""
    if is_reverse:
        start, stop = length - stop, length - start
    return start, stop


@scalar
def are_rivals(a, b, length, strand, spans):
    """Return whether a and b place the same part of a read: at least half of the shorter span.

    spans: a batch with query_start and query_stop on the oriented read.
    """
    start, stop = turned(spans.query_start[b], spans.query_stop[b], length, strand[a] != strand[b])
    return share_half(spans.query_start[a], spans.query_stop[a], start, stop)


@scalar
def place_key(name_key, diagonal, strand):
    """Return the key that breaks ties between places: reads scatter over equal ones, but in the same way in any batch.

    name_key: hash of the read's name.
    """
    return mix(name_key ^ np.uint64(diagonal * 2 + strand))


@scalar
def put_window(out, row, place, window, contig, contig_offsets, chained, part):
    """Write a window, clipped to its contig, to a row of `out` (Candidates); return the next row.

    place: read, strand and diagonal; chained, part: see Candidates.
    """
    out.read[row], out.strand[row], out.diagonal[row] = place
    out.window_start[row] = max(contig_offsets[contig], window[0])
    out.window_stop[row] = min(contig_offsets[contig + 1], window[1])
    out.query_start[row], out.query_stop[row] = chained
    out.part_start[row], out.part_stop[row] = part
    return row + 1
