"""Slots for the seeds of a batch on a card, until their anchors are known."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device.cuda_jit import cuda

EMPTY = -1  # query of a slot without a seed, row of a seed left out
COUNT_BITS = 28  # bits for the number of entries of a seed, in a slot
MOST = (1 << COUNT_BITS) - 1  # maximum number of entries; more count as this many
LATER = 1 << 30  # flag of the query of a seed looked up only if the others do not settle the read


class SeedSlots(NamedTuple):
    """Slots for the seeds of all reads."""

    seeds: Annotated[ndarray, "uint64 [slots]"]  # a hash, then its first entry << COUNT_BITS | number of entries
    queries: Annotated[ndarray, "int32 [slots]"]  # position << 1 | strand, and perhaps LATER
    rows: Annotated[ndarray, "int32 [slots]"]  # of the seed's first anchor, among the read's anchors


def slots_of(reads: int, bases: int, t: int) -> int:
    """Count the slots for seeds of this many reads and bases: at least `index.syncmers.max_syncmers` per read."""
    return bases // (t + 1) + reads


@cuda.jit(device=True)
def slot_of(read_offsets, read, t):
    """Return the first slot of a read's seeds."""
    return read_offsets[read] // (t + 1) + read


@cuda.jit(device=True)
def found_at(first, count):
    """Pack the first entry and the number of entries of a seed into its slot."""
    return np.uint64(first) << np.uint64(COUNT_BITS) | np.uint64(min(count, MOST))


@cuda.jit(device=True)
def count_of(seed):
    return np.int64(seed & np.uint64(MOST))


@cuda.jit(device=True)
def entry_of(seed):
    return np.int64(seed >> np.uint64(COUNT_BITS))


@cuda.jit(device=True)
def place_on_read(query):
    """Return (position, strand) of a seed."""
    return (query & (LATER - 1)) >> 1, query & 1
