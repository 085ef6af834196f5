"""Search for the parts of a read that good candidates leave unaligned, near these candidates and without seeds."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Candidates
from readwarp.align.pair.rescue import UNGAPPED, min_anchor_score
from readwarp.align.places import Places, contig_of, put_window
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import AlignParameters
from readwarp.device.rows import ragged_rows


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


@scalar
def room_of_parts(r, read_offsets, places, contig_offsets, rules):
    """Return the maximum windows of read r."""
    return 2 * (places.offsets[r + 1] - places.offsets[r])


@ragged_rows(Candidates, room_of_parts)
def plan_ends(r, at, read_offsets, places, contig_offsets, rules, out):
    """Write the windows of read r."""
    shared, length, min_score = rules.least // 4, read_offsets[r + 1] - read_offsets[r], -1
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
                at = add(a, r, length, (0, min(start, length)), places, contig_offsets, out, at)
            if length - stop >= rules.least:
                at = add(a, r, length, (max(0, stop), length), places, contig_offsets, out, at)
    return at


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
    return plan_ends(read_offsets.size - 1, read_offsets, places, contig_offsets, rules)
