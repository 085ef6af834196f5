"""Hold counts of records: sums, to which threads add in any order, and rows for results that depend on the order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy import ndarray

from readwarp.rules.flags import FLAGS

T = TypeVar("T", bound=tuple[Any, ...])
LONG = 1000  # bases: longer than reads of any short-read machine; longer reads are not counted by cycle
CONTENTS = 200  # classes of GC content
# Largest lengths and depth that are distinguished, as in samtools stats.
LONGEST_GAP, LARGEST_INSERT = 300, 8000
DEEPEST = 1000
QUALITIES, CODES = 256, 16  # base qualities; BAM codes
QUALITY_CLASSES = 3  # MAPQ of 0, below flags.SURE, others
INWARD, OUTWARD, OTHER = range(3)  # orientations of pairs
NEITHER, FIRST, LAST, BOTH = range(4)  # segments of a read: first and last read of a template; single reads are first
PRIMARY = 4  # added to the segment of primary records
SUM_OF_QUALITIES, MISMATCHES, ALIGNED = range(3)  # indices of `sums`: base qualities, NM, bases of M I = X


class Tables(NamedTuple):
    """Sums over records. Cycles count in the order of sequencing. `kept`: not secondary, and with bases.

    Tables by cycle have the cycles as their last axis, so the cells that a read adds to are close together.
    """

    records: Annotated[ndarray, "int64 [2, 2, 3, 4096]"]  # kept or not, mate elsewhere, quality class, flag
    bases: Annotated[ndarray, "int64 [4096]"]  # bases of kept records, by flag
    placed: Annotated[ndarray, "int64 [contigs + 1, 2]"]  # mapped and unmapped records of each contig; without one
    checksums: Annotated[ndarray, "uint64 [3]"]  # CRC-32 of names, bases, qualities
    sums: Annotated[ndarray, "int64 [3]"]
    mapping_qualities: Annotated[ndarray, "int64 [256]"]
    contents: Annotated[ndarray, "int64 [2, 200]"]  # GC of first and last reads
    lengths: Annotated[ndarray, "int64 [2, 4, 1000]"]  # supplementary or primary, segment, length with hard clips
    letters: Annotated[ndarray, "int64 [2, 2, 16, 1000]"]  # first or last, strand, BAM code, cycle
    qualities: Annotated[ndarray, "int64 [2, 256, 1000]"]  # first or last, quality, cycle
    mismatches: Annotated[ndarray, "int64 [1000, 257]"]  # cycle; N in the read, then by quality
    gap_cycles: Annotated[ndarray, "int64 [1000, 4]"]  # insertions of first and last reads, deletions of both
    gap_lengths: Annotated[ndarray, "int64 [302, 2]"]  # insertions, deletions; the last row has longer ones
    insert_sizes: Annotated[ndarray, "int64 [8001, 3]"]  # by orientation
    depths: Annotated[ndarray, "int64 [1002]"]  # reference bases covered 0, 1, ... 1000 times, and more often


def make_tables(contigs: int) -> Tables:
    """Return zeros; unused pages of memory are never touched."""
    return Tables(
        records=np.zeros((2, 2, QUALITY_CLASSES, FLAGS), np.int64),
        bases=np.zeros(FLAGS, np.int64),
        placed=np.zeros((contigs + 1, 2), np.int64),
        checksums=np.zeros(3, np.uint64),
        sums=np.zeros(3, np.int64),
        mapping_qualities=np.zeros(QUALITIES, np.int64),
        contents=np.zeros((2, CONTENTS), np.int64),
        lengths=np.zeros((2, 4, LONG), np.int64),
        letters=np.zeros((2, 2, CODES, LONG), np.int64),
        qualities=np.zeros((2, QUALITIES, LONG), np.int64),
        mismatches=np.zeros((LONG, QUALITIES + 1), np.int64),
        gap_cycles=np.zeros((LONG, 4), np.int64),
        gap_lengths=np.zeros((LONGEST_GAP + 2, 2), np.int64),
        insert_sizes=np.zeros((LARGEST_INSERT + 1, 3), np.int64),
        depths=np.zeros(DEEPEST + 2, np.int64),
    )


class CountedRecords(NamedTuple):
    """Kept records, in file order."""

    contig: Annotated[ndarray, "int32 [rows]"]
    position: Annotated[ndarray, "int64 [rows]"]  # in its contig; -1 if not aligned
    reach: Annotated[ndarray, "int64 [rows]"]  # position, bases and deleted bases
    length: Annotated[ndarray, "int64 [rows]"]  # bases, hard clips included
    segment: Annotated[ndarray, "uint8 [rows]"]  # with PRIMARY
    content: Annotated[ndarray, "float32 [rows]"]  # share of G and C


class ThreadTables(Generic[T]):
    """Tables (named tuples of arrays) of which each thread has its own while it counts."""

    def __init__(self, make: Callable[[], T]):
        """Create the pool. make: returns zeros."""
        self._make, self._idle = make, list[T]()

    @contextmanager
    def borrow(self) -> Iterator[T]:
        try:
            tables = self._idle.pop()
        except IndexError:
            tables = self._make()
        yield tables
        self._idle.append(tables)

    def total(self) -> T:
        """Return the sums of all, once no thread counts."""
        total = self._make()
        for tables in self._idle:
            for values, more in zip(total, tables, strict=True):
                values += more
        return total
