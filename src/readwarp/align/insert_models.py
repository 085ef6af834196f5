"""The insert-size models of an input, by read group."""

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import InsertSizes


class Limits(NamedTuple):
    """What kernels need of the insert-size models of a batch's reads. Limits are inclusive."""

    model: Annotated[ndarray, "int32 [reads]"]  # of each read
    low: Annotated[ndarray, "int64 [models]"]
    high: Annotated[ndarray, "int64 [models]"]


@dataclass(frozen=True)
class InsertModels:
    """The insert-size models of an input: one for all reads, and those of read groups that have their own."""

    common: InsertSizes
    groups: dict[int, InsertSizes] = field(default_factory=dict)  # by number of the read group

    @property
    def all(self) -> list[InsertSizes]:
        return [self.common, *self.groups.values()]

    def limits(self, read_group: ndarray) -> Limits:
        """Of reads with these read groups (-1: none)."""
        last = 1 + max(self.groups, default=-1)  # stands for all groups that have no model, as -1 does
        model = np.zeros(last + 2, np.int32)
        model[list(self.groups)] = np.arange(1, len(self.groups) + 1)
        low, high = (np.array([getattr(each, name) for each in self.all], np.int64) for name in ("low", "high"))
        return Limits(model[np.minimum(read_group, last)], low, high)
