"""Cluster the events of reads into variants, by kind, place and length."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy import ndarray

from readwarp.config import StructuralParameters
from readwarp.ragged import first_alike
from readwarp.structural.evidence import StructuralEvents


def cluster(events: StructuralEvents, parameters: StructuralParameters) -> list[ndarray]:
    """Cluster the events of one contig: rows of each variant (int64 [events]), each of another read.

    Insertions and deletions apart, sorted by place, events stay together while neighbours begin within `max_apart`.
    Then, sorted by length, while neighbours have similar lengths, and then once more by place. Clusters that no sample
    shows with `min_sv_support` reads are dropped; one read is enough if `long`, since others may be clipped there.
    """
    p, length = parameters, np.abs(events.length)
    ties = events.name, events.query_start, events.stop

    def split(label: ndarray, value: ndarray, other: ndarray, is_far: Callable[[ndarray, ndarray], ndarray]) -> ndarray:
        """Split labelled events at gaps between their values: `is_far` says which neighbours are apart."""
        order = np.lexsort((*ties, other, value, label))
        is_new = np.zeros(order.size, bool)
        is_new[1:] = (np.diff(label[order]) > 0) | is_far(value[order[:-1]], value[order[1:]])
        out = np.empty_like(label)
        out[order] = np.cumsum(is_new)
        return out

    def is_far(low: ndarray, high: ndarray) -> ndarray:
        return np.asarray(high - low > p.max_apart)

    def differs(low: ndarray, high: ndarray) -> ndarray:
        return np.asarray(high - low > np.maximum(p.max_difference, p.max_excess * low))

    label = split((events.length > 0).astype(np.int64), events.start, length, is_far)
    label = split(split(label, length, events.start, differs), events.start, length, is_far)
    row = np.flatnonzero(first_alike(label, events.name, events.sample) == np.arange(label.size))
    row = row[np.argsort(label[row], kind="stable")]
    bounds = np.flatnonzero(np.diff(label[row], prepend=-1, append=label.size)).tolist()
    clusters = [row[low:high] for low, high in pairwise(bounds)]
    return [
        rows
        for rows in clusters
        if np.bincount(events.sample[rows]).max() >= p.min_sv_support or length[rows].max() >= p.long
    ]
