"""Insert-size models of an input, by read group."""

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar


class InsertSizes(NamedTuple):
    """Insert-size model of one input: outer distance of forward-reverse pairs, in bases."""

    mean: float
    deviation: float
    low: int  # limits of a proper pair, inclusive
    high: int
    pairs: int  # confident pairs it was fitted to; 0 for a default
    other_orientations: int  # confident pairs whose reads did not point at each other


class InsertLimits(NamedTuple):
    """Limits of insert-size models, for kernels, inclusive."""

    model: Annotated[ndarray, "int32 [groups]"]  # model of each read group; 0 for others
    low: Annotated[ndarray, "int64 [models]"]
    high: Annotated[ndarray, "int64 [models]"]


@scalar
def model_of(limits, group):
    """Return the model for reads of a read group (-1: none)."""
    return np.int64(limits.model[group]) if 0 <= group < limits.model.size else np.int64(0)


@dataclass(frozen=True)
class InsertModels:
    """Insert-size models of an input: one for all reads, and one for each read group that has its own."""

    common: InsertSizes
    groups: dict[int, InsertSizes] = field(default_factory=dict)  # by read group number

    @property
    def all(self) -> list[InsertSizes]:
        return [self.common, *self.groups.values()]

    def limits(self) -> InsertLimits:
        model = np.zeros(1 + max(self.groups, default=-1), np.int32)
        model[list(self.groups)] = np.arange(1, len(self.groups) + 1)
        low, high = (np.array([getattr(each, name) for each in self.all], np.int64) for name in ("low", "high"))
        return InsertLimits(model, low, high)
