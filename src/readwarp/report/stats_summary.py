"""Compute the summary numbers of `samtools stats` from counts."""

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy import ndarray

from readwarp.report.counting.one_pass import FileCounts
from readwarp.report.counting.tables import (
    ALIGNED,
    BOTH,
    FIRST,
    INWARD,
    LAST,
    MISMATCHES,
    NEITHER,
    OTHER,
    OUTWARD,
    PRIMARY,
    SUM_OF_QUALITIES,
    Tables,
)
from readwarp.rules import flags
from readwarp.rules.flags import FIRST as FIRST_BIT
from readwarp.rules.flags import LAST as LAST_BIT

BULK = np.float32(0.99)  # share of the pairs that describe insert sizes

# Masks of all flags, bool [4096] each.
FLAG = np.arange(flags.FLAGS)
IS_PRIMARY = FLAG & flags.NOT_PRIMARY == 0
SEGMENT = np.where(FLAG & flags.PAIRED, FIRST * (FLAG & FIRST_BIT > 0) + LAST * (FLAG & LAST_BIT > 0), FIRST)
IS_FIRST, IS_LAST = IS_PRIMARY & (SEGMENT == FIRST), IS_PRIMARY & (SEGMENT == LAST)
IS_MAPPED = IS_PRIMARY & (FLAG & flags.UNMAPPED == 0)
ARE_BOTH_MAPPED = IS_MAPPED & (FLAG & (flags.PAIRED | flags.MATE_UNMAPPED) == flags.PAIRED)
IS_PROPER = ARE_BOTH_MAPPED & (FLAG & flags.PROPER > 0)
SEGMENTS = (NEITHER, FIRST, LAST, BOTH)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Counts of records by length, hard clips included."""

    counts: Counter[tuple[int, int, int]]  # records that are not secondary, by primary or not, segment, length

    @classmethod
    def of(cls, counts: FileCounts) -> "Lengths":
        table, long = counts.tables.lengths, counts.long_reads
        found = Counter(
            {(kind, segment, n): int(table[kind, segment, n]) for kind, segment, n in np.argwhere(table).tolist()}
        )
        found.update({(*divmod(segment, PRIMARY), length): n for (segment, length), n in long.items()})
        return cls(found)

    def longest(self, segments: Container[int] = SEGMENTS) -> int:
        return max((length for _, segment, length in self.counts if segment in segments), default=0)

    def reads(self, segments: Container[int] = SEGMENTS) -> list[tuple[int, int]]:
        """Return ascending lengths, and the primary records of each."""
        found = Counter[int]()
        for (is_primary, segment, length), number in self.counts.items():
            if is_primary and segment in segments:
                found[length] += number
        return sorted(found.items())


@dataclass(frozen=True, slots=True)
class InsertSizeCounts:
    """Insert sizes of pairs, each of which was counted twice."""

    pairs: ndarray  # int64 [sizes, 3], by orientation
    stop: int  # end of the bulk of the sizes
    mean: float  # mean of the bulk
    deviation: float

    @classmethod
    def of(cls, tables: Tables) -> "InsertSizeCounts":
        pairs = tables.insert_sizes // 2
        sizes = pairs.sum(1)
        so_far, used = np.cumsum(sizes), np.flatnonzero(sizes)
        total = int(so_far[-1])
        beyond = np.flatnonzero(so_far / max(1, total) > BULK)
        stop = int(beyond[0] if beyond.size else used[-1] if used.size else -1) + 1
        total = int(so_far[stop - 1]) if beyond.size else total
        mean = float(np.arange(stop) @ sizes[:stop]) / (total or 1)
        squares = (int(sizes[size]) * (size - mean) * (size - mean) / (total or 1) for size in range(1, stop))
        return cls(pairs, stop, mean, sqrt(sum(squares)))


def mean_length(tables: Tables) -> np.float32:
    return ratio(int(tables.bases[IS_PRIMARY].sum()), int(tables.records[1].sum((0, 1))[IS_PRIMARY].sum()))


def ratio(part: int, whole: int) -> np.float32:
    """Return part / whole as a C float; 0 if whole is 0."""
    return np.float32(part) / np.float32(whole) if whole else np.float32(0)


def summary(tables: Tables, lengths: Lengths, inserts: InsertSizeCounts) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and remark of each line."""
    every, kept = tables.records.sum((0, 1, 2)), tables.records[1].sum((0, 1))
    bases, sums = tables.bases, tables.sums.tolist()

    def reads(mask: ndarray) -> int:
        return int(kept[mask].sum())

    all_reads, length = reads(IS_PRIMARY), int(bases[IS_PRIMARY].sum())
    yield "raw total sequences", f"{all_reads}", "excluding supplementary and secondary reads"
    yield "filtered sequences", "0", ""
    yield "sequences", f"{all_reads}", ""
    yield "is sorted", "1", "sorted by coordinate"
    yield "1st fragments", f"{reads(IS_FIRST)}", ""
    yield "last fragments", f"{reads(IS_LAST)}", ""
    yield "reads mapped", f"{reads(IS_MAPPED)}", ""
    yield "reads mapped and paired", f"{reads(ARE_BOTH_MAPPED)}", "paired-end technology bit set + both mates mapped"
    yield "reads unmapped", f"{reads(IS_PRIMARY & ~IS_MAPPED)}", ""
    yield "reads properly paired", f"{reads(IS_PROPER)}", "proper-pair bit set"
    yield "reads paired", f"{reads(IS_PRIMARY & (FLAG & flags.PAIRED > 0))}", "paired-end technology bit set"
    yield "reads duplicated", f"{reads(FLAG & flags.DUPLICATE > 0)}", "PCR or optical duplicate bit set"
    yield "reads MQ0", f"{int(tables.records[1, :, 0].sum(0)[IS_MAPPED].sum())}", "mapped and MQ=0"
    yield "reads QC failed", f"{reads(IS_PRIMARY & (FLAG & flags.FAILED > 0))}", ""
    yield "non-primary alignments", f"{int(every[FLAG & flags.SECONDARY > 0].sum())}", ""
    yield "supplementary alignments", f"{int(every[FLAG & flags.NOT_PRIMARY == flags.SUPPLEMENTARY].sum())}", ""
    yield "total length", f"{length}", "ignores clipping"
    yield "total first fragment length", f"{int(bases[IS_FIRST].sum())}", "ignores clipping"
    yield "total last fragment length", f"{int(bases[IS_LAST].sum())}", "ignores clipping"
    yield "bases mapped", f"{int(bases[IS_MAPPED].sum())}", "ignores clipping"
    yield "bases mapped (cigar)", f"{sums[ALIGNED]}", "more accurate"
    yield "bases trimmed", "0", ""
    yield "bases duplicated", f"{int(bases[FLAG & flags.DUPLICATE > 0].sum())}", ""
    yield "mismatches", f"{sums[MISMATCHES]}", "from NM fields"
    yield "error rate", f"{ratio(sums[MISMATCHES], sums[ALIGNED]):e}", "mismatches / bases mapped (cigar)"
    yield "average length", f"{mean_length(tables):.0f}", ""
    for name, mask in (("first", IS_FIRST), ("last", IS_LAST)):
        yield f"average {name} fragment length", f"{ratio(int(bases[mask].sum()), reads(mask)):.0f}", ""
    yield "maximum length", f"{lengths.longest()}", ""
    yield "maximum first fragment length", f"{lengths.longest([FIRST])}", ""
    yield "maximum last fragment length", f"{lengths.longest([LAST])}", ""
    yield "average quality", f"{sums[SUM_OF_QUALITIES] / length if length else 0:.1f}", ""
    yield "insert size average", f"{inserts.mean:.1f}", ""
    yield "insert size standard deviation", f"{inserts.deviation:.1f}", ""
    for orientation, name in ((INWARD, "inward oriented pairs"), (OUTWARD, "outward oriented pairs")):
        yield name, f"{int(inserts.pairs[:, orientation].sum())}", ""
    yield "pairs with other orientation", f"{int(inserts.pairs[:, OTHER].sum())}", ""
    elsewhere = int(tables.records[1, 1].sum(0)[ARE_BOTH_MAPPED].sum())
    yield "pairs on different chromosomes", f"{elsewhere // 2}", ""
    share = ratio(100 * reads(IS_PROPER), all_reads)
    yield "percentage of properly paired reads (%)", f"{share:.1f}", ""
