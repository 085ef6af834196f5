"""Gap costs of sequencers, and the gap openings in tracts, where polymerases slip: see `pairhmm.penalties`."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy import ndarray

MAX_TRACT = 400  # bases; a longer tract counts as this long
# Of indels that cost about Phred 10 for each further unit.
BY_UNIT = (10, 5, 3, 2, 2, 2, 1, 1)


class GapModel(NamedTuple):
    """Gap costs in the reads of one kind of sequencer, in Phred."""

    opening: int  # opening of a gap after a base outside tracts
    extension: int
    repeats: int  # fewer units are not a tract
    slips: tuple[tuple[float, float, float], ...]  # by unit, 1 to 8: slip at `repeats` units, fall per unit, least
    extensions: tuple[int, ...]  # by unit, extension of a gap in a tract


SHORT = GapModel(
    opening=45,
    extension=10,
    repeats=5,
    slips=((42.8, 2.2, 10), (43, 2, 14), *((43, 2, 16),) * 3, *((42.6, 2.4, 16),) * 3),
    extensions=BY_UNIT,
)
# Fitted by benchmarks/slips.py to real reads of human chromosome 20 and simulated reads together.
HIFI = GapModel(
    opening=36,
    extension=14,
    repeats=3,
    slips=((23.0, 1.94, 8.2), (34.1, 2.91, 24.3), *((33.3, 0.01, 31.8),) * 6),
    extensions=BY_UNIT,
)
NANOPORE = GapModel(
    opening=27,
    extension=9,
    repeats=3,
    slips=((17.6, 2.16, 7.8), (23.4, 2.91, 15.9), *((28.7, 0.0, 28.1),) * 6),
    extensions=BY_UNIT,
)
# Slips of short reads that confidence in the reference reckons with.
SHORT_REFERENCE = SHORT._replace(repeats=4, slips=((45, 2.2, 10), *((45, 2.8, 10),) * 7))


@cache
def slip_table(model: GapModel) -> ndarray:
    """Return the Phred of a read with one unit more or fewer than the reference, float64 [unit - 1, repeats]."""
    model, repeats = SHORT_REFERENCE if model == SHORT else model, np.arange(MAX_TRACT + 1)
    slips = [
        np.maximum(least, first - fall * np.maximum(0, repeats - model.repeats)) for first, fall, least in model.slips
    ]
    return np.where(repeats < model.repeats, model.opening, np.minimum(model.opening, slips))


@cache
def opening_table(model: GapModel) -> ndarray:
    """Return the gap openings, uint8 [unit - 1, bases of the tract]."""
    bases = np.maximum(1, np.arange(MAX_TRACT + 1))
    table = np.empty((len(model.slips), bases.size), np.uint8)
    for k, ((first, slope, lowest), extend) in enumerate(zip(model.slips, model.extensions, strict=True)):
        slip = np.maximum(lowest, first - slope * np.maximum(0, bases // (k + 1) - model.repeats))
        further = k * extend - 10 * np.log10(1 - 10 ** (-0.1 * extend))
        table[k] = np.clip(np.rint(slip + 10 * np.log10(bases) - further), 1, model.opening)
    return table
