"""Rules for scoring pairs, for MAPQ and for comparing bases, with their tables."""

import math
from functools import lru_cache

import numpy as np

from readwarp.align.insert_models import InsertSizes
from readwarp.compiler.jit import scalar
from readwarp.config import MAX_READ_LENGTH

MAX_QUALITY = 60
SCALE = 1024  # fixed point of the tables
SLOPE = 6.5  # Phred units per additional matching base, for a read of up to 50 bases
FINE = 64  # fixed point of pair scores
MAX_CROWD = 255
HARMLESS_SHARE = 600  # in 1 / SCALE: if fewer seeds are left out, the others find the place


@lru_cache(maxsize=1024)
def insert_penalties(sizes: InsertSizes, match: int) -> np.ndarray:
    """Return the pair score penalty (times FINE) by outer distance: int32 [high + 1]; negative near the mean."""
    out = np.zeros(sizes.high + 1, np.int32)
    for d in range(sizes.high + 1):
        tail = 2.0 * math.erfc(abs(d - sizes.mean) / sizes.deviation * math.sqrt(0.5))
        out[d] = FINE * 1000 if tail < 1e-300 else round(-0.721 * FINE * match * math.log(tail))
    return out


@lru_cache(maxsize=16)
def quality_slopes(match: int) -> np.ndarray:
    """Return Phred units (times SCALE) per unit of score difference, by read length: int32 [MAX_READ_LENGTH + 1]."""
    shares = [1.0 if n < 50 else math.log(50) / math.log(n) for n in range(MAX_READ_LENGTH + 1)]
    return np.array([round(SCALE * SLOPE / match * share * share) for share in shares], np.int32)


@lru_cache(maxsize=1)
def crowd_penalties() -> np.ndarray:
    """Return Phred units to subtract if n places are near the second best one, 10 log10(n): int32 [MAX_CROWD + 1]."""
    return np.array([0] + [round(10 * math.log10(n)) for n in range(1, MAX_CROWD + 1)], np.int32)


@scalar
def mix(x):
    """Scatter the bits of a uint64 by a bijection (Steele, Lea and Flood 2014: splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@scalar
def base_of(bases, q, strand):
    """Return the base of a read at a query position; outside 0-3 if it is not A C G T."""
    return np.int64(bases[q]) if strand == 0 else 3 - np.int64(bases[bases.size - 1 - q])


@scalar
def are_equal(base, reference_base):
    return base == reference_base and 0 <= base <= 3


@scalar
def mapping_quality(delta, alone_delta, slope, crowd_penalty, score, perfect, repetitive_share):
    """Return the MAPQ, 0-60, of a read placed at a.

    delta: worth(a) less the next best worth; alone_delta: the same for the read's own score. The mate adds 40 at most.
    A read far from the perfect score is trusted less. So is a read most of whose seeds were left out as repetitive
    (repetitive_share, in 1 / SCALE), since its true place may be among those not looked at.
    """
    if delta <= 0:
        return 0
    identity = min(SCALE, max(0, score) * SCALE // perfect)
    trust = identity * identity // SCALE
    quality = delta * slope // SCALE * trust // SCALE - crowd_penalty
    alone = max(0, alone_delta * slope // SCALE * trust // SCALE - crowd_penalty)
    seen = min(SCALE, (SCALE - repetitive_share) * SCALE // (SCALE - HARMLESS_SHARE))
    return max(0, min(quality, alone + 40, MAX_QUALITY)) * seen // SCALE * seen // SCALE
