"""Contrast an allele of a sample with the others there, by its reads and at nodes of its fraction (host only)."""

import math
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import NOTHING
from readwarp.compiler.jit import kernel
from readwarp.ragged import empty, offsets_of
from readwarp.somatic.fractions import LEAST

ROUNDS, ENOUGH = 100, 1e-7  # most rounds of expectation-maximisation; change of a fraction that ends them
TRACE = 1e-6  # least fraction of the reference allele among the others
STEP = 64  # nodes per item are a multiple of this, one of all lane counts
NONE, HALF, WHOLE = 0, -2, -1  # nodes at 0, 1/2 and 1; those between lie at midpoints


class ContrastItems(NamedTuple):
    """Items of contrasts: every allele of every site in every sample. Items of an allele are adjacent."""

    allele: Annotated[ndarray, "int64 [items]"]  # row of Sites.deleted
    sample: Annotated[ndarray, "int64 [items]"]
    share: Annotated[ndarray, "float64 [items]"]  # maximum-likelihood f; 0 without reads
    depth: Annotated[ndarray, "int64 [items]"]  # informative reads


class Contrasts(NamedTuple):
    """Reads and nodes of each item; see the package's text. Probabilities are relative to the read's best allele."""

    read_offsets: Annotated[ndarray, "int64 [items + 1] of reads"]
    others: Annotated[ndarray, "float64 [reads]"]  # Q
    gain: Annotated[ndarray, "float64 [reads]"]  # P - Q
    node_offsets: Annotated[ndarray, "int64 [items + 1] of nodes"]
    fraction: Annotated[ndarray, "float64 [nodes]"]


class ContrastRoom(NamedTuple):
    """Scratch space for one site in one sample."""

    linear: Annotated[ndarray, "float64 [reads, alleles]"]
    share: Annotated[ndarray, "float64 [alleles]"]
    fresh: Annotated[ndarray, "float64 [alleles]"]


def contrast(
    sites: Sites, likelihoods: Likelihoods, orientation: ndarray, damage: ndarray, samples: int
) -> tuple[ContrastItems, Contrasts]:
    """Make contrasts. orientation: uint8 [reads], of their pairs. damage: float64 [alleles, samples, orientations]."""
    number = np.diff(sites.allele_offsets)
    depth = np.zeros((len(sites), samples), np.int64)
    differs = np.append(sites.reach != 1.0, False)  # alleles differ in their fragments: reads that fit all count too
    counts_all = np.logical_or.reduceat(differs, sites.allele_offsets[:-1])
    site = np.repeat(np.arange(len(sites)), np.diff(likelihoods.pair_offsets))
    np.add.at(depth, (site, likelihoods.sample), counts_all[site] | (likelihoods.allele != NOTHING))
    own = np.repeat(depth, number, axis=0).ravel()
    items = ContrastItems(
        allele=np.repeat(np.arange(sites.deleted.size), samples),
        sample=np.tile(np.arange(samples), sites.deleted.size),
        share=np.zeros(own.size),
        depth=own,
    )
    out = empty(Contrasts, {}, read_offsets=offsets_of(own), **nodes_of(own))
    room = empty(ContrastRoom, {"reads": int(depth.max(initial=0)), "alleles": int(number.max(initial=0))})
    oppose(sites, likelihoods, orientation, damage, (counts_all, depth), room, items, out)
    return items, out


def nodes_of(depth: ndarray) -> dict[str, ndarray]:
    """Return columns of Contrasts; steps are no wider than the likelihood of that many reads."""
    number = STEP * np.ceil((math.pi * np.sqrt(depth) + 3) / STEP).astype(np.int64)
    nodes = [spread_nodes(own) for own in number.tolist()]
    return {"node_offsets": offsets_of(number), "fraction": np.concatenate([np.empty(0), *nodes])}


@lru_cache(maxsize=256)
def spread_nodes(number: int) -> ndarray:
    """Return the fractions of that many nodes."""
    return np.concatenate(([0.0], np.sin(angles(number)) ** 2, [0.5, 1.0]))


def angles(number: int) -> ndarray:
    """Return t of the nodes at midpoints, among that many nodes."""
    between = number - 3
    return (np.arange(between) + 0.5) * (math.pi / 2 / between)


@kernel
def oppose(sites, likelihoods, orientation, damage, counted, room, items, out):
    """Fill the shares of the items, and the reads of their contrasts."""
    counts_all, depth = counted
    samples, share = depth.shape[1], room.share
    for site in range(depth.shape[0]):
        first = sites.allele_offsets[site]
        alleles = sites.allele_offsets[site + 1] - first
        for s in range(samples):
            reach = sites.reach[first : first + alleles]
            gather(site, s, (first, reach, counts_all[site]), likelihoods, orientation, damage, room.linear)
            linear = room.linear[: depth[site, s], :alleles]
            fit_shares(linear, share, room.fresh)
            for a in range(alleles):
                item = (first + a) * samples + s
                items.share[item], start = share[a] if linear.shape[0] else 0.0, out.read_offsets[item]
                rest = 1.0 - share[a]
                trace = TRACE if a else 0.0
                for r in range(linear.shape[0]):
                    others = trace * linear[r, 0]
                    for b in range(alleles):
                        others += share[b] * linear[r, b] if b != a else 0.0
                    others = max(LEAST, others / max(rest + trace, TRACE))
                    out.others[start + r], out.gain[start + r] = others, linear[r, a] - others


@kernel
def gather(site, s, own, likelihoods, orientation, damage, linear):
    """Fill the rows of `linear` with the informative reads' P(r | a), divided by P of the best allele.

    own: the first of the site's alleles, their reach, by which P is divided, and whether all reads are informative.
    """
    (first, reach, counts_all), row = own, 0
    alleles = reach.size
    low = likelihoods.pair_offsets[site]
    for pair in range(low, likelihoods.pair_offsets[site + 1]):
        if likelihoods.sample[pair] != s or (likelihoods.allele[pair] == NOTHING and not counts_all):
            continue
        place = likelihoods.value_offsets[site] + (pair - low) * alleles
        best = likelihoods.values[place : place + alleles].max()
        spoilt, side = 0.0, orientation[likelihoods.read[pair]]
        for a in range(alleles):
            linear[row, a] = max(LEAST, 10.0 ** (likelihoods.values[place + a] - best)) / reach[a]
            spoilt += damage[first + a, s, side] * linear[row, a]
        linear[row, 0] = min(1.0, linear[row, 0] + spoilt)
        row += 1


@kernel
def fit_shares(linear, share, fresh):
    """Set the maximum-likelihood fractions of all alleles; equal ones without reads."""
    reads, alleles = linear.shape
    share[:alleles] = 1.0 / alleles
    for _ in range(ROUNDS if reads else 0):
        fresh[:alleles], change = 0.0, 0.0
        for r in range(reads):
            total = 0.0
            for a in range(alleles):
                total += share[a] * linear[r, a]
            for a in range(alleles):
                fresh[a] += share[a] * linear[r, a] / total
        for a in range(alleles):
            change = max(change, abs(fresh[a] / reads - share[a]))
            share[a] = fresh[a] / reads
        if change < ENOUGH:
            break
