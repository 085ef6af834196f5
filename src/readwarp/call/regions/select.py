"""Some of the regions (host only)."""

from dataclasses import replace

import numpy as np

from readwarp.batches import Regions
from readwarp.ragged import offsets_of


def selected(regions: Regions, chosen: np.ndarray) -> Regions:
    """The regions where `chosen` (bool [g]) holds."""
    rows = np.repeat(chosen, np.diff(regions.read_offsets))
    return replace(
        regions,
        start=regions.start[chosen],
        stop=regions.stop[chosen],
        low=regions.low[chosen],
        high=regions.high[chosen],
        read_offsets=offsets_of(np.diff(regions.read_offsets)[chosen]),
        read=regions.read[rows],
        base_start=regions.base_start[rows],
        base_stop=regions.base_stop[rows],
        status=regions.status[chosen],
    )
