"""Count the errors of a window: reads by context and orientation, and sites by the reads that show an allele."""

import math
from collections.abc import Iterable
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup
from readwarp.call.candidates.pileup import PileupLimits
from readwarp.call.likelihoods.evidence import log_mismatch
from readwarp.call.places.bases import Window
from readwarp.call.reads.usable import INFORMATIVE
from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import empty, take
from readwarp.rules.cigar import is_match, run_of
from readwarp.somatic.noise import CLASSES, CONTEXTS, EXCESS, FEW, MAX_FEW, MAX_SHARE, ORIENTATIONS, RUNS, SUBSTITUTIONS
from readwarp.somatic.noise.contamination import CommonSites, SitePiles, count_kinship, pile_common

EXACT, RATIO = 32, 1.1  # numbers of reads up to EXACT have their own bins; each further bin is wider by RATIO
BINS = 160
GRAIN = 2.0**-26  # unit of a site's expected errors: sums of multiples are exact in any order
ERRORS = np.array([10.0 ** log_mismatch.py_func(quality) for quality in range(256)])
DAMAGES = CONTEXTS + CLASSES - SUBSTITUTIONS  # contexts, then indel classes


class ErrorCounts(NamedTuple):
    """Error counts of each sample; counts of windows add up."""

    reads: Annotated[ndarray, "float64 [samples, classes of damage, orientations]"]  # at sites with few other bases
    expected: Annotated[ndarray, "float64 [samples, classes of damage, orientations]"]  # expected by quality
    shown: Annotated[ndarray, "float64 [samples, classes of damage, orientations]"]
    sites: Annotated[ndarray, "int64 [samples, classes, bins, bins]"]  # by depth and by reads that show the allele
    kinship: Annotated[ndarray, "int64 [samples, samples, 4]"]  # see `count_kinship`
    piles: list[SitePiles]  # piles at the population's common alleles, by window


class Piles(NamedTuple):
    """Reads of one sample at each position, by orientation."""

    reads: Annotated[ndarray, "int32 [positions, 2]"]
    errors: Annotated[ndarray, "float64 [positions, 2]"]  # expected to show one other base
    bases: Annotated[ndarray, "int32 [positions, 4, 2]"]


def no_counts(samples: int) -> ErrorCounts:
    reads, expected, shown = np.zeros((3, samples, DAMAGES, ORIENTATIONS))
    sites, kinship = np.zeros((samples, CLASSES, BINS, BINS), np.int64), np.zeros((samples, samples, 4), np.int64)
    return ErrorCounts(reads, expected, shown, sites, kinship, [])


def add_counts(parts: Iterable[ErrorCounts], total: ErrorCounts) -> ErrorCounts:
    """Add the parts to the total in place, and return it."""
    for part in parts:
        for whole, own in zip(total[:-1], part[:-1], strict=True):
            np.add(whole, own, out=whole)
        total.piles.extend(part.piles)
    return total


def covered_bases(counts: ErrorCounts) -> int:
    """Count the covered bases of all samples."""
    return int(counts.sites[:, :SUBSTITUTIONS].sum()) // 3


def count_errors(
    reads: AlignedReads,
    orientation: ndarray,
    window: Window,
    pileups: Iterable[Pileup],
    counted: tuple[PileupLimits, ndarray],
    common: CommonSites | None = None,
) -> ErrorCounts:
    """Count errors. orientation: uint8 [reads], of their pairs. pileups: of the window, of each sample.

    counted: limits, and which positions within them count (bool). Counts of neighbouring limits add up to those of
    both, to the last bit, if the window has a margin around them.
    """
    pileups, window = list(pileups), window.trim()
    limits, is_counted = counted
    within = limits.start - window.start, limits.stop - window.start
    out, runs = no_counts(len(pileups)), np.empty(window.bases.size, np.int64)
    outside = np.ones(window.bases.size, bool)
    outside[slice(*within)] = ~is_counted
    measure_runs(window.bases, runs)
    order = np.argsort(reads.sample, kind="stable")
    bounds = np.searchsorted(reads.sample[order], np.arange(len(pileups) + 1))
    found = list[ndarray]()
    for sample, pileup in enumerate(pileups):
        own = slice(None) if len(pileups) == 1 else order[bounds[sample] : bounds[sample + 1]]
        piles = empty(Piles, {"positions": window.bases.size}, np.zeros)
        chosen = reads if len(pileups) == 1 else take(reads, "reads", own)
        pile_up(chosen, orientation[own], (window.start, window.stop, limits.min_base_quality), piles)
        for column in piles:
            column[outside] = 0
        found.append(piles.bases[slice(*within)].sum(axis=2))
        damage = out.reads[sample], out.expected[sample], out.shown[sample]
        count_substitutions(window.bases, within, piles, damage, out.sites[sample])
        is_deletion = np.diff(pileup.allele_offsets) == 0
        gaps = pileup.allele_position - pileup.start, is_deletion, pileup.allele_counts.sum(axis=1)
        number = np.zeros((runs.size, 2), np.int64)
        counts = pileup.counts * ~outside[:, None, None]
        count_gaps(runs, within, counts, gaps, number, damage, out.sites[sample])
    inside = window.bases[slice(*within)]
    piles_of_common = [pile_common(common, inside, limits.start, found)] if common else []
    return out._replace(kinship=count_kinship(inside, found), piles=piles_of_common)


