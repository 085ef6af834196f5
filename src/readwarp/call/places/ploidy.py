"""Read ploidies that differ within the reference and among samples, such as on sex chromosomes, from a BED file."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.strips import Strip
from readwarp.config import MAX_PLOIDY
from readwarp.errors import InputError
from readwarp.formats.common.regions import Contigs, read_target_lines
from readwarp.index.reference import Reference

EVERYONE = ""  # stands for a sample's name
UNKNOWN = -1  # copies where a sample has no row of its own
COLUMNS = "contig, start, end and ploidy, and for a single sample its name"
Row = tuple[int, int, int, int, int]  # contig, start, stop, copies, line of the file
Rows = dict[str, list[Row]]  # by sample, and for EVERYONE


class CopyNumbers(NamedTuple):
    """Copies along a contig: from each start to the next one, and from the last one on."""

    start: Annotated[ndarray, "int64 [steps]"]  # 0-based, ascending; the first is 0
    copies: Annotated[ndarray, "int8 [steps]"]

    def at(self, position: ndarray) -> ndarray:
        """Return the copies at each position (int8 [n])."""
        return np.asarray(self.copies[np.searchsorted(self.start, position, side="right") - 1])

    def max_within(self, start: ndarray, stop: ndarray) -> ndarray:
        """Return the most copies in each non-empty [start, stop) (int8 [n])."""
        first, last = np.searchsorted(self.start, start, side="right") - 1, np.searchsorted(self.start, stop)
        bounds = np.stack((first, last), axis=1).ravel()
        return np.asarray(np.maximum.reduceat(np.append(self.copies, 0), bounds)[::2].astype(np.int8))


def whole_course(copies: int) -> CopyNumbers:
    return CopyNumbers(np.zeros(1, np.int64), np.full(1, copies, np.int8))


class Ploidies(NamedTuple):
    """Copies of each position in each sample. Samples with the same ploidies share a table."""

    default: int  # on contigs that a table lacks
    tables: tuple[dict[int, CopyNumbers], ...]  # each by contig
    table: Annotated[ndarray, "int64 [samples]"]

    def along(self, strip: Strip) -> "Ploidies":
        """Move ploidies to the strip's axis, as contig 0."""
        whole, tables = whole_course(self.default), list[dict[int, CopyNumbers]]()
        for table in self.tables:
            own = [table.get(contig, whole) for contig in strip.contigs]
            start = [course.start + origin for course, origin in zip(own, strip.origins, strict=True)]
            joined = CopyNumbers(np.concatenate(start), np.concatenate([course.copies for course in own]))
            tables.append({} if table.keys().isdisjoint(strip.contigs) else {0: joined})
        return self._replace(tables=tuple(tables))

    def at(self, contig: int, position: ndarray) -> ndarray:
        """Return the copies at each position, 0-based in the contig (int8 [n, samples])."""
        return self._of_samples(contig, position.size, lambda course: course.at(position))

    def max_within(self, contig: int, start: ndarray, stop: ndarray) -> ndarray:
        """Return the most copies in each [start, stop), which may cross borders (int8 [n, samples])."""
        return self._of_samples(contig, start.size, lambda course: course.max_within(start, stop))

    def _of_samples(self, contig: int, number: int, find: Callable[[CopyNumbers], ndarray]) -> ndarray:
        out = np.full((number, len(self.tables)), self.default, np.int8)
        for column, table in enumerate(self.tables):
            if contig in table:
                out[:, column] = find(table[contig])
        return np.take(out, self.table, axis=1)


def read_ploidies(
    path: Path | None, reference: Reference, default: int, samples: Sequence[str], others: Collection[str] = ()
) -> Ploidies:
    """Read the ploidies of these samples from a BED file, plain or gzip; without one, the default everywhere.

    See `read_rows` for the columns. A row of a sample takes precedence over one of all samples. Rows of `others`, which
    the alignments have too, are not needed. Raises InputError for an unknown contig or sample, a broken line, and
    intervals of one sample, or of all, that overlap and differ in ploidy.
    """
    rows = {name: _join_overlapping(path, sorted(own)) for name, own in read_rows(path, reference).items()}
    known = {EVERYONE, *samples, *others}
    for name, own in rows.items():
        if name not in known:
            raise InputError(path, f"no sample {name!r} in the alignments", min(line for *_, line in own))
    common = _courses_of(rows.get(EVERYONE, []), default)
    numbers, tables = dict[tuple[tuple[int, ...], ...], int](), list[dict[int, CopyNumbers]]()
    table = np.empty(len(samples), np.int64)
    for sample, name in enumerate(samples):
        own = rows.get(name, [])
        table[sample] = number = numbers.setdefault(tuple(row[:-1] for row in own), len(numbers))
        if number == len(tables):
            whole = whole_course(default)
            over = {c: _above(course, common.get(c, whole)) for c, course in _courses_of(own, UNKNOWN).items()}
            tables.append(common | over)
    return Ploidies(default, tuple(tables), table)


def read_rows(path: Path | None, reference: Reference) -> Rows:
    """Read contig, start, end, ploidy from 0 to MAX_PLOIDY, and the sample, if given.

    Raises InputError for an unknown contig and a broken line. The last two columns may be swapped, as in freebayes.
    """
    rows = defaultdict[str, list[Row]](list)
    contigs = Contigs(reference.names, np.diff(reference.contig_offsets).tolist())
    for line, (contig, start, stop), rest in read_target_lines(path, contigs) if path else ():
        text, name = (*(column.strip() for column in rest[:2]), "", "")[:2]
        if name.isdecimal() and not text.isdecimal():
            text, name = name, text
        if not (text.isascii() and text.isdecimal()):
            raise InputError(path, f"expected columns {COLUMNS}", line)
        if not 0 <= int(text) <= MAX_PLOIDY:
            raise InputError(path, f"ploidy {text} is not 0 to {MAX_PLOIDY}", line)
        if start < stop:
            rows[EVERYONE if name == "." else name].append((contig, start, stop, int(text), line))
    return rows


def _join_overlapping(path: Path | None, rows: list[Row]) -> list[Row]:
    """Sort intervals, and join overlapping ones. Raises InputError if these differ in ploidy."""
    out: list[Row] = []
    for contig, start, stop, copies, line in rows:
        if out and out[-1][0] == contig and start < out[-1][2]:
            _, first, last, others, other_line = out[-1]
            if copies != others:
                raise InputError(path, f"ploidy {copies}, but {others} in record {other_line}, which overlaps it", line)
            out[-1] = (contig, first, max(last, stop), copies, other_line)
        else:
            out.append((contig, start, stop, copies, line))
    return out


def _courses_of(rows: list[Row], elsewhere: int) -> dict[int, CopyNumbers]:
    """Make a course of each contig with a row; rows are sorted and do not overlap."""
    steps = defaultdict[int, list[tuple[int, int]]](lambda: [(0, elsewhere)])
    for contig, start, stop, copies, _ in rows:
        own = steps[contig]
        if own[-1][0] == start:
            own.pop()
        own += [(start, copies), (stop, elsewhere)]
    columns = {contig: np.array(own, np.int64).T for contig, own in steps.items()}
    return {contig: CopyNumbers(start, copies.astype(np.int8)) for contig, (start, copies) in columns.items()}


def _above(own: CopyNumbers, common: CopyNumbers) -> CopyNumbers:
    """Return a sample's own copies, and the common ones where they are UNKNOWN."""
    start = np.union1d(own.start, common.start)
    copies = own.at(start)
    return CopyNumbers(start, np.where(copies == UNKNOWN, common.at(start), copies))
