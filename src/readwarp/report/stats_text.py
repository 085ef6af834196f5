"""Arrange counts of a file as rows of `samtools stats` 1.24, whose text MultiQC, plot-bamstats and scripts read.

Numbers are computed like samtools', in float where samtools uses it, so the text is byte-identical except for its first
lines. Files with a read of LONG bases or more get no lines by cycle: there would be one for each base.
"""

from collections.abc import Iterator
from math import floor

import numpy as np
from numpy import ndarray

from readwarp.report.counting.gc_bins import BIN, Bins
from readwarp.report.counting.one_pass import FileCounts
from readwarp.report.counting.tables import CONTENTS, DEEPEST, FIRST, LAST, LONG, LONGEST_GAP, QUALITIES, Tables
from readwarp.report.stats_summary import InsertSizeCounts, Lengths, mean_length, summary
from readwarp.report.tools import Row
from readwarp.version import __version__

AS = "1.24"  # samtools version
BASES, N = [1, 2, 4, 8], 15  # codes of A, C, G and T
PERCENTILES = 10, 25, 50, 75, 90


def stats_rows(counts: FileCounts, arguments: str) -> Iterator[Row]:
    """Yield the fields of each line; a comment is one field. arguments: of the equivalent samtools command."""
    tables, lengths = counts.tables, Lengths.of(counts)
    inserts = InsertSizeCounts.of(tables)
    cycles = lengths.longest() + 1 if lengths.longest() < LONG else 0
    yield (f"# This file was produced by samtools stats as readwarp {__version__} counts it, for plot-bamstats too.",)
    yield ("# This file contains statistics for all reads.",)
    yield (f"# It is what samtools {AS} writes for:  {arguments}",)
    yield ("# CHK, Checksum\t[2]Read Names\t[3]Sequences\t[4]Qualities",)
    yield ("# CHK, CRC32 of reads which passed filtering followed by addition (32bit overflow)",)
    yield ("CHK", *(f"{total & 0xFFFFFFFF:08x}" for total in tables.checksums.tolist()))
    yield ("# Summary Numbers. Use `grep ^SN | cut -f 2-` to extract this part.",)
    for name, value, remark in summary(tables, lengths, inserts):
        yield ("SN", f"{name}:", value, *([f"# {remark}"] if remark else []))
    yield from qualities(tables, lengths if cycles else None)
    if counts.has_reference:
        yield from mismatches(tables, cycles)
    yield from contents(tables)
    yield from letters(tables, cycles)
    yield from insert_sizes(inserts)
    yield from read_lengths(lengths)
    yield from mapping_qualities(tables)
    yield from gaps(tables, cycles)
    yield from coverage(tables)
    yield from gc_depth(counts.bins, mean_length(tables), counts.has_reference)


def heading(text: str, name: str, columns: str = "") -> Row:
    return (
        f"# {text}. Use `grep ^{name} | cut -f 2-` to extract this part.{columns and ' The columns are: '}{columns}",
    )


def qualities(tables: Tables, lengths: Lengths | None) -> Iterator[Row]:
    for last, (segment, name, text) in enumerate(((FIRST, "FFQ", "First"), (LAST, "LFQ", "Last"))):
        yield heading(f"{text} Fragment Qualities", name)
        yield ("# Columns correspond to qualities and rows to cycles. First column is the cycle number.",)
        rows = lengths.longest([segment]) if lengths else 0
        for cycle, row in enumerate(tables.qualities[last, : columns_of(tables), :rows].T.tolist(), 1):
            yield (name, cycle, *row)


def columns_of(tables: Tables) -> int:
    """Return the number of quality columns: one more than those up to the highest quality used, at most all."""
    used = np.flatnonzero(tables.qualities.any((0, 2)))
    return min(int(used.max(initial=0)) + 2, QUALITIES)


def mismatches(tables: Tables, cycles: int) -> Iterator[Row]:
    yield heading("Mismatches per cycle and quality", "MPC")
    yield ("# Columns correspond to qualities, rows to cycles. First column is the cycle number, second",)
    yield ("# is the number of N's and the rest is the number of mismatches",)
    for cycle, row in enumerate(tables.mismatches[:cycles, : columns_of(tables)].tolist(), 1):
        yield ("MPC", cycle, *row)


def contents(tables: Tables) -> Iterator[Row]:
    """Yield a line for each run of classes with the same number of reads, except the last run."""
    for last, (name, text) in enumerate((("GCF", "first"), ("GCL", "last"))):
        yield heading(f"GC Content of {text} fragments", name)
        numbers, before = tables.contents[last].tolist(), 0
        for share in range(CONTENTS):
            if numbers[share] != numbers[before]:
                yield (name, f"{(share + before) * 0.5 * 100 / (CONTENTS - 1):.2f}", numbers[before])
                before = share


