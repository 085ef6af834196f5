"""Rules of scoring pairs and of mapping quality: scalars in, scalars out, and the tables they read."""

import math
from functools import lru_cache

import numpy as np

from readwarp.batches import InsertSizes
from readwarp.device.jit import scalar

HIGHEST_QUALITY = 60
SCALE = 1024  # fixed point of the tables
SLOPE = 6.5  # Phred units by which a read of up to 50 bases is surer for one matching base more
FINE = 64  # fixed point of scores of pairs
MAX_CROWD = 255
HARMLESS_SHARE = 600  # of SCALE: with fewer seeds left out than this, the others find the place


@lru_cache(maxsize=16)
def insert_penalties(sizes: InsertSizes, match: int) -> np.ndarray:
    """int32 [high + 1]: score (times FINE) taken off a pair with outer distance d; below 0 near the mean."""
    out = np.zeros(sizes.high + 1, np.int32)
    for d in range(sizes.high + 1):
        tail = 2.0 * math.erfc(abs(d - sizes.mean) / sizes.deviation * math.sqrt(0.5))
        out[d] = FINE * 1000 if tail < 1e-300 else round(-0.721 * FINE * match * math.log(tail))
    return out


@lru_cache(maxsize=16)
def quality_slopes(longest: int, match: int) -> np.ndarray:
    """int32 [longest + 1]: Phred units (times SCALE) that one score unit of difference is worth, by read length."""
    shares = [1.0 if n < 50 else math.log(50) / math.log(n) for n in range(longest + 1)]
    return np.array([round(SCALE * SLOPE / match * share * share) for share in shares], np.int32)


@lru_cache(maxsize=1)
def crowd_penalties() -> np.ndarray:
    """int32 [MAX_CROWD + 1]: Phred units taken off when n places are near the second best one: 10 log10(n)."""
    return np.array([0] + [round(10 * math.log10(n)) for n in range(1, MAX_CROWD + 1)], np.int32)


@scalar
def mapping_quality(delta, alone_delta, slope, crowd_penalty, score, perfect, repetitive_share):
    """MAPQ 0-60 of a read placed at a.

    delta: worth(a) less the next best worth; alone_delta: the same for its own score. The mate adds 40 at most. A read
    far from the perfect score is trusted less, and so is one most of whose seeds were left out as repetitive (share of
    SCALE), as its true place may never have been seen.
    """
    if delta <= 0:
        return 0
    identity = min(SCALE, max(0, score) * SCALE // perfect)
    trust = identity * identity // SCALE
    quality = delta * slope // SCALE * trust // SCALE - crowd_penalty
    alone = max(0, alone_delta * slope // SCALE * trust // SCALE - crowd_penalty)
    seen = min(SCALE, (SCALE - repetitive_share) * SCALE // (SCALE - HARMLESS_SHARE))
    return max(0, min(quality, alone + 40, HIGHEST_QUALITY)) * seen // SCALE * seen // SCALE
