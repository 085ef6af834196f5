"""Runs: stretches of a reference or of a read that repeat every PERIOD bases. Many of them have no syncmers."""

from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import anchor_of
from readwarp.align.places import Genome
from readwarp.compiler.jit import kernel
from readwarp.rules.bases import base_at

PERIOD = 4  # of runs of one base, of two, and of units of four that are their own reverse complement
SHORTEST = 20  # bases of a run
KEPT = 8  # runs per unit
UNITS = 1 << 2 * PERIOD
STEP = SHORTEST - PERIOD  # distance between places to examine: no run fits between


class Runs(NamedTuple):
    """The longest runs of a reference by unit, the first of equals. They begin with the unit's lowest rotation."""

    starts: Annotated[ndarray, "int64 [256, 8]"]
    lengths: Annotated[ndarray, "int64 [256, 8]"]  # descending; 0: none


class ReferenceRuns:
    """The runs of a genome, listed on demand, since few reads need them."""

    def __init__(self, genome: Genome):
        self.genome = genome

    @cached_property
    def runs(self) -> Runs:
        runs = Runs(*(np.zeros((UNITS, KEPT), np.int64) for _ in range(2)))
        list_runs(self.genome, runs)
        return runs


@kernel
def list_runs(genome, runs):
    packed, offsets = genome
    for contig in range(offsets.size - 1):
        place = first = offsets[contig]
        last = offsets[contig + 1]
        while place + PERIOD < last:
            start, stop = place, place
            if base_at(packed[place >> 1], place) == base_at(packed[(place + PERIOD) >> 1], place + PERIOD):
                start, stop = run_at(packed, place, first, last)
            if stop - start >= SHORTEST:
                turn, unit = lowest_rotation(packed, start, 1)
                keep(runs, unit, start + turn, stop - start - turn)
            place = max(stop, place + STEP)


@kernel
def run_at(packed, place, first, last):
    """Find start and stop of the run around a place, within [first, last); equal if its letter is not A C G T."""
    start, stop = place, min(place + PERIOD, last)
    for i in range(start, stop):
        if base_at(packed[i >> 1], i) > 3:
            return place, place
    while stop < last and base_at(packed[stop >> 1], stop) == base_at(packed[(stop - PERIOD) >> 1], stop - PERIOD):
        stop += 1
    while start > first and base_at(packed[(start - 1) >> 1], start - 1) == base_at(
        packed[(start - 1 + PERIOD) >> 1], start - 1 + PERIOD
    ):
        start -= 1
    return start, stop


@kernel
def lowest_rotation(packed, place, step):
    """Return the bases from a place to the lowest rotation of a run's unit, and that unit as a number.

    step: 1, or -1 for the reverse complement, read backwards.
    """
    turn, lowest = 0, np.int64(UNITS)
    for rotation in range(PERIOD):
        unit = np.int64(0)
        for i in range(PERIOD):
            at = place + step * (rotation + i)
            base = np.int64(base_at(packed[at >> 1], at))
            unit = unit << 2 | (base if step > 0 else 3 - base)
        if unit < lowest:
            turn, lowest = rotation, unit
    return turn, lowest


@kernel
def keep(runs, unit, start, length):
    """Insert a run among those of its unit, if it is longer than one of them."""
    starts, lengths = runs.starts[unit], runs.lengths[unit]
    row = KEPT
    while row > 0 and length > lengths[row - 1]:
        row -= 1
    for other in range(KEPT - 1, row, -1):
        starts[other], lengths[other] = starts[other - 1], lengths[other - 1]
    if row < KEPT:
        starts[row], lengths[row] = start, length


@kernel
def longest_run(bases, packed):
    """Find start and stop of a read's longest run, the first of equals; 0, 0 if none is long enough. packed: room."""
    for i in range(bases.size):
        packed[i >> 1] = bases[i] << np.uint8(4) | packed[i >> 1] if i & 1 else bases[i]
    first, last = 0, 0
    for place in range(0, bases.size, STEP):
        start, stop = run_at(packed, place, 0, bases.size)
        if stop - start > max(last - first, SHORTEST - 1):
            first, last = start, stop
    return first, last


@kernel
def add_runs(packed, span, length, mixed, runs, k, anchors, size):
    """Add anchors of a read's run, on both strands, where the reference has runs of its unit; return the number so far.

    packed, span: of `longest_run`; mixed: a hash of the read's name, which chooses the place within a longer run.
    """
    start, stop = span
    for strand in range(2):
        turn, unit = lowest_rotation(packed, start if strand == 0 else stop - 1, 1 - 2 * strand)
        query = start + turn if strand == 0 else stop - turn - k
        for row in range(KEPT):
            more = runs.lengths[unit, row] - (stop - start - turn)
            if runs.lengths[unit, row] > 0:
                shift = np.int64(mixed % np.uint64(max(0, more) // PERIOD + 1)) * PERIOD
                anchors[size] = anchor_of(runs.starts[unit, row] + shift, strand, query, 0, length, k)
                size += 1
    return size
