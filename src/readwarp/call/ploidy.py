"""Ploidies that differ within the reference, such as on sex chromosomes: the fourth column of a BED file."""

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.strips import Strip
from readwarp.call.targets import Contigs, read_target_lines
from readwarp.config import MAX_PLOIDY
from readwarp.errors import InputError
from readwarp.index.reference import Reference

Row = tuple[int, int, int, int, int]  # contig, start, stop, copies, line of the file


class Ploidies(NamedTuple):
    """Copies of each position; the intervals are in order and do not overlap."""

    default: int  # outside the intervals
    contig_offsets: Annotated[ndarray, "int64 [contigs + 1] of intervals"]
    start: Annotated[ndarray, "int64 [intervals]"]  # 0-based in the contig
    stop: Annotated[ndarray, "int64 [intervals]"]
    copies: Annotated[ndarray, "int8 [intervals]"]

    def along(self, strip: Strip) -> "Ploidies":
        """Of the strip's axis as contig 0."""
        rows, origins = strip.find_rows(self.contig_offsets)
        start, stop = self.start[rows] + origins, self.stop[rows] + origins
        return Ploidies(self.default, np.array([0, rows.size]), start, stop, self.copies[rows])

    def at(self, contig: int, position: ndarray) -> ndarray:
        """int8 [n]: copies at each position, 0-based in the contig."""
        low, high = self.contig_offsets[contig : contig + 2]
        out = np.full(position.size, self.default, np.int8)
        if low == high:
            return out
        row = low + np.searchsorted(self.start[low:high], position, side="right") - 1
        is_inside = (row >= low) & (position < self.stop[np.maximum(row, low)])
        out[is_inside] = self.copies[row[is_inside]]
        return out

    def max_within(self, contig: int, start: ndarray, stop: ndarray) -> ndarray:
        """int8 [n]: an upper bound of the copies in each [start, stop), which may cross borders."""
        out: ndarray = np.maximum(self.at(contig, start), self.at(contig, stop - 1))
        for row in range(self.contig_offsets[contig], self.contig_offsets[contig + 1]):
            is_touched = (start < self.stop[row]) & (stop > self.start[row])
            is_inside = (start >= self.start[row]) & (stop <= self.stop[row])
            highest = np.where(is_inside, self.copies[row], max(self.default, int(self.copies[row])))
            out = np.where(is_touched, np.maximum(out, highest), out)
        return out.astype(np.int8)


def read_ploidies(path: Path | None, reference: Reference, default: int) -> Ploidies:
    """BED, plain or gzip, of contig, start, end and ploidy, 0 to MAX_PLOIDY; None: the default everywhere.

    Raises InputError for an unknown contig, a broken line, and intervals that overlap and differ in ploidy.
    """
    rows: list[Row] = []
    contigs = Contigs(reference.names, np.diff(reference.contig_offsets).tolist())
    for line, (contig, start, stop), rest in read_target_lines(path, contigs) if path else ():
        text = rest[0].strip() if rest else ""
        if not (text.isascii() and text.isdecimal()):
            raise InputError(path, "not contig, start, end and ploidy", line)
        if not 0 <= int(text) <= MAX_PLOIDY:
            raise InputError(path, f"ploidy {text} is not 0 to {MAX_PLOIDY}", line)
        if start < stop:
            rows.append((contig, start, stop, int(text), line))
    rows = _join_overlapping(path, sorted(rows))
    contig_of, start_of, stop_of, copies_of, _ = np.array(rows, np.int64).reshape(-1, 5).T
    offsets = np.searchsorted(contig_of, np.arange(len(reference.names) + 1))
    return Ploidies(default, offsets, start_of, stop_of, copies_of.astype(np.int8))


def _join_overlapping(path: Path | None, rows: list[Row]) -> list[Row]:
    """Sorted intervals, overlapping ones joined. Raises InputError if these differ in ploidy."""
    out: list[Row] = []
    for contig, start, stop, copies, line in rows:
        if out and out[-1][0] == contig and start < out[-1][2]:
            _, first, last, others, other_line = out[-1]
            if copies != others:
                raise InputError(path, f"ploidy {copies}, and {others} in record {other_line} that overlaps it", line)
            out[-1] = (contig, first, max(last, stop), copies, other_line)
        else:
            out.append((contig, start, stop, copies, line))
    return out
