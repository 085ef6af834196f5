"""Cut a file into windows that are counted side by side, on an axis on which the contigs follow each other."""

from collections.abc import Iterator
from typing import NamedTuple

from readwarp.formats.alignments.regions import AlignedReader

WINDOW = 1 << 18  # bases whose reads are in memory at the same time


class CountWindow(NamedTuple):
    """Whole contigs, or a part of one."""

    contigs: range
    start: int
    stop: int


def cut_windows(reader: AlignedReader, axis: list[int]) -> Iterator[CountWindow]:
    """Yield windows of WINDOW bases of each contig that has reads; small neighbours share one.

    axis: where each contig begins, and where the last one ends.
    """
    first = 0
    for contig in range(len(reader.names) + 1):
        is_end = contig == len(reader.names) or not reader.has_reads(contig)
        if first < contig and (is_end or axis[contig + 1] - axis[first] > WINDOW):
            if contig - first > 1:
                yield CountWindow(range(first, contig), axis[first], axis[contig])
            else:
                starts = range(axis[first], axis[contig], WINDOW)
                yield from (CountWindow(range(first, contig), s, min(s + WINDOW, axis[contig])) for s in starts)
            first = contig
        if is_end:
            first = contig + 1
