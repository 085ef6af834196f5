"""Clip alignments to their highest-scoring stretch of runs, like local alignments.

A gap costs what `gaps` says, but at most `most`, so that a long one does not cut off what is beyond it.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.long.gaps import cost_of_gap
from readwarp.compiler.jit import kernel
from readwarp.pairwise.scalar import gain_of_bases
from readwarp.rules.bases import reference_code
from readwarp.rules.cigar import DELETION, INSERTION, MATCH


class CigarRuns(NamedTuple):
    """CIGARs of alignments, and the score and edits of each run."""

    offsets: Annotated[ndarray, "int64 [alignments + 1] of runs"]
    cigar: Annotated[ndarray, "uint32 [runs]"]
    score: Annotated[ndarray, "int32 [runs]"]
    edits: Annotated[ndarray, "int32 [runs]"]


class AlignedSpans(NamedTuple):
    """Spans of alignments on their oriented reads and on the reference."""

    query_start: Annotated[ndarray, "int64 [alignments]"]
    query_stop: Annotated[ndarray, "int64 [alignments]"]
    query_length: Annotated[ndarray, "int64 [alignments]"]  # of the read
    reference_start: Annotated[ndarray, "int64 [alignments]"]
    reference_stop: Annotated[ndarray, "int64 [alignments]"]
    score: Annotated[ndarray, "int32 [alignments]"]  # without bonuses
    edits: Annotated[ndarray, "int32 [alignments]"]


@kernel
def score_runs(sequences, starts, spans, costs, gaps, runs):
    """Score each run and count its edits. starts: of the reads in the oriented bases."""
    offsets, cigar, scores, edits = runs
    bases, packed = sequences
    for row in range(starts.size):
        q, r = starts[row] + spans.query_start[row], spans.reference_start[row]
        for i in range(offsets[row], offsets[row + 1]):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            if operation == MATCH:
                different, score = np.int64(0), np.int64(0)
                for j in range(length):
                    base, code = bases[q + j], reference_code(packed, r + j)
                    different += base != code
                    score += gain_of_bases(base, code, costs)
                scores[i] = score
                edits[i] = different
                q, r = q + length, r + length
                continue
            scores[i], edits[i] = -cost_of_gap(length, gaps), length
            q, r = q + length * (operation == INSERTION), r + length * (operation == DELETION)


@kernel
def clip_ends(runs, bonus, spans):
    """Keep the best runs of each alignment in `runs` and `spans`, the first of equals; return the number of runs."""
    offsets, cigar, scores, edits = runs
    query_start, query_stop, query_length, reference_start, reference_stop, span_score, span_edits = spans
    made, begin = np.int64(0), offsets[0]
    for row in range(query_start.size):
        last = offsets[row + 1]
        total = np.int64(bonus if query_start[row] == 0 else 0)
        best, first = np.int64(-1), begin
        low = high = begin
        for i in range(begin, last):
            is_match = cigar[i] & 15 == MATCH
            if is_match and total < 0:
                total, first = np.int64(0), i
            total += scores[i]
            whole = total + (bonus if i == last - 1 and query_stop[row] == query_length[row] else 0)
            if is_match and whole > best:
                best, low, high = whole, first, i + 1
        score = edit_distance = np.int64(0)
        at = made
        for i in range(begin, last):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            on_query, on_reference = length * (operation != DELETION), length * (operation != INSERTION)
            if i < low:
                query_start[row] += on_query
                reference_start[row] += on_reference
            elif i >= high:
                query_stop[row] -= on_query
                reference_stop[row] -= on_reference
            else:
                score, edit_distance = score + scores[i], edit_distance + edits[i]
                cigar[at] = cigar[i]
                at += 1
        span_score[row], span_edits[row] = score, edit_distance
        begin, made = last, at
        offsets[row + 1] = made
    return made
