"""Phase the sites of a contig with each other. See the step's contract."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.phase import MAX_ODDS, MIN_MARGIN, ROUNDS
from readwarp.call.likelihoods.phase.links import Links, Phasing
from readwarp.compiler.jit import kernel, scalar
from readwarp.ragged import concatenate, replace, take


class LinkedPairs(NamedTuple):
    """Links of one sample, with numbered reads."""

    offsets: Annotated[ndarray, "int64 [sites + 1] of pairs"]
    read: Annotated[ndarray, "int64 [pairs]"]
    odds: Annotated[ndarray, "float64 [pairs]"]


class PhasedSites(NamedTuple):
    """Sites placed on haplotypes."""

    side: Annotated[ndarray, "int8 [sites]"]  # 0: left out
    first: Annotated[ndarray, "int64 [sites]"]  # first site of its phase set


def phase_sites(links: Links) -> Phasing:
    """Phase the sites of a contig; see the step's contract."""
    samples = np.unique(links.sample) if links.sample.size else np.zeros(1, np.uint16)
    parts = [_phase_sample(take(links, "sites", np.flatnonzero(links.sample == sample))) for sample in samples]
    of_reads, of_sites = concatenate(parts, "reads"), concatenate(parts, "sites")
    columns = ("name_hash", "read_sample", "odds", "phase_set")
    of_sites = take(of_sites, "sites", np.lexsort((of_sites.sample, of_sites.position)))
    return replace(of_sites, **{name: getattr(of_reads, name) for name in columns})


def _phase_sample(links: Links) -> Phasing:
    names, read = np.unique(links.name_hash, return_inverse=True)
    pairs = LinkedPairs(links.pair_offsets, read.astype(np.int64), links.odds)
    sites = links.position.size
    laid = PhasedSites(np.zeros(sites, np.int8), np.full(sites, -1))
    lay_sites(pairs, laid, np.zeros(names.size), np.full(names.size, -1))
    _repair(pairs, laid)
    if join_sets(pairs, laid, np.zeros((2, names.size)), np.full((2, names.size), -1)):
        _repair(pairs, laid)
    total = np.zeros(names.size)
    sets = np.full(names.size, -1)
    place_reads(pairs, laid, links.position, sets, total)
    kept = np.flatnonzero(laid.side)
    columns = "position", "sample", "reference", "alternate", "change", "stop"
    return Phasing(
        **{name: getattr(links, name)[kept] for name in columns},
        side=laid.side[kept],
        name_hash=names,
        read_sample=np.full(names.size, links.sample[0] if sites else 0, np.uint16),
        odds=total,
        phase_set=sets,
    )


@scalar
def margin_of(one, other):
    """Return log10 of how much likelier two log odds are of one haplotype than of two."""
    together, apart = abs(one + other), abs(one - other)
    gained = 0.5 * (together - apart)
    return gained + math.log10((1.0 + 10.0**-together) / (1.0 + 10.0**-apart))


def _repair(pairs: LinkedPairs, laid: PhasedSites) -> None:
    """Flip links and sites that are more likely the other way, with a read of two phase sets as two reads."""
    of_set = np.repeat(laid.first, np.diff(pairs.offsets))
    _, read = np.unique(np.stack((of_set, pairs.read)), axis=1, return_inverse=True)
    apart = pairs._replace(read=read.astype(np.int64))
    sides = np.repeat(laid.side, np.diff(pairs.offsets))
    total = np.bincount(read, sides * pairs.odds, read.max(initial=-1) + 1)
    before, turned = np.zeros((2, total.size))
    for _ in range(ROUNDS):
        if turn_links(apart, laid, total, (before, turned)) + turn_sites(apart, laid, total) == 0:
            break


@kernel
def lay_sites(pairs, laid, total, within):
    """Place each site in turn on the haplotypes so far. within: the phase set of each read's total, -1 before."""
    (offsets, read, odds), (side, first) = pairs, laid
    start = 0
    for site in range(side.size):
        margin = most = said = 0.0
        for pair in range(offsets[site], offsets[site + 1]):
            own = margin_of(total[read[pair]] if within[read[pair]] == start else 0.0, odds[pair])
            margin += own
            most += abs(own)
            said += abs(odds[pair])
        if most < MIN_MARGIN <= said:
            start, side[site] = site, 1
        elif abs(margin) >= MIN_MARGIN:
            side[site] = 1 if margin > 0 else -1
        first[site] = start
        add_odds(pairs, site, side[site], (total, within), start)


