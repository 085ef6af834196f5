"""Pair scores and mapping qualities, with their tables."""

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


def quality_slopes(lengths: np.ndarray, match: int) -> np.ndarray:
    """Return Phred units (times SCALE) per unit of score difference, for aligned spans of these lengths: float64."""
    shares = np.log(50) / np.log(np.maximum(lengths, 50))
    return np.asarray(SCALE * SLOPE / match * shares * shares)


@lru_cache(maxsize=16)
def slope_table(match: int) -> np.ndarray:
    """Return the rounded slopes by read length: int32 [MAX_READ_LENGTH + 1]."""
    return np.asarray(np.rint(quality_slopes(np.arange(MAX_READ_LENGTH + 1), match)), np.int32)


@lru_cache(maxsize=1)
def crowd_penalties() -> np.ndarray:
    """Return Phred units to subtract if n places are near the second best one, 10 log10(n): int32 [MAX_CROWD + 1]."""
    return np.array([0] + [round(10 * math.log10(n)) for n in range(1, MAX_CROWD + 1)], np.int32)


@scalar
def share_left_out(repetitive, step, length):
    """Return the share of a read's seeds left out as repetitive, in 1 / SCALE. step: read bases per seed."""
    return min(SCALE, repetitive * step * SCALE // length)


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
