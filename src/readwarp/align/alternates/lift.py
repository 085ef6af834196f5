"""Lift places of reads over to the primary assembly, and plan windows there for those on ALT contigs."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.alternates.table import Alternates, primary_stop
from readwarp.align.batches import Candidates, Scores
from readwarp.align.places import Places, contig_of, places_of, put_window
from readwarp.compiler.jit import kernel
from readwarp.config import AlignParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import empty, take
from readwarp.rules.statuses import Status

UNGAPPED = int(Status.UNGAPPED)
MAX_WINDOWS = 8  # per read
NOWHERE = -1


class Loci(NamedTuple):
    """Places on the primary assembly; those on ALT contigs are lifted over."""

    is_alternate: Annotated[ndarray, "uint8 [places]"]
    start: Annotated[ndarray, "int64 [places]"]  # rough reference position of the aligned part; NOWHERE: no lift-over
    stop: Annotated[ndarray, "int64 [places]"]
    diagonal: Annotated[ndarray, "int64 [places]"]  # diagonal of query position 0
    strand: Annotated[ndarray, "uint8 [places]"]


class LiftRules(NamedTuple):
    min_score: int
    end_bonus: int
    padding: int


@kernel
def longest_run(table, start, stop):
    """Find the run that overlaps most with [start, stop) of an ALT contig; -1 if none does."""
    run = np.searchsorted(table.start, stop) - 1
    best, most = -1, 0
    while run >= 0 and table.stop[run] > start:
        shared = min(stop, table.stop[run]) - max(start, table.start[run])
        if shared >= most:
            best, most = run, shared
        run -= 1
    return best


@kernel
def lift(a, length, table, loci):
    """Move place a of a read to the primary assembly by the run of its ALT contig with which it overlaps most."""
    start, stop = loci.start[a], loci.stop[a]
    diagonal, contig_offsets = loci.diagonal[a], table.contig_offsets
    run = longest_run(table, start, stop)
    if run < 0:
        loci.start[a], loci.stop[a] = NOWHERE, NOWHERE
        return
    if table.strand[run]:
        mirror = table.image[run] + table.start[run]
        start, stop, diagonal = mirror - stop + 1, mirror - start + 1, mirror - (diagonal + length - 1)
        loci.strand[a] = 1 - loci.strand[a]
    else:
        shift = table.image[run] - table.start[run]
        start, stop = start + shift, stop + shift
        diagonal += shift
    contig = contig_of(contig_offsets, table.image[run])
    loci.start[a], loci.stop[a] = max(start, contig_offsets[contig]), min(stop, contig_offsets[contig + 1])
    loci.diagonal[a] = diagonal


@kernel
def find(read_offsets, places, table, begin, loci):
    """Write the loci of all places to `loci`. begin: start of the first ALT contig."""
    contig_offsets = table.contig_offsets
    for r in range(read_offsets.size - 1):
        for a in range(places.offsets[r], places.offsets[r + 1]):
            stop = places.stop[a]
            loci.is_alternate[a] = 0
            loci.strand[a], loci.diagonal[a] = places.strand[a], places.v[a]
            loci.start[a], loci.stop[a] = places.v[a] + places.query_start[a], stop
            if stop > begin:
                contig = contig_of(contig_offsets, stop - 1)
                loci.is_alternate[a] = table.is_alternate[contig]
                loci.start[a] = max(loci.start[a], contig_offsets[contig])
            if loci.is_alternate[a]:
                lift(a, read_offsets[r + 1] - read_offsets[r], table, loci)


def find_loci(reads: ReadBatch, places: Places, table: Alternates) -> Loci:
    loci = empty(Loci, {"places": places.score.size})
    find(reads.read_offsets, places, table, primary_stop(table), loci)
    return loci


@kernel
def is_same_locus(a, b, loci):
    """Return whether two places overlap on one strand of the primary assembly."""
    return loci.strand[a] == loci.strand[b] and loci.start[a] < loci.stop[b] and loci.start[b] < loci.stop[a]


@kernel
def is_usable(a, length, places, rules):
    """Return whether place a is certain to become a record: its score reaches the minimum without end bonuses."""
    lowest = min(rules.min_score, max(1, length // 2))
    return places.status[a] <= UNGAPPED and places.score[a] - 2 * rules.end_bonus >= lowest


@kernel
def has_window(a, r, loci, places, length, rules, out, made):
    """Return whether the locus of place a of read r has a usable place on the primary assembly, or a window already."""
    for b in range(places.offsets[r], places.offsets[r + 1]):
        if not loci.is_alternate[b] and is_same_locus(a, b, loci) and is_usable(b, length, places, rules):
            return True
    for w in range(out.candidate_offsets[r], made):
        if out.strand[w] == loci.strand[a] and abs(out.diagonal[w] - loci.diagonal[a]) < length:
            return True
    return False


@kernel
def plan(read_offsets, places, loci, contig_offsets, rules, out):
    """Write the windows of all reads to `out`; return their number."""
    made = 0
    out.candidate_offsets[0] = 0
    for r in range(read_offsets.size - 1):
        length, first = read_offsets[r + 1] - read_offsets[r], made
        for a in range(places.offsets[r], places.offsets[r + 1]):
            if not loci.is_alternate[a] or loci.start[a] == NOWHERE or made - first == MAX_WINDOWS:
                continue
            if not is_usable(a, length, places, rules) or has_window(a, r, loci, places, length, rules, out, made):
                continue
            contig, diagonal = contig_of(contig_offsets, loci.start[a]), loci.diagonal[a]
            place, window = (r, loci.strand[a], diagonal), (diagonal - rules.padding, diagonal + length + rules.padding)
            made = put_window(out, made, place, window, contig, contig_offsets, (0, 0), (0, 0))
        out.candidate_offsets[r + 1] = made
    return made


def rules_of(parameters: AlignParameters) -> LiftRules:
    return LiftRules(parameters.records.min_score, parameters.scoring.end_bonus, parameters.pair.window_padding)


def plan_lifted(
    reads: ReadBatch, scored: tuple[Candidates, Scores], table: Alternates, parameters: AlignParameters
) -> Candidates:
    """Plan windows on the primary assembly for places on ALT contigs that have no place there yet."""
    places = places_of(*scored, parameters)
    loci = find_loci(reads, places, table)
    out = empty(Candidates, {"reads": len(reads), "candidates": int(loci.is_alternate.sum())})
    made = plan(reads.read_offsets, places, loci, table.contig_offsets, rules_of(parameters), out)
    return take(out, "candidates", slice(made))
