"""The reads of regions, by sample and fragment."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Regions
from readwarp.device.jit import kernel


class Groups(NamedTuple):
    """Reads of a region and sample, those of one fragment (that is, of one name) side by side."""

    region: Annotated[ndarray, "int64 [groups]"]  # ascending
    read_offsets: Annotated[ndarray, "int64 [groups + 1] of rows"]
    read: Annotated[ndarray, "int32 [rows]"]  # index in AlignedReads
    fragment: Annotated[ndarray, "int64 [rows]"]  # number among those of the group, ascending
    base_start: Annotated[ndarray, "int64 [rows]"]  # as in Regions
    base_stop: Annotated[ndarray, "int64 [rows]"]

    def __len__(self) -> int:
        return self.region.size


def group_reads(regions: Regions, reads: AlignedReads, samples: int) -> Groups:
    """A group for each region and each sample, in this order."""
    own = np.repeat(np.arange(len(regions)), np.diff(regions.read_offsets)) * samples + reads.sample[regions.read]
    name = reads.name_hash[regions.read]
    order = np.lexsort((name, own))
    own, name = own[order], name[order]
    is_new = np.ones(order.size, bool)
    is_new[1:] = (name[1:] != name[:-1]) | (own[1:] != own[:-1])
    number = np.cumsum(is_new) - 1
    read_offsets = np.searchsorted(own, np.arange(len(regions) * samples + 1))
    return Groups(
        region=np.repeat(np.arange(len(regions)), samples),
        read_offsets=read_offsets,
        read=regions.read[order],
        fragment=number - np.append(number, 0)[read_offsets[:-1]][own],
        base_start=regions.base_start[order],
        base_stop=regions.base_stop[order],
    )


@kernel
def count_fragments(groups, g):
    first, stop = groups.read_offsets[g], groups.read_offsets[g + 1]
    return groups.fragment[stop - 1] + 1 if stop > first else 0
