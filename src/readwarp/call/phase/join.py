"""Sites of a contig in phase with each other. See the step's contract."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.phase import MIN_MARGIN, ROUNDS
from readwarp.call.phase.types import Links, Phasing
from readwarp.device.jit import kernel, scalar
from readwarp.ragged import concatenate, replace, take


class Pairs(NamedTuple):
    """Links of one sample, with reads by number."""

    offsets: Annotated[ndarray, "int64 [sites + 1] of pairs"]
    read: Annotated[ndarray, "int64 [pairs]"]
    odds: Annotated[ndarray, "float64 [pairs]"]


class Laid(NamedTuple):
    """Sites on haplotypes."""

    side: Annotated[ndarray, "int8 [sites]"]  # 0: left out
    first: Annotated[ndarray, "int64 [sites]"]  # of its phase set
    total: Annotated[ndarray, "float64 [reads]"]
    before: Annotated[ndarray, "float64 [reads]"]  # room for a sum
    turned: Annotated[ndarray, "float64 [reads]"]  # likewise


def phase_sites(links: Links) -> Phasing:
    """See the step's contract."""
    samples = np.unique(links.sample) if links.sample.size else np.zeros(1, np.uint16)
    parts = [_phase_sample(take(links, "sites", np.flatnonzero(links.sample == sample))) for sample in samples]
    of_reads = concatenate(parts, "reads")
    columns = ("name_hash", "read_sample", "odds", "phase_set")
    return replace(concatenate(parts, "sites"), **{name: getattr(of_reads, name) for name in columns})


def _phase_sample(links: Links) -> Phasing:
    names, read = np.unique(links.name_hash, return_inverse=True)
    pairs = Pairs(links.pair_offsets, read.astype(np.int64), links.odds)
    sites = links.position.size
    laid = Laid(np.zeros(sites, np.int8), np.full(sites, -1), *np.zeros((3, names.size)))
    lay_sites(pairs, laid)
    for _ in range(ROUNDS):
        turned = turn_links(pairs, laid) + turn_sites(pairs, laid)
        if not turned:
            break
    sets = np.full(names.size, -1)
    laid.total[:] = 0.0
    place_reads(pairs, laid, links.position, sets)
    kept = np.flatnonzero(laid.side)
    return Phasing(
        position=links.position[kept],
        sample=links.sample[kept],
        reference=links.reference[kept],
        alternate=links.alternate[kept],
        side=laid.side[kept],
        name_hash=names,
        read_sample=np.full(names.size, links.sample[0] if sites else 0, np.uint16),
        odds=laid.total,
        phase_set=sets,
    )


@scalar
def margin_of(one, other):
    """log10 of how much likelier two log odds are of one haplotype than of two."""
    together, apart = abs(one + other), abs(one - other)
    gained = 0.5 * (together - apart)
    return gained + math.log10((1.0 + 10.0**-together) / (1.0 + 10.0**-apart))


@kernel
def lay_sites(pairs, laid):
    """Each site in turn on the haplotypes of those before it."""
    (offsets, read, odds), (side, first, total, _, _) = pairs, laid
    start = 0
    for site in range(side.size):
        margin = most = said = 0.0
        for pair in range(offsets[site], offsets[site + 1]):
            own = margin_of(total[read[pair]], odds[pair])
            margin += own
            most += abs(own)
            said += abs(odds[pair])
        if most < MIN_MARGIN <= said:
            start, side[site] = site, 1
        elif abs(margin) >= MIN_MARGIN:
            side[site] = 1 if margin > 0 else -1
        first[site] = start
        for pair in range(offsets[site], offsets[site + 1]):
            total[read[pair]] += side[site] * odds[pair]


@kernel
def turn_links(pairs, laid):
    """Turn over all sites of a phase set from one on, where that is more likely; returns how often that was."""
    (offsets, read, odds), (side, first, total, before, turned) = pairs, laid
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
def turn_sites(pairs, laid):
    """Turn over single sites, and leave out those that are on neither side; returns how many that were."""
    (offsets, read, odds), (side, first, total, _, _) = pairs, laid
    number = 0
    for site in range(side.size):
        own, margin = np.int64(side[site]), 0.0
        for pair in range(offsets[site], offsets[site + 1]):
            margin += margin_of(total[read[pair]] - own * odds[pair], odds[pair])
        now = own if first[site] == site else 0 if abs(margin) < MIN_MARGIN else 1 if margin > 0 else -1
        if now != own:
            number += 1
            side[site] = now
            for pair in range(offsets[site], offsets[site + 1]):
                total[read[pair]] += (now - own) * odds[pair]
    return number


@kernel
def place_reads(pairs, laid, position, sets):
    """The phase set of each read, that of its first site, and its odds there; they are -1 and 0 before."""
    (offsets, read, odds), (side, first, total, _, _) = pairs, laid
    for site in range(position.size):
        name = position[first[site]]
        for pair in range(offsets[site], offsets[site + 1] if side[site] else offsets[site]):
            r = read[pair]
            if sets[r] < 0:
                sets[r] = name
            if sets[r] == name:
                total[r] += side[site] * odds[pair]
