"""Search for the parts of a read that good candidates leave unaligned, near these candidates and without seeds."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Candidates
from readwarp.align.pair.rescue import UNGAPPED, min_anchor_score
from readwarp.align.places import Places, contig_of, put_window
from readwarp.compiler.jit import kernel
from readwarp.config import AlignParameters
from readwarp.ragged import empty, take


class PartRules(NamedTuple):
    min_score: int
    unpaired_penalty: int
    least: int  # bases in a part
    bonus: int  # bases that score as much as a read end


@kernel
def add(a, r, length, part, places, contig_offsets, out, made):
    """Write a window for a part of read r, a read's length around place a, to row `made`; return the next row."""
    contig, v = contig_of(contig_offsets, places.stop[a] - 1), places.v[a]
    place, window = (r, places.strand[a], v + part[0]), (v - length, v + 2 * length)
    return put_window(out, made, place, window, contig, contig_offsets, (0, 0), part)


@kernel
def plan(read_offsets, places, contig_offsets, rules, out):
    """Write the windows of all reads to `out`; return their number."""
    made, shared = 0, rules.least // 4
    out.candidate_offsets[0] = 0
    for r in range(read_offsets.size - 1):
        length, min_score = read_offsets[r + 1] - read_offsets[r], -1
        for a in range(places.offsets[r], places.offsets[r + 1]):
            start, stop = np.int64(places.query_start[a]) + shared, np.int64(places.query_stop[a]) - shared
            if places.query_stop[a] == length:
                start += rules.bonus
            if max(start, length - stop) < rules.least or places.status[a] > UNGAPPED:
                continue
            if min_score < 0:
                min_score = min_anchor_score(r, places, rules)
            if places.score[a] >= min_score:
                if start >= rules.least:
                    made = add(a, r, length, (0, min(start, length)), places, contig_offsets, out, made)
                if length - stop >= rules.least:
                    made = add(a, r, length, (max(0, stop), length), places, contig_offsets, out, made)
        out.candidate_offsets[r + 1] = made
    return made


def plan_parts(
    read_offsets: ndarray, places: Places, contig_offsets: ndarray, parameters: AlignParameters
) -> Candidates:
    """Plan windows in which to align the read ends that good candidates (`places`) leave unaligned.

    They reach a read's length beyond the candidate: that is how far the alignment of one part can have displaced the
    other in its window. Two parts may share a quarter of the bases that a part must have.
    """
    scoring, min_score = parameters.scoring, parameters.records.min_score
    least = max(parameters.seed.k, -(-min_score // scoring.match))
    rules = PartRules(min_score, parameters.pair.unpaired_penalty, least, scoring.end_bonus // scoring.match)
    out = empty(Candidates, {"reads": read_offsets.size - 1, "candidates": 2 * places.score.size})
    return take(out, "candidates", slice(plan(read_offsets, places, contig_offsets, rules, out)))
