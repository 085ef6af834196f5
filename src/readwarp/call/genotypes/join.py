"""Calls of several parts as one (host only)."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from readwarp.batches import Calls


def join_calls(parts: Sequence[Calls], start: int, stop: int, *, samples: int = 1) -> Calls:
    """The calls of all parts with positions in [start, stop), by position; at one position in the order of parts.

    `samples`: of calls without a row.
    """
    parts = [part for part in parts if len(part)]
    if not parts:
        return no_calls(samples)
    position = np.concatenate([part.position for part in parts])
    order = np.argsort(position, kind="stable")
    order = order[(position[order] >= start) & (position[order] < stop)]
    return Calls(**{f.name: _take([getattr(part, f.name) for part in parts], order) for f in fields(Calls)})


def _take(columns: list[Any], order: np.ndarray) -> Any:
    """The same column of all parts as one, in this order."""
    if isinstance(columns[0], dict):
        return {name: _take([part[name] for part in columns], order) for name in columns[0]}
    if isinstance(columns[0], list):
        together = [value for part in columns for value in part]
        return [together[i] for i in order.tolist()]
    return np.concatenate(columns)[order]


def no_calls(samples: int = 1) -> Calls:
    return Calls(
        contig=np.empty(0, np.int32),
        position=np.empty(0, np.int64),
        alleles=[],
        quality=np.empty(0),
        genotype=[],
        genotype_quality=np.empty((0, samples), np.int32),
        depth=np.empty((0, samples), np.int32),
        allele_depth=[],
        likelihoods=[],
        phase_set=np.empty((0, samples), np.int64),
        filters=[],
        annotations={},
        strands=np.empty((0, 4), np.int32),
    )
