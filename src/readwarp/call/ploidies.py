"""How many copies of each place there are: the parameter, or what a BED file says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from readwarp.call.targets import bed_lines
from readwarp.config import MAX_PLOIDY
from readwarp.errors import InputError


@dataclass(frozen=True, slots=True)
class Ploidies:
    """`default` copies everywhere but in some intervals of each contig, which are in order and do not overlap."""

    default: int
    intervals: dict[int, np.ndarray]  # contig -> int64 [n, 3]: start, stop, ploidy

    def at(self, contig: int, positions: np.ndarray) -> np.ndarray:
        """int8, the ploidy at each of the positions (0-based)."""
        out = np.full(positions.size, self.default, np.int8)
        intervals = self.intervals.get(contig)
        if intervals is not None:
            before = np.searchsorted(intervals[:, 0], positions, side="right") - 1
            inside = (before >= 0) & (positions < intervals[before, 1])
            out[inside] = intervals[before[inside], 2]
        return out


def read_ploidies(path: Path | None, names: Sequence[str], lengths: Sequence[int], default: int) -> Ploidies:
    """From a BED file whose fourth column is the ploidy; None: the same everywhere.

    Raises InputError for a line without a ploidy and for one that contradicts another.
    """
    rows: dict[int, list[tuple[int, int, int, int]]] = {}
    for number, target, rest in bed_lines(path, names, lengths) if path else ():
        text = rest[0].strip() if rest else ""
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_PLOIDY):
            raise InputError(path, f"its fourth column is no ploidy from 1 to {MAX_PLOIDY}", number)
        if target.start < target.stop:
            rows.setdefault(target.contig, []).append((target.start, target.stop, int(text), number))
    return Ploidies(default, {contig: _disjoint(found, path) for contig, found in rows.items()})


def _disjoint(rows: list[tuple[int, int, int, int]], path: Path | None) -> np.ndarray:
    """Sorted by start; overlapping ones of one ploidy are joined."""
    out: list[list[int]] = []
    for start, stop, ploidy, number in sorted(rows):
        if out and start < out[-1][1]:
            if out[-1][2] != ploidy:
                raise InputError(path, f"overlaps an interval with a ploidy of {out[-1][2]}", number)
            out[-1][1] = max(out[-1][1], stop)
        else:
            out.append([start, stop, ploidy])
    return np.array(out, np.int64)
