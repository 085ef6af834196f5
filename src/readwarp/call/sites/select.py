"""Some of the sites (host only)."""

from dataclasses import replace

import numpy as np

from readwarp.batches import Sites
from readwarp.ragged import offsets_of, ranges


def within(sites: Sites, start: int, stop: int) -> np.ndarray:
    """bool [s]: position as written in VCF lies in [start, stop)."""
    position = sites.begin - sites.is_indel
    return (position >= start) & (position < stop)


def selected(sites: Sites, rows: np.ndarray) -> Sites:
    """The sites of the given numbers."""
    alleles = ranges(sites.allele_offsets, rows)
    return replace(
        sites,
        begin=sites.begin[rows],
        stop=sites.stop[rows],
        is_indel=sites.is_indel[rows],
        unit=sites.unit[rows],
        allele_offsets=offsets_of(np.diff(sites.allele_offsets)[rows]),
        deleted=sites.deleted[alleles],
        inserted=sites.inserted[ranges(sites.inserted_offsets, alleles)],
        inserted_offsets=offsets_of(np.diff(sites.inserted_offsets)[alleles]),
        is_forced=sites.is_forced[alleles],
    )
