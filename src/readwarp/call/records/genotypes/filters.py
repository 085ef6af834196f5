"""Hard-filter records. A filter is a row of FILTERS; its limit is a field of `CallParameters` and an option."""

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.records.filters import LOW_QUALITY, STRAND_BIAS, Filter, find_failed, is_strand_biased
from readwarp.call.records.genotypes.emitted import Emitted
from readwarp.call.records.genotypes.surroundings import LEAST_SHARE
from readwarp.config import CallParameters

SMALL_PART = 0.5  # fraction of the distance of the reference's reads
OVERLAP = "Overlap"
NOT_APPLIED = (".",)  # FILTER of a record whose genotypes have no ALT allele, only forced ones


class GenotypeFacts(NamedTuple):
    """Inputs of filters: arrays of records [records] or of their samples [records, samples]."""

    quality: ndarray  # QUAL
    is_indel: ndarray
    info: dict[str, ndarray]  # annotations, not rounded; NaN if missing
    ploidy: ndarray
    depth: ndarray  # DP of the sample
    depth_around: ndarray  # typical depth of the sample around the record; NaN unknown
    fraction: ndarray  # share of the sample's reads that show ALT alleles; 0 if its genotype has none
    expected: ndarray  # share of the genotype's copies that are ALT alleles
    limits: CallParameters


def _is_near_ends(facts: GenotypeFacts) -> ndarray:
    """Test the distance to read ends, unless REF reads end near the site as well, as at an amplicon's start."""
    distance, usual = facts.info["ED"], facts.info["EDR"]
    return np.asarray((distance < facts.limits.min_end_distance) & (distance < SMALL_PART * usual))


def _has_low_fraction(facts: GenotypeFacts) -> ndarray:
    """Test for a low fraction that chance alone does not explain.

    Where far fewer reads are informative than around, or the depth around is unknown, chance is not considered.
    """
    is_low = _is_below_limit(facts.fraction, facts.ploidy, facts.limits)
    rows = np.flatnonzero(is_low)
    depth, around = facts.depth[rows], facts.depth_around[rows]
    expected = facts.expected[rows]
    is_usual = depth.sum(axis=1, where=expected > 0) >= LEAST_SHARE * around.sum(axis=1, where=expected > 0)
    misfit = fraction_misfit(depth, facts.fraction[rows], expected)
    is_low[rows] = ~is_usual | (misfit > facts.limits.max_fraction_misfit)
    return is_low


def _is_below_limit(fraction: ndarray, ploidy: ndarray, limits: CallParameters) -> ndarray:
    share = limits.min_allele_fraction / np.maximum(1, ploidy)
    return np.asarray(np.all(fraction < np.where(ploidy > 1, share, limits.min_haploid_fraction), axis=1))


def fraction_misfit(depth: ndarray, fraction: ndarray, expected: ndarray) -> ndarray:
    """Return the Phred of how much better the fraction seen explains the reads than the genotype's (float64 [records]).

    Binomial, over all samples [records, samples] that have ALT alleles. With few reads, any fraction is likely enough.
    """
    reads = np.where(expected > 0, depth, 0)
    total = np.maximum(1, reads.sum(axis=1))
    seen, own = ((reads * share).sum(axis=1) / total for share in (fraction, expected))
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = [np.where(a > 0, a * np.log10(a / b), 0.0) for a, b in ((seen, own), (1.0 - seen, 1.0 - own))]
    return np.asarray(10.0 * total * (gains[0] + gains[1]))


def _is_placed_unsurely(facts: GenotypeFacts) -> ndarray:
    """Test whether the other reads match the depth of all copies, so that reads with ALT alleles are surplus."""
    around = np.where(np.isnan(facts.depth_around), facts.depth, facts.depth_around)
    left = around * (1.0 - facts.limits.min_expected_fraction * facts.expected)
    is_full = (1.0 - facts.fraction) * facts.depth > left
    fails: ndarray = is_full.all(axis=1, where=facts.expected > 0)
    return fails & (facts.info["AMQ"] < facts.limits.min_alt_mapping_quality)


FILTERS = (
    Filter("LowQual", LOW_QUALITY, lambda facts: facts.quality < facts.limits.min_quality),
    Filter("StrandBias", STRAND_BIAS, lambda facts: is_strand_biased(facts.info, facts.is_indel, facts.limits)),
    Filter(
        "ReadEnds",
        "ALT alleles are seen near read ends only, REF is not: ED < {limits.min_end_distance:g} (--min-end-distance) "
        f"and < {SMALL_PART:g} x EDR",
        _is_near_ends,
    ),
    Filter(
        "LowFraction",
        "Few reads show ALT alleles: AD / DP x ploidy < {limits.min_allele_fraction:g} (--min-allele-fraction), or < "
        "{limits.min_haploid_fraction:g} for one copy (--min-haploid-fraction), in every sample that has them, and "
        "not by chance (Phred > {limits.max_fraction_misfit:g}: --max-fraction-misfit); for mixtures: --mixture",
        _has_low_fraction,
    ),
    Filter(
        "LowMapping",
        "ALT reads may be mismapped: AMQ < {limits.min_alt_mapping_quality:g} (--min-alt-mapping-quality), and the "
        "other reads exceed 1 - {limits.min_expected_fraction:g} (--min-expected-fraction) x the genotype's ALT share "
        "of the depth around",
        _is_placed_unsurely,
    ),
    Filter(OVERLAP, "Overlaps a better-supported deletion on the same haplotypes"),
)


def asks_for_surroundings(out: Emitted, columns: Any, parameters: CallParameters) -> ndarray:
    """Return which records have filters that need the depth around (bool [records]). `columns`: annotations.Columns."""
    is_below = _is_below_limit(alt_fractions(out)[0], out.ploidy, parameters)
    return np.asarray(is_below | np.less(columns.AMQ, parameters.min_alt_mapping_quality))


def find_failed_filters(out: Emitted, columns: Any, parameters: CallParameters) -> list[tuple[str, ...]]:
    """Return FILTER of each record: the filters that it fails. `columns`: annotations.Columns."""
    fraction, expected = alt_fractions(out)
    info, samples = columns._asdict(), (out.ploidy, out.depth, out.depth_around, fraction, expected)
    failed = find_failed(FILTERS, GenotypeFacts(out.quality, out.is_indel, info, *samples, parameters))
    has_alt = np.any(expected > 0, axis=1).tolist()
    return [own if has else NOT_APPLIED for own, has in zip(failed, has_alt, strict=True)]


def alt_fractions(out: Emitted) -> tuple[ndarray, ndarray]:
    """Return the fraction of ALT alleles among reads and among copies (float64 [records, samples]); 0 without any."""
    is_alt = (out.genotype > 0) & (out.genotype != out.star[:, None, None])
    expected = np.count_nonzero(is_alt, axis=2) / np.maximum(1, out.ploidy)
    samples, sizes = out.ploidy.shape[1], np.diff(out.depth_offsets)
    allele = np.arange(out.allele_depth.size) - np.repeat(out.depth_offsets[:-1], sizes)
    is_counted = (allele > 0) & (allele != np.repeat(np.repeat(out.star, samples), sizes))
    column = np.repeat(np.arange(sizes.size), sizes)
    depths = np.where(out.allele_depth < 0, np.nan, out.allele_depth)[is_counted]  # unknown: no filter on fractions
    reads = np.bincount(column[is_counted], depths, sizes.size).reshape(expected.shape)
    return np.where(expected > 0, reads / np.maximum(1, out.depth), 0.0), expected