def letters(tables: Tables, cycles: int) -> Iterator[Row]:
    """Yield bases by cycle: as in the file, as sequenced, and as in the file for first and last reads."""
    found = tables.letters[..., :cycles].swapaxes(2, 3)
    shares = "cycle; A,C,G,T base counts as a percentage of all A/C/G/T bases [%]"
    more = f"{shares}; and N and O counts as a percentage of all A/C/G/T bases [%]"
    yield heading("ACGT content per cycle", "GCC", more)
    yield from by_cycle("GCC", with_others(found.sum((0, 1))))
    yield heading("ACGT content per cycle, read oriented", "GCT", shares)
    forward, reverse = found.sum(0)
    yield from by_cycle("GCT", forward[:, BASES] + reverse[:, BASES[::-1]])
    for last, (name, text) in enumerate((("F", "first"), ("L", "last"))):
        yield heading(f"ACGT content per cycle for {text} fragments", f"{name}BC", more)
        rows = with_others(found[last].sum(0))
        yield from by_cycle(f"{name}BC", rows)
        yield heading(f"ACGT raw counters for {text} fragments", f"{name}TC", "A,C,G,T,N base counters")
        if cycles:
            yield (f"{name}TC", *rows[:, :5].sum(0).tolist())


def with_others(found: ndarray) -> ndarray:
    """Convert counts of codes (int64 [cycles, 16]) to counts of A, C, G, T, N and all others."""
    known = found[:, [*BASES, N]]
    return np.column_stack((known, found.sum(1) - known.sum(1)))


def by_cycle(name: str, rows: ndarray) -> Iterator[Row]:
    """Yield counts of A, C, G, T and others (int64 [cycles, columns]), each as a percentage of the first four."""
    for cycle, row in enumerate(rows.tolist(), 1):
        if known := sum(row[:4]):
            yield (name, cycle, *(f"{100 * number / known:.2f}" for number in row))


def insert_sizes(inserts: InsertSizeCounts) -> Iterator[Row]:
    columns = "insert size, pairs total, inward oriented pairs, outward oriented pairs, other pairs"
    yield heading("Insert sizes", "IS", columns)
    for size, row in enumerate(inserts.pairs[: inserts.stop].tolist()):
        yield ("IS", size, sum(row), *row)


def read_lengths(lengths: Lengths) -> Iterator[Row]:
    for name, text, rows in (
        ("RL", "Read lengths", lengths.reads()),
        ("FRL", "Read lengths - first fragments", lengths.reads([FIRST])),
        ("LRL", "Read lengths - last fragments", lengths.reads([LAST])),
    ):
        yield heading(text, name, "read length, count")
        yield from ((name, *row) for row in rows)


def mapping_qualities(tables: Tables) -> Iterator[Row]:
    yield heading("Mapping qualities for reads !(UNMAP|SECOND|SUPPL|QCFAIL|DUP)", "MAPQ", "mapq, count")
    for quality, number in enumerate(tables.mapping_qualities.tolist()):
        if number:
            yield ("MAPQ", quality, number)


def gaps(tables: Tables, cycles: int) -> Iterator[Row]:
    yield heading("Indel distribution", "ID", "length, number of insertions, number of deletions")
    for length, row in enumerate(tables.gap_lengths[1 : LONGEST_GAP + 1].tolist(), 1):
        if any(row):
            yield ("ID", length, *row)
    columns = "cycle, number of insertions (fwd), .. (rev) , number of deletions (fwd), .. (rev)"
    yield heading("Indels per cycle", "IC", columns)
    for cycle, row in enumerate(tables.gap_cycles[:cycles].tolist(), 1):
        if any(row):
            yield ("IC", cycle, *row)


def coverage(tables: Tables) -> Iterator[Row]:
    yield heading("Coverage distribution", "COV")
    *rows, deeper = tables.depths.tolist()
    for depth, bases in enumerate(rows[1:], 1):
        if bases:
            yield ("COV", f"[{depth}-{depth}]", depth, bases)
    if deeper:
        yield ("COV", f"[{DEEPEST}<]", DEEPEST, deeper)


def gc_depth(bins: Bins, read_length: np.float32, has_reference: bool) -> Iterator[Row]:
    """Yield percentiles of the depth of the bins with each GC content.

    samtools begins with an empty bin, does not round the content of the last one, and drops the last when sorted.
    """
    columns = "GC%, unique sequence percentiles, 10th, 25th, 50th, 75th and 90th depth percentile"
    yield heading("GC-depth", "GCD", columns)
    content, reads = bins.content.copy(), bins.reads
    mean = content[:-1].astype(np.float64) if has_reference else content[:-1] / np.maximum(1, reads[:-1])
    content[:-1] = np.rint(100 * mean)
    order = np.lexsort((reads, content))[:-1]
    content, reads = content[order], reads[order]
    first = 0
    while first < order.size:
        alike = np.abs(content[first:] - content[first]) >= 0.1
        number = int(np.argmax(alike)) if alike.any() else order.size - first
        depths = reads[first : first + number].tolist()
        values = [percentile(depths, p) * read_length / np.float32(BIN) for p in PERCENTILES]
        share = (first + number + 1) * 100 / bins.reads.size
        yield ("GCD", f"{content[first]:.1f}", f"{share:.3f}", *(f"{value:.3f}" for value in values))
        first += number


def percentile(values: list[int], percent: int) -> np.float32:
    """Return a percentile of ascending values, in float, interpolated."""
    number = len(values)
    place = np.float32(percent) * np.float32(number + 1) / np.float32(100)
    whole = floor(place)
    if not 0 < whole < number:
        return np.float32(values[0 if whole <= 0 else -1])
    low, high = values[whole - 1], values[whole]
    return np.float32(low) + (place - np.float32(whole)) * np.float32(high - low)
