"""Encodings of base qualities: Phred+33, or in old files Phred+64 (Illumina until 2011, and what was made of it)."""

import numpy as np
from numpy import ndarray

PHRED33, PHRED64 = 33, 64
MISSING = 255  # of a read without qualities, as in BAM
SHIFT = 31  # qualities of Phred+64 read as Phred+33 are so much higher
LOWEST, HIGHEST = SHIFT - 5, SHIFT + 44  # of Phred+64 read as Phred+33: Solexa's began at -5
HIGH = 60  # no machine that writes Phred+33 and reads a molecule once is as sure
ENOUGH = 1000  # bases that tell
AMBIGUOUS = (
    "its base qualities are {low} to {high} as Phred+33, so they are Phred+64: give --phred64, which converts them"
    " (or --phred33 to take them as they are)"
)
TOO_LOW = "a base quality below Phred+64's 0 ('@'): leave out --phred64"


def explain_phred64(qualities: ndarray) -> str | None:
    """What is wrong if these qualities, some of a file's first (uint8), are of Phred+64 but read as Phred+33.

    None if they may be of Phred+33: consensus reads go up to 93, and have some low ones.
    """
    known = qualities[qualities != MISSING]
    if known.size < ENOUGH:
        return None
    low, high = int(known.min()), int(known.max())
    return AMBIGUOUS.format(low=low, high=high) if low >= LOWEST and HIGH < high <= HIGHEST else None


def from_phred64(qualities: ndarray) -> tuple[ndarray, int]:
    """The qualities (uint8) as they were meant, and the place of the first that Phred+64 cannot hold, -1 for none."""
    known = qualities != MISSING
    bad = np.flatnonzero(known & (qualities < SHIFT))
    return np.where(known, qualities - np.uint8(SHIFT), qualities), int(bad[0]) if bad.size else -1


def encoding_of(phred33: bool, phred64: bool) -> int | None:
    """What the options --phred33 and --phred64 say; None if neither is given."""
    return PHRED64 if phred64 else PHRED33 if phred33 else None
