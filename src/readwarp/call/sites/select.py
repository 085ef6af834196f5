"""Some of the sites (host only)."""

from dataclasses import replace

import numpy as np

from readwarp.batches import Sites


def within(sites: Sites, start: int, stop: int) -> np.ndarray:
    """bool [s]: position as written in VCF lies in [start, stop)."""
    position = sites.begin - sites.is_indel
    return (position >= start) & (position < stop)


def selected(sites: Sites, rows: np.ndarray) -> Sites:
    """The sites of the given numbers."""
    alleles = _ranges(sites.allele_offsets, rows)
    return replace(
        sites,
        begin=sites.begin[rows],
        stop=sites.stop[rows],
        is_indel=sites.is_indel[rows],
        unit=sites.unit[rows],
        allele_offsets=_offsets(sites.allele_offsets, rows),
        deleted=sites.deleted[alleles],
        inserted=sites.inserted[_ranges(sites.inserted_offsets, alleles)],
        inserted_offsets=_offsets(sites.inserted_offsets, alleles),
        source=sites.source[alleles],
        is_forced=sites.is_forced[alleles],
    )


def _offsets(offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    sizes = offsets[rows + 1] - offsets[rows]
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def _ranges(offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """All indices of the rows' ragged values, one row after the other."""
    sizes, chosen = offsets[rows + 1] - offsets[rows], _offsets(offsets, rows)
    return np.arange(chosen[-1]) + np.repeat(offsets[rows] - chosen[:-1], sizes)
