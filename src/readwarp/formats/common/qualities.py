"""Encodings of base qualities: Phred+33, or in old files Phred+64 (Illumina until 2011, and derived files)."""

import numpy as np
from numpy import ndarray

PHRED33, PHRED64 = 33, 64
MISSING = 255  # of a read without qualities, as in BAM
SHIFT = 31  # difference of Phred+64 qualities read as Phred+33
LOWEST, HIGHEST = SHIFT - 5, SHIFT + 44  # range of Phred+64 read as Phred+33: Solexa's began at -5
HIGH = 60  # no machine that writes Phred+33 and reads a molecule once is as certain
ENOUGH = 1000  # number of bases that suffice
AMBIGUOUS = (
    "its base qualities are {low} to {high} as Phred+33, so they are Phred+64: give --phred64, which converts them"
    " (or --phred33 to take them as they are)"
)
TOO_LOW = "a base quality below Phred+64's 0 ('@'): leave out --phred64"


def explain_phred64(qualities: ndarray) -> str | None:
    """Explain why these qualities, some of a file's first (uint8), must be Phred+64 misread as Phred+33.

    None if they may be Phred+33: consensus reads go up to 93, and have some low ones.
    """
    known = qualities[qualities != MISSING]
    if known.size < ENOUGH:
        return None
    low, high = int(known.min()), int(known.max())
    return AMBIGUOUS.format(low=low, high=high) if low >= LOWEST and HIGH < high <= HIGHEST else None


def from_phred64(qualities: ndarray) -> tuple[ndarray, int]:
    """Convert qualities (uint8) from Phred+64; also return the place of the first that it cannot hold, -1 for none."""
    known = qualities != MISSING
    bad = np.flatnonzero(known & (qualities < SHIFT))
    return np.where(known, qualities - np.uint8(SHIFT), qualities), int(bad[0]) if bad.size else -1


def encoding_of(phred33: bool, phred64: bool) -> int | None:
    """Return the encoding of the options --phred33 and --phred64; None if neither is given."""
    return PHRED64 if phred64 else PHRED33 if phred33 else None
