"""Derive the gap penalties of each base of a read from the repeat around it, where polymerases slip.

A tract is a run of known bases in which each equals the one `unit` bases before it, at least `repeats` whole units
long; its repeats are its bases divided by the unit. A model's `slips` give the cost, in Phred, of a read with one unit
more or fewer than its tract. Such a gap can be written at as many places as the tract has bases, and the recurrence
adds them up, so each base of the tract gets the opening

    open = slip + 10 log10(bases) - (unit - 1) * extend + 10 log10(1 - 10 ** (-extend / 10))

rounded, at most that of bases outside tracts. A base in several tracts takes the lowest opening, on a tie that of the
smallest unit.
"""

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm.scalar import UNKNOWN
from readwarp.call.reads.gap_models import SHORT, GapModel, opening_table
from readwarp.compiler.jit import kernel


def gap_penalties(
    bases: ndarray, offsets: ndarray, chosen: ndarray | None = None, model: GapModel = SHORT
) -> tuple[ndarray, ndarray]:
    """Return the Phred of a gap's opening after each base of the reads, and of its extension (uint8 [bases] each).

    chosen: the reads to search for tracts; default: all.
    """
    chosen = np.arange(offsets.size - 1) if chosen is None else chosen.astype(np.int64)
    opening = np.full(bases.size, model.opening + 1, np.uint8)  # none found yet
    extension = np.full(bases.size, model.extension, np.uint8)
    extensions = np.array(model.extensions, np.uint8)
    penalize(bases, offsets, chosen, model.repeats, (opening_table(model), extensions), (opening, extension))
    return np.minimum(opening, np.uint8(model.opening), out=opening), extension


@kernel
def _is_repeated(bases, i, unit):
    return bases[i] == bases[i - unit] and bases[i] < UNKNOWN


@kernel
def penalize(bases, offsets, chosen, repeats, model, penalties):
    """Lower the openings, and set the extensions, in the tracts of the chosen reads. model: openings and extensions.

    A tract has at least `needed` repeating bases in a row. So the search looks first at the last of that many, and a
    base that does not repeat rules out all windows that contain it.
    """
    (openings, extensions), (opening, extension) = model, penalties
    longest = openings.shape[1] - 1
    for row in range(chosen.size):
        begin, stop = offsets[chosen[row]], offsets[chosen[row] + 1]
        for unit in range(1, openings.shape[0] + 1):
            needed, low = (repeats - 1) * unit, begin + unit
            i = low + needed - 1
            while i < stop:
                k = i
                while k >= low and _is_repeated(bases, k, unit):
                    k -= 1
                if k >= low:
                    low, i = k + 1, k + needed
                    continue
                while i + 1 < stop and _is_repeated(bases, i + 1, unit):
                    i += 1
                cost = openings[unit - 1, min(i + 1 - low + unit, longest)]
                for k in range(low - unit, i + 1):
                    if cost < opening[k]:
                        opening[k], extension[k] = cost, extensions[unit - 1]
                low, i = i + 2, i + 1 + needed
