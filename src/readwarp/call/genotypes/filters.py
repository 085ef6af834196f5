"""The named hard filters of a call (host only)."""

from collections.abc import Mapping

import numpy as np

from readwarp.call.genotypes.emitted import COLUMNS, Emitted
from readwarp.call.genotypes.overlaps import NAME as OVERLAP
from readwarp.config import CallParameters

DESCRIPTIONS = {
    "LowQual": "QUAL below the limit",
    "StrandBias": "the other alleles' reads lie on one strand, the reference's do not (FS above the limit)",
    "ReadEnds": "the other alleles are seen near read ends only (ED below the limit)",
    "LowFraction": "few of the reads show the other alleles (AD by DP below the limit in every sample that has them)",
    "LowMapping": "the reads that show the other alleles are placed unsurely, and fewer than the genotype makes expect",
    OVERLAP: "the deletion of a better call takes the copies that this one needs",
}
NAMES = tuple(DESCRIPTIONS)[:-1]  # those that a call fails by itself
NOT_APPLIED = (".",)  # FILTER of a forced allele that no sample has
SETS = [tuple(name for bit, name in enumerate(NAMES) if number >> bit & 1) for number in range(1 << len(NAMES))]


def failed_filters(out: Emitted, is_indel: np.ndarray, parameters: CallParameters) -> list[tuple[str, ...]]:
    """Names of the filters that each call does not pass."""
    column = dict(zip(COLUMNS, out.columns.T, strict=True))
    fraction, wanted = shares(out)
    return names_of_failed(out.quality, column, fraction, wanted, out.ploidy[:, None], is_indel, parameters)


def names_of_failed(
    quality: np.ndarray,
    column: Mapping[str, np.ndarray],
    fraction: np.ndarray,
    wanted: np.ndarray,
    ploidy: np.ndarray,
    is_indel: np.ndarray,
    parameters: CallParameters,
) -> list[tuple[str, ...]]:
    """The same of `column`: FS, ED and AMQ, [v], and of shares as `shares` has them; `ploidy`: [v, m] or [v, 1]."""
    fails = (
        quality < parameters.min_quality,
        column["FS"] > np.where(is_indel, 200.0, 40.0),
        column["ED"] < 5.0,
        (fraction < np.where(ploidy > 1, 0.3 / ploidy, 0.6)).all(axis=1),
        (column["AMQ"] < 30.0) & (fraction < 0.6 * wanted).all(axis=1, where=wanted > 0),
    )
    numbers = np.sum([np.int64(1 << bit) * failed for bit, failed in enumerate(fails)], axis=0)
    has_variant = np.any(wanted > 0, axis=1).tolist()
    return [SETS[n] if has else NOT_APPLIED for n, has in zip(numbers.tolist(), has_variant, strict=True)]


def shares(out: Emitted) -> tuple[np.ndarray, np.ndarray]:
    """float64 [v, m]: the other alleles' share of the reads, and of the genotype's copies; 0 where it has none."""
    samples = out.depth.shape[1]
    wanted = np.count_nonzero(out.genotype > 0, axis=2) / out.ploidy[:, None]
    if out.site.size == 0:
        return wanted, wanted
    kept = np.repeat(np.diff(out.kept_offsets), samples)
    first = np.cumsum(kept) - kept  # the reference's AD of each site and sample
    others = np.add.reduceat(out.allele_depth, first) - out.allele_depth[first]
    fraction = others.reshape(-1, samples) / np.maximum(1, out.depth)
    return np.where(wanted > 0, fraction, 0.0), wanted
