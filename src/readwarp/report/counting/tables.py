"""Hold counts of records: sums, to which threads add in any order, and rows for results that depend on the order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from numpy import ndarray

from readwarp.rules.flags import FLAGS

T = TypeVar("T", bound=tuple[Any, ...])
LONG = 1000  # bases: longer than reads of any short-read machine; longer reads are not counted by cycle
CONTENTS = 200  # classes of GC content
# Largest lengths and depth that are distinguished, as in samtools stats.
LONGEST_GAP, LARGEST_INSERT = 300, 8000
DEEPEST = 1000
QUALITIES, CODES = 256, 16  # base qualities; BAM codes
INWARD, OUTWARD, OTHER = range(3)  # orientations of pairs
NEITHER, FIRST, LAST, BOTH = range(4)  # segments of a read: first and last read of a template; single reads are first
PRIMARY = 4  # added to the segment of primary records
SUM_OF_QUALITIES, MISMATCHES, ALIGNED = range(3)  # indices of `sums`: base qualities, NM, bases of M I = X


class Tables(NamedTuple):
    """Sums over records. Cycles count in the order of sequencing. `kept`: not secondary, and with bases.

    Tables by cycle have the cycles as their last axis, so the cells that a read adds to are close together.
    Quality classes: MAPQ of 0, below flags.SURE, others.
    """

    records: Annotated[ndarray, f"int64 [2, 2, 3, {FLAGS}]"]  # kept or not, mate elsewhere, quality class, flag
    bases: Annotated[ndarray, f"int64 [{FLAGS}]"]  # bases of kept records, by flag
    placed: Annotated[ndarray, "int64 [contigs + 1, 2]"]  # mapped and unmapped records of each contig; without one
    checksums: Annotated[ndarray, "uint64 [3]"]  # CRC-32 of names, bases, qualities
    sums: Annotated[ndarray, "int64 [3]"]
    mapping_qualities: Annotated[ndarray, f"int64 [{QUALITIES}]"]
    contents: Annotated[ndarray, f"int64 [2, {CONTENTS}]"]  # GC of first and last reads
    lengths: Annotated[ndarray, f"int64 [2, 4, {LONG}]"]  # supplementary or primary, segment, length with hard clips
    letters: Annotated[ndarray, f"int64 [2, 2, {CODES}, {LONG}]"]  # first or last, strand, BAM code, cycle
    qualities: Annotated[ndarray, f"int64 [2, {QUALITIES}, {LONG}]"]  # first or last, quality, cycle
    mismatches: Annotated[ndarray, f"int64 [{LONG}, {QUALITIES + 1}]"]  # cycle; N in the read, then by quality
    gap_cycles: Annotated[ndarray, f"int64 [{LONG}, 4]"]  # insertions of first and last reads, deletions of both
    gap_lengths: Annotated[ndarray, f"int64 [{LONGEST_GAP + 2}, 2]"]  # insertions, deletions; last row: longer ones
    insert_sizes: Annotated[ndarray, f"int64 [{LARGEST_INSERT + 1}, 3]"]  # by orientation
    depths: Annotated[ndarray, f"int64 [{DEEPEST + 2}]"]  # reference bases covered 0, 1, ... 1000 times, and more often


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