@kernel
def add_odds(pairs, site, side, sums, start):
    """Add a site's odds to the totals of its reads, which restart in each phase set."""
    (offsets, read, odds), (total, within) = pairs, sums
    for pair in range(offsets[site], offsets[site + 1]):
        r = read[pair]
        if within[r] != start:
            total[r], within[r] = 0.0, start
        total[r] += side * odds[pair]


@kernel
def join_sets(pairs, laid, totals, sets):
    """Join a phase set to the one before it where reads of both link them, each by up to MAX_ODDS.

    totals, sets: scratch for each read's odds and the set they belong to; -1 before. Returns the number of joins.
    """
    (offsets, read, _), (side, first) = pairs, laid
    (total, own), (within, own_set) = totals, sets
    start, number = np.int64(-1), 0
    site = 0
    while site < side.size:
        stop, margin = site, 0.0
        while stop < side.size and first[stop] == first[site]:
            add_odds(pairs, stop, side[stop], (own, own_set), site)
            stop += 1
        for k in range(site, stop):
            for pair in range(offsets[k], offsets[k + 1]):
                r = read[pair]
                if own_set[r] == site and within[r] == start and start >= 0:
                    margin += min(MAX_ODDS, max(-MAX_ODDS, margin_of(total[r], own[r])))
                    own_set[r] = -1  # counted once
        turn = np.int64(1)
        if abs(margin) > MIN_MARGIN:  # so more than one read supports it
            turn, number = np.int64(1 if margin > 0 else -1), number + 1
        else:
            start = first[site]
        for k in range(site, stop):
            side[k], first[k] = side[k] * turn, start
            add_odds(pairs, k, side[k], (total, within), start)
        site = stop
    return number


@kernel
def turn_links(pairs, laid, total, room):
    """Flip all sites of a phase set from one on where that is more likely; return the number of flips.

    room: scratch for two further sums of each read.
    """
    (offsets, read, odds), (side, first) = pairs, laid
    before, turned = room
    before[:] = 0.0
    turned[:] = 0.0
    number, turn = 0, 1
    for site in range(side.size):
        own, margin = np.int64(side[site]), 0.0
        if first[site] == site:
            turn = 1
        elif own:
            for pair in range(offsets[site], offsets[site + 1]):
                r = read[pair]
                margin += margin_of(turned[r], turn * (total[r] - before[r]))
            if margin < 0:
                turn, number = -turn, number + 1
        side[site] = own * turn
        for pair in range(offsets[site], offsets[site + 1]):
            before[read[pair]] += own * odds[pair]
            turned[read[pair]] += own * turn * odds[pair]
    total[:] = turned
    return number


@kernel
def turn_sites(pairs, laid, total):
    """Flip single sites, and drop those of neither side; return the number of both."""
    (offsets, read, odds), (side, first) = pairs, laid
    number = 0
    for site in range(side.size):
        own, margin = np.int64(side[site]), 0.0
        for pair in range(offsets[site], offsets[site + 1]):
            margin += margin_of(total[read[pair]] - own * odds[pair], odds[pair])
        weak = own if first[site] == site else np.int64(0)
        now = weak if abs(margin) < MIN_MARGIN else np.int64(1 if margin > 0 else -1)
        if now != own:
            number += 1
            side[site] = now
            for pair in range(offsets[site], offsets[site + 1]):
                total[read[pair]] += (now - own) * odds[pair]
    return number


@kernel
def place_reads(pairs, laid, position, sets, total):
    """Set the phase set of each read, that of its first site, and its odds there; they are -1 and 0 before."""
    (offsets, read, odds), (side, first) = pairs, laid
    for site in range(position.size):
        name = position[first[site]]
        for pair in range(offsets[site], offsets[site + 1] if side[site] else offsets[site]):
            r = read[pair]
            if sets[r] < 0:
                sets[r] = name
            if sets[r] == name:
                total[r] += side[site] * odds[pair]