@scalar
def context_of(before, base, after, other):
    """Return (context, whether it is on the reverse strand) of a substitution between two bases."""
    is_reverse = base == 0 or base == 2
    if is_reverse:
        before, base, after, other = 3 - after, 3 - base, 3 - before, 3 - other
    turn = other if other < base else other - 1  # among the three others
    kind = (0 if base == 1 else 3) + turn
    return kind * 16 + before * 4 + after, is_reverse


@scalar
def bin_of(number):
    if number <= EXACT:
        return np.int64(number)
    return min(BINS - 1, np.int64(EXACT + 1 + math.log(number / (EXACT + 1.0)) / math.log(RATIO)))


def numbers_of_bins() -> ndarray:
    """Return roughly how many reads each bin stands for (float64 [bins])."""
    above = np.arange(BINS - EXACT - 1)
    return np.concatenate((np.arange(EXACT + 1.0), np.round((EXACT + 1) * RATIO ** (above + 0.5))))


@kernel
def measure_runs(bases, runs):
    """Set the length of the homopolymer that begins after each position; within one, the length that remains."""
    runs[-1:] = 0
    for w in range(bases.size - 2, -1, -1):
        following = runs[w + 1] if w + 2 < bases.size and bases[w + 2] == bases[w + 1] else 0
        runs[w] = following + 1


@kernel
def pile_up(reads, orientation, limits, piles):
    start, stop, min_quality = limits
    for read in range(reads.position.size):
        p, q = reads.position[read], reads.read_offsets[read]
        side = orientation[read]
        for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
            operation, length, on_reference, on_read = run_of(reads.cigar[i])
            for k in range(max(0, start - p), min(length, stop - p) if is_match(operation) else 0):
                base, quality = reads.bases[q + k], min(reads.qualities[q + k], reads.mapping_quality[read])
                if base < 4 and quality >= min_quality and quality >= INFORMATIVE:
                    piles.reads[p + k - start, side] += 1
                    piles.errors[p + k - start, side] += ERRORS[quality]
                    piles.bases[p + k - start, base, side] += 1
            p, q = p + on_reference, q + on_read


@kernel
def count_substitutions(reference, within, piles, damage, sites):
    reads, expected, shown = damage
    for w in range(max(1, within[0]), min(reference.size - 1, within[1])):
        before, base = reference[w - 1], reference[w]
        after = reference[w + 1]
        depth = piles.reads[w, 0] + piles.reads[w, 1]
        if max(before, base, after) > 3 or depth == 0:
            continue
        for other in range(4):
            number = piles.bases[w, other, 0] + piles.bases[w, other, 1]
            if other == base or number > MAX_SHARE * depth:
                continue
            context, is_reverse = context_of(before, base, after, other)
            sites[context // 16, bin_of(depth), bin_of(number)] += 1
            if number <= max(MAX_FEW, EXCESS * depth + 2.0 * (piles.errors[w, 0] + piles.errors[w, 1])):
                for side in range(2):
                    own = 1 - side if is_reverse else side
                    reads[context, own] += piles.reads[w, side]
                    expected[context, own] += math.floor(piles.errors[w, side] / GRAIN + 0.5) * GRAIN
                    shown[context, own] += piles.bases[w, other, side]


@scalar
def class_of_gap(run, is_deletion):
    """Return the class of an indel before a homopolymer."""
    row = 0
    for k in range(len(RUNS)):
        if run >= RUNS[k]:
            row = k
    return SUBSTITUTIONS + row + (len(RUNS) if is_deletion else 0)


@kernel
def count_gaps(runs, within, counts, gaps, number, damage, sites):
    """Count gaps. gaps: anchor, whether it is a deletion, and reads of each allele. number: scratch, zeros."""
    (reads, _, shown), (anchor, is_deletion, alleles) = damage, gaps
    for allele in range(anchor.size):
        number[anchor[allele], np.int64(is_deletion[allele])] += alleles[allele]
    for w in range(max(1, within[0]), min(runs.size, within[1])):
        depth = counts[w].sum()
        if depth == 0 or (runs[w - 1] == runs[w] + 1):  # within a run
            continue
        for side in range(2):
            own = class_of_gap(runs[w], side == 1)
            if number[w, side] > MAX_SHARE * depth:
                continue
            sites[own, bin_of(depth), bin_of(number[w, side])] += 1
            if number[w, side] <= max(MAX_FEW, FEW * depth):
                reads[CONTEXTS + own - SUBSTITUTIONS, 0] += depth
                shown[CONTEXTS + own - SUBSTITUTIONS, 0] += number[w, side]
