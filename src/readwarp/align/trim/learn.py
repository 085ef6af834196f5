"""Learn the adapters of a library if they are not among the known ones and begin differently in the two mates.

Mates of short fragments overlap whatever their adapters are, but so do mates between repeats. An adapter is what
follows many fragments of different lengths.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.trim.batch import known_adapters, rules_of
from readwarp.align.trim.cuts import Cuts, find_cuts
from readwarp.config import TrimParameters
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.ragged import empty
from readwarp.ragged import replace as replaced
from readwarp.rules.bases import LETTERS

BEGINNING = 12  # bases by which adapters are recognised as equal
LONGEST = 32  # bases of a learned adapter
LEAST_PAIRS, LEAST_LENGTHS = 25, 10  # pairs with an adapter, and different lengths of their fragments


class LearnedAdapters(NamedTuple):
    first: str
    last: str
    pairs: int  # number of pairs with it


def learn(batches: Sequence[ReadBatch], parameters: TrimParameters) -> LearnedAdapters | None:
    """Learn the adapters of these batches' pairs, if trimming would not find them; None if adapters are given."""
    if parameters.adapters:
        return None
    found = [tails_of(reads, parameters) for reads in batches]
    if sum(lengths.size for lengths, _ in found) < LEAST_PAIRS:
        return None
    lengths, tails = (np.concatenate(parts) for parts in zip(*found, strict=True))
    chosen = most_common(tails[:, 0, :BEGINNING]) & most_common(tails[:, 1, :BEGINNING])
    pairs = int(chosen.sum())
    if pairs < LEAST_PAIRS or 2 * pairs < lengths.size or np.unique(lengths[chosen]).size < LEAST_LENGTHS:
        return None
    first, last = (consensus(tails[chosen, side]) for side in range(2))
    return LearnedAdapters(first, last, pairs)


def with_learned(parameters: TrimParameters, learned: LearnedAdapters) -> TrimParameters:
    firsts, lasts = known_adapters()
    return replace(parameters, adapters=(*firsts, learned.first), last_adapters=(*lasts, learned.last))


def tails_of(reads: ReadBatch, parameters: TrimParameters) -> tuple[ndarray, ndarray]:
    """Find pairs that overlap like those of short fragments but do not continue with an adapter.

    Return the fragment lengths, int32 [pairs], and the bases beyond, uint8 [pairs, 2, LONGEST], 5 beyond the read.
    """
    found = []
    for anything in (True, False):
        cuts = empty(Cuts, {"reads": len(reads)})
        find_cuts(reads, replaced(rules_of(parameters), anything_beyond=anything), cuts)
        found.append(cuts.fragment)
    firsts = np.flatnonzero((reads.segment == Segment.FIRST) & (found[0] > 0) & (found[1] == 0))
    lengths = np.diff(reads.read_offsets)
    fragment = found[0][firsts]
    firsts = firsts[fragment + BEGINNING <= np.minimum(lengths[firsts], lengths[firsts + 1])]
    fragment = found[0][firsts]
    beyond = fragment[:, None] + np.arange(LONGEST)
    tails = np.full((firsts.size, 2, LONGEST), 5, np.uint8)
    for side in range(2):
        inside = beyond < lengths[firsts + side][:, None]
        tails[:, side][inside] = reads.bases[(reads.read_offsets[firsts + side][:, None] + beyond)[inside]]
    return fragment, tails


def most_common(rows: ndarray) -> ndarray:
    """Tell which rows equal the most frequent one (ties: the first in order): bool [rows]."""
    _, number, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(number.ravel() == counts.argmax())


def consensus(tails: ndarray) -> str:
    """Return the most frequent base of each column (ties: the first), as far as enough reads have it."""
    counts = np.stack([(tails == base).sum(axis=0) for base in range(4)])
    enough = counts.sum(axis=0) >= LEAST_PAIRS
    size = int(enough.argmin()) if not enough.all() else enough.size
    return bytes(LETTERS[counts[:, :size].argmax(axis=0)]).decode()
