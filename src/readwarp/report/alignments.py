"""Derive the numbers of a BAM from the tables of its texts, which were counted just now or are read from the texts."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from readwarp.errors import InputError
from readwarp.report.long_reads import LongReads, read_long_reads
from readwarp.report.points import Points, mean, total
from readwarp.report.tools import Row, Sections, read_rows, read_stats, sections_of, text_of, without_comments

FLAGSTAT_LINES = {
    "total": "in total (QC-passed reads + QC-failed reads)",
    "primary": "primary",
    "supplementary": "supplementary",
    "duplicates": "primary duplicates",
    "mapped": "primary mapped",
    "paired": "paired in sequencing",
    "proper": "properly paired",
}


@dataclass(frozen=True, slots=True)
class AlignmentStatistics:
    """Statistics of one BAM; cycles count from 1 in the order of sequencing."""

    summary: dict[str, float]  # the SN lines
    flagstat: dict[str, int]  # primary reads, except total and supplementary
    contigs: list[tuple[str, int, int]]  # name, length, mapped reads
    insert_sizes: Points  # bases, pairs
    mapping_qualities: Points  # MAPQ, reads
    quality_first: Points  # cycle, mean quality
    quality_last: Points
    mismatches: Points  # cycle, share of the bases; empty if samtools had no reference
    gc_first: Points  # percent, reads
    gc_last: Points
    depth: Points  # depth, bases
    depth_title: str
    quality_bases: dict[int, int]  # quality -> bases, all reads
    contents: dict[str, Points]  # base -> (cycle, share of the bases), first and last reads together
    along: list[tuple[str, int, int, float]]  # contig, start, stop, mean depth
    targets: list[tuple[str, int, int, str, float, float]]  # with name, mean depth, share at depth 20 or more
    lengths: Points = ()  # length, primary records
    long: LongReads | None = None  # None: no read is long


Samples = Mapping[int, AlignmentStatistics]  # by the sample's number


class AlignmentTables(NamedTuple):
    """Content of the texts of one BAM."""

    stats: Sequence[Row]
    flagstat: Sequence[Row]  # reads that passed, reads that failed, what
    idxstats: Sequence[Row]
    depth: Sequence[Row]
    along: Sequence[Row]
    targets: Sequence[Row] = ()
    long: LongReads | None = None


def read_tables(texts: Mapping[str, Path], counted: Mapping[str, Any]) -> AlignmentTables:
    """Return what was counted, and read the other texts. Raises InputError."""
    readers: dict[str, Callable[[Path], Any]]
    readers = {"stats": read_stats, "flagstat": read_flagstat, "long": read_long_reads}
    read = {name: readers.get(name, read_rows)(path) for name, path in texts.items() if name not in counted}
    return AlignmentTables(**counted, **read)


def summarise_alignments(tables: AlignmentTables) -> AlignmentStatistics:
    sections, long = sections_of(tables.stats), tables.long
    reads = {what: int(passed) + int(failed) for passed, failed, what, *_ in tables.flagstat}
    return AlignmentStatistics(
        summary={row[0].rstrip(":"): float(row[1]) for row in sections["SN"]},
        flagstat={name: reads[what] for name, what in FLAGSTAT_LINES.items()},
        contigs=[(name, int(length), int(mapped)) for name, length, mapped, _ in tables.idxstats if name != "*"],
        insert_sizes=_points(sections["IS"]),
        mapping_qualities=_points(sections["MAPQ"]),
        quality_first=mean_qualities(sections["FFQ"]),
        quality_last=mean_qualities(sections["LFQ"]),
        mismatches=mismatch_rates(sections),
        gc_first=_points(sections["GCF"]),
        gc_last=_points(sections["GCL"]),
        depth=_points(without_comments(tables.depth)),
        depth_title=str(tables.depth[0][0]).removeprefix("# "),
        quality_bases={int(q): n for q, n in long.bases.items()}
        if long
        else quality_bases(sections["FFQ"] + sections["LFQ"]),
        contents=base_contents(sections),
        along=[
            (name, int(start), int(stop), float(mean)) for name, start, stop, mean in without_comments(tables.along)
        ],
        targets=[
            (name, int(start), int(stop), own, float(mean), float(share))
            for name, start, stop, own, mean, share in without_comments(tables.targets)
        ],
        lengths=_points(sections["RL"]),
        long=long,
    )


def _points(rows: Iterable[Row]) -> Points:
    return [(float(x), float(y)) for x, y, *_ in rows]


def read_flagstat(path: Path) -> list[Row]:
    """Read the default output of `samtools flagstat`. Raises InputError."""
    lines = [line.split(" ", 3) for line in text_of(path).splitlines()]
    rows = {re.sub(r" \([^()]* : [^()]*\)$", "", what): (passed, failed) for passed, _, failed, what in lines}
    missing = [what for what in FLAGSTAT_LINES.values() if what not in rows]
    if missing:
        raise InputError(path, f"is not the output of samtools flagstat: no line {missing[0]!r} (remove the file)")
    return [(*counts, what) for what, counts in rows.items()]


def quality_bases(rows: Iterable[Row]) -> dict[int, int]:
    """Count the bases of each quality over all cycles. A row is the cycle and the bases of quality 0, 1, ..."""
    found = Counter[int]()
    for _, *bases in rows:
        found.update({quality: number for quality, number in enumerate(map(int, bases)) if number})
    return dict(found)


def base_contents(sections: Sections) -> dict[str, Points]:
    """Return the share of A, C, G, T and N at each cycle, on the strand that was sequenced.

    GCT has the percentages of A, C, G and T on that strand; GCC has those of the file's strand, and N.
    """
    found: dict[str, Points] = {
        letter: [(float(row[0]), float(row[1 + n]) / 100) for row in sections["GCT"]] for n, letter in enumerate("ACGT")
    }
    unknown = [(float(row[0]), float(row[5]) / 100) for row in sections["GCC"]]
    return {**found, "N": unknown} if any(share for _, share in unknown) else found


def mean_qualities(rows: Iterable[Row]) -> Points:
    """Return the mean base quality of each cycle. A row is the cycle and the number of bases of quality 0, 1, ..."""
    cycles = [(float(cycle), list(enumerate(map(int, bases)))) for cycle, *bases in rows]
    return [(cycle, mean(qualities)) for cycle, qualities in cycles if total(qualities)]


def mismatch_rates(sections: Sections) -> Points:
    """Return mismatches per base of each cycle, first and last reads together; N in the read is not a mismatch.

    Clipped bases and those of unmapped reads count as bases: samtools stats does not distinguish them.
    """
    bases = Counter[Any]()
    for cycle, *numbers in sections["FFQ"] + sections["LFQ"]:
        bases[cycle] += sum(map(int, numbers))
    rows = [(cycle, sum(map(int, numbers))) for cycle, _, *numbers in sections["MPC"]]
    return [(float(cycle), mismatches / bases[cycle]) for cycle, mismatches in rows if bases[cycle]]
