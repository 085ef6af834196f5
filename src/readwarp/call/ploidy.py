"""How many copies of each position a sample has: a BED file whose fourth column says so (sex chromosomes ...)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from readwarp.errors import InputError

MOST_COPIES = 8  # as CallParameters.ploidy


@dataclass(frozen=True, slots=True)
class Ploidies:
    """Intervals that do not overlap, in order; r intervals."""

    default: int  # outside the intervals
    contig_offsets: ndarray  # int64 [contigs + 1]
    start: ndarray  # int64 [r], 0-based in the contig
    stop: ndarray  # int64 [r]
    copies: ndarray  # int8 [r]

    def of(self, contig: int, position: ndarray) -> ndarray:
        """int8 [n]: copies at each of the positions, 0-based in the contig."""
        low, high = self.contig_offsets[contig : contig + 2]
        out = np.full(position.size, self.default, np.int8)
        if low == high:
            return out
        row = low + np.searchsorted(self.start[low:high], position, side="right") - 1
        is_inside = (row >= low) & (position < self.stop[np.maximum(row, low)])
        out[is_inside] = self.copies[row[is_inside]]
        return out


def uniform(copies: int, contigs: int) -> Ploidies:
    """The same ploidy everywhere."""
    empty = np.empty(0, np.int64)
    return Ploidies(copies, np.zeros(contigs + 1, np.int64), empty, empty, empty.astype(np.int8))


def read_ploidies(path: Path, names: Sequence[str], lengths: Sequence[int], default: int) -> Ploidies:
    """BED of contig, start, end and ploidy, 1 to MOST_COPIES; other columns are not read.

    Raises InputError for a contig that does not exist, for a broken line, and where intervals of different ploidy
    overlap.
    """
    numbers = {name: i for i, name in enumerate(names)}
    rows = []
    for line, fields in _lines(path):
        if len(fields) < 4 or not all(field.isdecimal() for field in fields[1:4]):
            raise InputError(path, "not contig, start, end and ploidy", line)
        if fields[0] not in numbers:
            raise InputError(path, f"no contig {fields[0]!r} in the reference", line)
        contig = numbers[fields[0]]
        start, stop, copies = map(int, fields[1:4])
        if start > stop or start > lengths[contig]:
            raise InputError(path, f"ends before it starts, or lies outside {fields[0]!r}", line)
        if not 1 <= copies <= MOST_COPIES:
            raise InputError(path, f"ploidy {copies} is not 1 to {MOST_COPIES}", line)
        if start < min(stop, lengths[contig]):
            rows.append((contig, start, min(stop, lengths[contig]), copies, line))
    rows = _apart(path, sorted(rows))
    contig_of, start_of, stop_of, copies_of, _ = np.array(rows, np.int64).reshape(-1, 5).T
    return Ploidies(
        default=default,
        contig_offsets=np.searchsorted(contig_of, np.arange(len(names) + 1)),
        start=start_of,
        stop=stop_of,
        copies=copies_of.astype(np.int8),
    )


def _apart(path: Path, rows: list[tuple[int, int, int, int, int]]) -> list[tuple[int, int, int, int, int]]:
    """Sorted intervals, those joined that overlap. Raises InputError where they differ in ploidy."""
    out: list[tuple[int, int, int, int, int]] = []
    for contig, start, stop, copies, line in rows:
        if out and out[-1][0] == contig and start < out[-1][2]:
            _, first, last, others, other_line = out[-1]
            if copies != others:
                raise InputError(path, f"ploidy {copies}, and {others} in record {other_line} that overlaps it", line)
            out[-1] = (contig, first, max(last, stop), copies, other_line)
        else:
            out.append((contig, start, stop, copies, line))
    return out


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each line with an interval."""
    try:
        text = path.read_text()
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(path, "is not text") from error
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if fields and not fields[0].startswith(("#", "track", "browser")):
            yield number, fields
