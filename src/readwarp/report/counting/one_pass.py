"""Count all records of a file in one pass, in windows that threads process side by side."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.formats.alignments.layout import POSITION, values_at
from readwarp.formats.alignments.regions import AlignedReader, FileForm, RawRecords
from readwarp.formats.common.qualities import PHRED33
from readwarp.formats.common.regions import Contigs
from readwarp.ragged import concatenate, empty, take
from readwarp.report.counting.coverage import Coverage, Depth, Measured
from readwarp.report.counting.depth import DepthReads, DepthWindow, Spans, count_depths, depth_of, spans_of
from readwarp.report.counting.gc_bins import BinCounter, Bins, with_reference
from readwarp.report.counting.letters import ReferenceLetters
from readwarp.report.counting.records import Letters, count_rows
from readwarp.report.counting.tables import LONG, CountedRecords, Tables, ThreadTables
from readwarp.report.counting.windows import CountWindow, cut_windows
from readwarp.stream.runner import map_ordered

NO_LETTERS = Letters(np.zeros(0, np.uint8), 0)


class FileCounts(NamedTuple):
    """Counts of a file."""

    contigs: Contigs
    tables: Tables
    long_reads: Counter[tuple[int, int]]  # reads of LONG bases and more, by segment (of Rows) and length
    bins: Bins
    has_reference: bool
    depth: Depth


class CountStretch(NamedTuple):
    """Work of a thread: a window and the records that reach into it, or some records without a contig."""

    window: CountWindow | None
    records: Iterable[RawRecords]


class OrderedPart(NamedTuple):
    """Results that depend on the order of stretches, or are added to Python's sums."""

    rows: CountedRecords
    depth: Measured | None


def count_alignments(
    path: Path, reference: Path | None, targets: Sequence[str], threads: int, check: Callable[[], None] = lambda: None
) -> FileCounts:
    """Count a sorted and indexed BAM or CRAM file. Raises InputError.

    reference: indexed FASTA. targets, in the form `-L` takes: where depth counts. check: called now and then, raises an
    error to stop the count.
    """
    reader = AlignedReader(path, reference, form=FileForm(PHRED33))
    letters = None
    try:
        contigs = Contigs(reader.names, reader.lengths)
        letters = ReferenceLetters(reference, contigs) if reference else None
        counter, coverage = WindowCounter(contigs, letters), Coverage(contigs, targets)
        bins = BinCounter(np.array(contigs.lengths if reference else [], np.int64))
        long_reads = Counter[tuple[int, int]]()

        def count(stretch: CountStretch) -> OrderedPart:
            rows, depth = counter.count(stretch)
            return OrderedPart(rows, coverage.measure(stretch.window, depth) if stretch.window else None)

        with closing(map_ordered(stretches(reader), count, threads, 2 * threads)) as parts:
            for part in parts:
                check()
                bins.add(part.rows)
                long = take(part.rows, "rows", part.rows.length >= LONG)
                long_reads.update(zip(long.segment.tolist(), long.length.tolist(), strict=True))
                if part.depth:
                    coverage.add(part.depth)
        found = with_reference(bins.bins(), contigs, letters, threads) if letters else bins.bins()
    finally:
        reader.close()
        if letters:
            letters.close()
    return FileCounts(contigs, counter.tables.total(), long_reads, found, reference is not None, coverage.depth())


def stretches(reader: AlignedReader) -> Iterator[CountStretch]:
    """Yield all records of a file, each in one stretch, in file order."""
    axis = [0, *accumulate(reader.lengths)]
    for window in cut_windows(reader, axis):
        first = axis[window.contigs.start]
        yield CountStretch(window, reader.records(window.contigs, window.start - first, window.stop - first))
    for records in reader.unplaced():
        yield CountStretch(None, [records])


class WindowCounter:
    """Counter of stretches in any thread; each stretch has tables of its own meanwhile."""

    def __init__(self, contigs: Contigs, letters: ReferenceLetters | None):
        self._contigs, self._letters = contigs, letters
        self._first = np.array([0, *accumulate(contigs.lengths)], np.int64)
        zeros = partial(empty, Tables, {"contigs": len(contigs.names)}, np.zeros)  # unused pages are never touched
        self.tables = ThreadTables(zeros)

    def count(self, stretch: CountStretch) -> tuple[CountedRecords, ndarray]:
        """Return rows of the records, and the depth (int32 [bases]) of the window."""
        _, start, stop = stretch.window or (None, 0, 0)
        place, steps = DepthWindow(start, stop, self._first), np.zeros(stop - start + 1, np.int32)
        rows = [empty(CountedRecords, {"rows": 0})]
        spans = [(empty(DepthReads, {"reads": 0}), empty(Spans, {"spans": 0}))]
        with self.tables.borrow() as tables:
            for records in stretch.records:
                rows.append(count_rows(records, place, self._letters_of(records, stretch.window), tables))
                spans.append(spans_of(records, place, steps))
            depth = np.cumsum(steps, dtype=np.int32)
            count_depths(depth, Spans(*np.array([[0], [stop - start]])), tables.depths)
        return concatenate(rows, "rows"), depth_of(start, stop, spans)

    def _letters_of(self, records: RawRecords, window: CountWindow | None) -> Letters:
        """Return the letters of all bases covered by aligned records that begin in the window."""
        aligned = np.flatnonzero(records.is_aligned)
        if self._letters is None or window is None or not aligned.size:
            return NO_LETTERS
        names, lengths = self._contigs.names, self._contigs.lengths
        contig = window.contigs.start
        if len(window.contigs) > 1:
            whole = [self._letters.read(names[contig], 0, lengths[contig]) for contig in window.contigs]
            return Letters(np.concatenate(whole), window.start)
        begin = int(self._first[contig])
        position = int(values_at(records.data, records.places[aligned[:1]] + POSITION, "<i4")[0])
        start = max(position, window.start - begin)
        codes = self._letters.read(names[contig], start, int(records.stops[aligned].max()))
        return Letters(codes, begin + start)
