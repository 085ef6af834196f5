"""Calls of several parts as one (host only)."""

from collections.abc import Sequence

import numpy as np

from readwarp.batches import Calls


def joined(parts: Sequence[Calls], start: int, stop: int) -> Calls:
    """The calls of all parts with positions in [start, stop), by position; at one position in the order of parts."""
    rows = [(int(p), n, i) for n, part in enumerate(parts) for i, p in enumerate(part.position) if start <= p < stop]
    rows.sort()

    def column(name: str) -> list:
        return [getattr(parts[n], name)[i] for _, n, i in rows]

    arrays = {
        "contig": np.int32,
        "position": np.int64,
        "quality": np.float64,
        "genotype_quality": np.int32,
        "depth": np.int32,
    }
    columns = {name: np.array(column(name), dtype) for name, dtype in arrays.items()}
    lists = ("alleles", "genotype", "allele_depth", "likelihoods", "filters", "annotations")
    return Calls(**columns, **{name: column(name) for name in lists})  # type: ignore[arg-type]
