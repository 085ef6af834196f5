"""Read groups of a header, and the samples to which their reads belong."""

from functools import lru_cache
from typing import Any

import numpy as np

from readwarp.formats.alignments.decode_kernels import UNWANTED
from readwarp.rules.hashes import hash_of


def read_groups_of(header: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Map sample names to their read groups."""
    out: dict[str, tuple[str, ...]] = {}
    for group in header.get("RG", []):
        if "SM" in group:
            out[group["SM"]] = (*out.get(group["SM"], ()), group["ID"])
    return out


@lru_cache
def group_table(
    samples: tuple[tuple[str, ...], ...], wanted: tuple[tuple[str, ...], ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending hashes of the read groups of all `samples`, and the index of each among the `wanted` samples."""
    numbers = {group: UNWANTED for groups in samples for group in groups} if wanted else {}
    numbers.update({group: number for number, groups in enumerate(wanted) for group in groups})
    rows = sorted((_hash(group), number) for group, number in numbers.items())
    return np.array([row[0] for row in rows], np.uint64), np.array([row[1] for row in rows], np.int16)


def _hash(text: str) -> int:
    raw = np.frombuffer(text.encode(), np.uint8)
    return int(hash_of(raw, 0, raw.size))
