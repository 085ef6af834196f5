"""Qualities from which a base counts: each step asks for more than the one before, besides --min-base-quality.

The pileup counts all bases that are not hidden. Evidence needs bases that say something: an error of Phred 0 or 1 is
likelier than that of a guess. Haplotypes and insertions are spelled by better ones, since a wrong base spoils the words
of all bases around it.
"""

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.rules.bases import UNKNOWN

HIDDEN = 0  # of bases beyond the depth limit, and of those that the mate shows as well
INFORMATIVE = 2  # least Phred of evidence
MIN_QUALITY = 10  # least Phred of bases that spell


@scalar
def spells(base, quality):
    return base < UNKNOWN and quality >= MIN_QUALITY


def hide_poor(bases: ndarray, qualities: ndarray) -> ndarray:
    """Return a read's bases (uint8), UNKNOWN where quality is low."""
    return np.where(qualities < MIN_QUALITY, np.uint8(UNKNOWN), bases)
