"""Split the regions of several samples into one region per sample (host only)."""

import numpy as np

from readwarp.batches import AlignedReads, Regions
from readwarp.ragged import replace


def split_samples(regions: Regions, reads: AlignedReads) -> Regions:
    """Return one region per place and sample, side by side in sample order, with reads in file order.

    A place without reads has one, of sample 0. `place` numbers the given regions.
    """
    samples = int(reads.sample.max(initial=0)) + 1
    place = np.repeat(np.arange(len(regions)), np.diff(regions.read_offsets))
    own = place * samples + reads.sample[regions.read]
    bare = np.flatnonzero(np.diff(regions.read_offsets) == 0) * samples
    found = np.unique(np.concatenate((own, bare)))
    order = np.argsort(own, kind="stable")
    rows = found // samples
    return replace(
        regions,
        **{name: getattr(regions, name)[rows] for name in ("start", "stop", "low", "high", "status")},
        **{name: getattr(regions, name)[order] for name in ("read", "base_start", "base_stop")},
        read_offsets=np.append(np.searchsorted(own[order], found), own.size),
        place=rows,
        sample=(found % samples).astype(np.uint16),
    )
