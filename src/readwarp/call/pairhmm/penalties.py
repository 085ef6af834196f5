"""Gap penalties of each base of a read, by the repeat around it, where polymerases slip.

A tract is a run of known bases in which each equals the one `unit` bases before it, at least REPEATS whole units long;
its repeats are its bases divided by the unit. SLIP gives the cost, in Phred, of a read with one unit more or less than
its tract. Such a gap can be written at as many places as the tract has bases, and the recurrence adds them up, so each
base of the tract gets the opening

    open = slip + 10 log10(bases) - (unit - 1) * extend + 10 log10(1 - 10 ** (-extend / 10)),  rounded, at most 45

A base in several tracts takes the lowest opening, on a tie that of the smallest unit. Elsewhere: open 45, extend 10.
"""

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm.scalar import UNKNOWN
from readwarp.device.jit import kernel

OPEN, EXTEND = 45, 10
MAX_TRACT = 400  # bases; a longer tract counts as this long

REPEATS = 5  # fewer units are not a tract

# By unit, 1 to 8: the Phred by which each repeat from REPEATS on makes a slip likelier; the lowest Phred.
SLIP = ((2.2, 10), (2.0, 14), (2.0, 16), (2.0, 16), (2.0, 16), (2.4, 16), (2.4, 16), (2.4, 16))
EXTEND_OF_UNIT = (10, 5, 3, 2, 2, 2, 1, 1)  # about Phred 10 for each further unit


def opening_table() -> ndarray:
    """Gap openings, uint8 [unit - 1, bases of the tract]."""
    bases = np.maximum(1, np.arange(MAX_TRACT + 1))
    table = np.empty((len(SLIP), bases.size), np.uint8)
    for k, ((slope, lowest), extend) in enumerate(zip(SLIP, EXTEND_OF_UNIT, strict=True)):
        slip = np.maximum(lowest, OPEN - slope * np.maximum(0, bases // (k + 1) - REPEATS + 1))
        further = k * extend - 10 * np.log10(1 - 10 ** (-0.1 * extend))
        table[k] = np.clip(np.rint(slip + 10 * np.log10(bases) - further), 1, OPEN)
    return table


OPENINGS = opening_table()
NOT_YET = OPEN + 1


def gap_penalties(bases: ndarray, offsets: ndarray, chosen: ndarray | None = None) -> tuple[ndarray, ndarray]:
    """Phred of a gap's opening after each base of the reads, and of its extension (uint8 [bases] each).

    chosen: the reads to search for tracts; without it, all.
    """
    chosen = np.arange(offsets.size - 1) if chosen is None else chosen.astype(np.int64)
    opening, extension = np.full(bases.size, NOT_YET, np.uint8), np.full(bases.size, EXTEND, np.uint8)
    penalize(bases, offsets, chosen, OPENINGS, np.array(EXTEND_OF_UNIT, np.uint8), opening, extension)
    return np.minimum(opening, np.uint8(OPEN), out=opening), extension


@kernel
def _is_repeated(bases, i, unit):
    return bases[i] == bases[i - unit] and bases[i] < UNKNOWN


@kernel
def penalize(bases, offsets, chosen, openings, extend_of_unit, opening, extension):
    """Lower `opening`, and set `extension`, in the tracts of the chosen reads.

    A tract has at least `needed` repeating bases in a row. So the search looks at the last of that many first, and a
    base that does not repeat rules out all windows that contain it.
    """
    longest = openings.shape[1] - 1
    for row in range(chosen.size):
        begin, stop = offsets[chosen[row]], offsets[chosen[row] + 1]
        for unit in range(1, openings.shape[0] + 1):
            needed, low = (REPEATS - 1) * unit, begin + unit
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
                        opening[k], extension[k] = cost, extend_of_unit[unit - 1]
                low, i = i + 2, i + 1 + needed
