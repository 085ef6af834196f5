"""Assign the reads of a window to haplotypes, by sites other than those compared. See the step's contract."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.sites.find import Site, sites_of
from readwarp.call.likelihoods.evidence import NOTHING, weigh_substitutions
from readwarp.call.likelihoods.phase import MAX_ODDS
from readwarp.call.likelihoods.phase.links import GAP_ODDS, Phasing, log_odds, show_gaps
from readwarp.call.places.bases import Window
from readwarp.call.reads.sides import Sides
from readwarp.compiler.jit import kernel
from readwarp.config import CallParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of


class ComparisonGroups(NamedTuple):
    """Groups of reads that are compared with the same haplotypes or alleles: a pair for each read of a group."""

    pair_offsets: Annotated[ndarray, "int64 [groups + 1] of pairs"]
    read: Annotated[ndarray, "int32 [pairs]"]
    sample: Annotated[ndarray, "uint16 [pairs]"]
    start: Annotated[ndarray, "int64 [groups]"]  # sites in [start, stop) are no evidence
    stop: Annotated[ndarray, "int64 [groups]"]


def find_sides(reads: AlignedReads, phasing: Phasing, around: Window, parameters: CallParameters) -> Sides:
    odds, sets = np.zeros(len(reads)), np.full(len(reads), -1)
    for sample in np.unique(reads.sample).tolist():
        low, high = np.searchsorted(phasing.read_sample, (sample, sample + 1)).tolist()
        own = np.flatnonzero(reads.sample == sample)
        if low == high:
            continue
        place = low + np.searchsorted(phasing.name_hash[low:high], reads.name_hash[own])
        place = np.minimum(place, high - 1)
        known = phasing.name_hash[place] == reads.name_hash[own]
        odds[own[known]], sets[own[known]] = phasing.odds[place[known]], phasing.phase_set[place[known]]
    low, high = np.searchsorted(phasing.position, (around.start, around.stop)).tolist() if len(reads) else (0, 0)
    is_gap = phasing.change[low:high] != 0
    parts = (
        _weigh_bases(reads, phasing, low + np.flatnonzero(~is_gap), around, parameters),
        _weigh_gaps(reads, phasing, low + np.flatnonzero(is_gap)),
    )
    site, read, said = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((site, read))
    order = order[phasing.sample[site[order]] == reads.sample[read[order]]]
    site, read = site[order], read[order]
    return Sides(
        odds=odds,
        phase_set=sets,
        own_offsets=offsets_of(np.bincount(read, minlength=len(reads))),
        own_position=phasing.position[site],
        own_odds=phasing.side[site] * said[order],
    )


def _weigh_bases(
    reads: AlignedReads, phasing: Phasing, rows: ndarray, around: Window, parameters: CallParameters
) -> tuple[ndarray, ndarray, ndarray]:
    """Return site, read and log odds of ALT for each read across the substitutions in these rows."""
    columns = (column[rows].tolist() for column in (phasing.position, phasing.reference, phasing.alternate))
    listed: list[Site] = [
        (begin, False, [(1, bytes([reference])), (1, bytes([alternate]))])
        for begin, reference, alternate in zip(*columns, strict=True)
    ]
    evidence = weigh_substitutions(reads, sites_of(listed, around.trim()), parameters)
    return np.repeat(rows, np.diff(evidence.pair_offsets)), evidence.read, log_odds(evidence)


def _weigh_gaps(reads: AlignedReads, phasing: Phasing, rows: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Return site, read and log odds of ALT for each read across the indels in these rows."""
    offsets, read, shown = show_gaps(reads, phasing.position[rows] + 1, phasing.stop[rows], phasing.change[rows])
    odds = np.where(shown == NOTHING, 0.0, np.where(shown == 1, GAP_ODDS, -GAP_ODDS))
    return np.repeat(rows, np.diff(offsets)), read, odds


def take_sides(sides: Sides, groups: ComparisonGroups, samples: int) -> tuple[ndarray, ndarray, ndarray]:
    """Return log10 odds that each pair's read is of the first haplotype, and phase sets (int64 [groups, samples]).

    The odds (float64) are returned twice: without sites in each group's span, and with them.
    """
    (odds, whole), sets = np.zeros((2, groups.read.size)), np.full((groups.start.size, samples), -1)
    choose_sets(sides, groups, np.empty(samples, np.int64), sets)
    take_odds(sides, groups, sets, odds, whole)
    return odds, whole, sets


@kernel
def choose_sets(sides, groups, votes, sets):
    """Choose the phase set of most reads of each group and sample, by the Boyer-Moore majority vote."""
    for group in range(groups.start.size):
        votes[:] = 0
        for pair in range(groups.pair_offsets[group], groups.pair_offsets[group + 1]):
            own, s = sides.phase_set[groups.read[pair]], groups.sample[pair]
            if own < 0:
                continue
            if votes[s] == 0:
                sets[group, s] = own
            votes[s] += 1 if sets[group, s] == own else -1


@kernel
def take_odds(sides, groups, sets, odds, whole):
    """Return the odds of reads in each group's phase set, without the sites in its span and with them."""
    offsets, reads, sample, start, stop = groups
    total, phase_set, own_offsets, own_position, own_odds = sides
    for group in range(start.size):
        for pair in range(offsets[group], offsets[group + 1]):
            read = np.int64(reads[pair])
            if phase_set[read] < 0 or phase_set[read] != sets[group, sample[pair]]:
                continue
            value = total[read]
            for site in range(own_offsets[read], own_offsets[read + 1]):
                if start[group] <= own_position[site] < stop[group]:
                    value -= own_odds[site]
            odds[pair] = min(MAX_ODDS, max(-MAX_ODDS, value))
            whole[pair] = min(MAX_ODDS, max(-MAX_ODDS, total[read]))
