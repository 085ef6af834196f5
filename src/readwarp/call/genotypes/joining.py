"""Calls of several parts as one (host only)."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from readwarp.batches import Calls


def joined(parts: Sequence[Calls], start: int, stop: int, *, samples: int = 1) -> Calls:
    """The calls of all parts with positions in [start, stop), by position; at one position in the order of parts.

    `samples`: of calls without a row.
    """
    parts = [part for part in parts if len(part)]
    if not parts:
        return no_calls(samples)
    position = np.concatenate([part.position for part in parts])
    order = np.argsort(position, kind="stable")
    order = order[(position[order] >= start) & (position[order] < stop)]
    return Calls(**{f.name: _column([getattr(part, f.name) for part in parts], order) for f in fields(Calls)})


def _column(values: list[Any], order: np.ndarray) -> Any:
    if isinstance(values[0], dict):
        return {name: _column([part[name] for part in values], order) for name in values[0]}
    if isinstance(values[0], list):
        together = [value for part in values for value in part]
        return [together[i] for i in order.tolist()]
    return np.concatenate(values)[order]


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
