"""What only long reads are asked: identity, mean quality, GC and parts of each read, of one pass over the records.

A file has long reads if one of its reads has at least LONG bases. No figure by cycle is made of such a file.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

import numpy as np

from readwarp.errors import InputError
from readwarp.formats.common.source import reading
from readwarp.report.points import Points
from readwarp.report.tools import text_of

LONG = 1000  # bases: longer than reads of any short-read machine
TITLE = "# Long reads: primary records; identity is gap-compressed, in per cent; quality is that of the mean error"
BY_CYCLE = (b"FFQ", b"LFQ", b"MPC", b"GCC", b"GCT", b"FBC", b"FTC", b"LBC", b"LTC", b"IC")  # sections of samtools stats
LONGEST = re.compile(rb"^SN\tmaximum length:\t(\d+)", re.MULTILINE)
RUN = re.compile(rb"(\d+)([MIDNSHP=X])")
UNMAPPED, NOT_PRIMARY = 0x4, 0x900
ERRORS = 10.0 ** (-np.arange(94) / 10)  # of a base, by its quality


@dataclass(slots=True)
class LongReads:
    """Counts of primary records."""

    identity: Counter[float] = field(default_factory=Counter)  # per cent, of mapped reads
    quality: Counter[float] = field(default_factory=Counter)  # Phred, of reads that have qualities
    bases: Counter[float] = field(default_factory=Counter)  # by their quality
    gc: Counter[float] = field(default_factory=Counter)  # per cent of the bases, of reads
    parts: Counter[float] = field(default_factory=Counter)  # alignments of a mapped read: 1, and those of SA

    def points(self, name: str) -> Points:
        return sorted(getattr(self, name).items())


def longest_in(stats: Path) -> int:
    """The longest read, by the output of `samtools stats`; 0 where it does not say."""
    with reading(stats), stats.open("rb") as file:
        found = LONGEST.search(file.read(1 << 14))
    return int(found[1]) if found else 0


def without_cycles(lines: Iterable[bytes]) -> Iterable[bytes]:
    """The lines of `samtools stats`, those by cycle only where no read is long, as there are as many as bases."""
    is_long = False
    for line in lines:
        if found := LONGEST.match(line):
            is_long = int(found[1]) >= LONG
        if not is_long or line.partition(b"\t")[0] not in BY_CYCLE:
            yield line


def count_long_reads(lines: Iterable[bytes]) -> LongReads:
    """lines: records as SAM. Raises ValueError for tags that are no numbers."""
    out = LongReads()
    for line in lines:
        _, flag, _, _, _, cigar, _, _, _, bases, quality, *tags = line.rstrip(b"\n").split(b"\t")
        if int(flag) & NOT_PRIMARY:
            continue
        if quality != b"*":
            counts = np.bincount(np.minimum(np.frombuffer(quality, np.uint8) - 33, 93), minlength=94)
            out.bases.update({float(q): int(n) for q, n in enumerate(counts.tolist()) if n})
            out.quality[round(mean_quality(counts), 1)] += 1
        if bases != b"*":
            out.gc[round(100 * (bases.count(b"G") + bases.count(b"C")) / len(bases))] += 1
        if int(flag) & UNMAPPED:
            continue
        named = {tag[:2]: tag[5:] for tag in tags}
        out.parts[1.0 + named.get(b"SA", b"").count(b";")] += 1
        if (share := identity_of(cigar, named)) is not None and isfinite(share):
            out.identity[round(100 * share, 2)] += 1
    return out


def mean_quality(counts: np.ndarray) -> float:
    """Phred of the mean error of bases; counts: int [94], how many have each quality."""
    return float(-10 * np.log10(counts @ ERRORS / counts.sum()))


def identity_of(cigar: bytes, tags: dict[bytes, bytes]) -> float | None:
    """The share of columns that are equal, a gap as one column: 1 - de (minimap2). None where the tags do not tell."""
    for name in (b"de", b"dv"):
        if name in tags:
            return 1 - float(tags[name])
    if b"NM" not in tags or cigar == b"*":
        return None
    columns = gaps = in_gaps = 0
    for length, operation in RUN.findall(cigar):
        if operation in b"M=X":
            columns += int(length)
        elif operation in b"ID":
            gaps, in_gaps = gaps + 1, in_gaps + int(length)
    different = int(tags[b"NM"]) - in_gaps + gaps
    return 1 - different / (columns + gaps) if columns else None


def text_of_long_reads(found: LongReads) -> bytes:
    """Rows of what is counted, its value, and how often."""
    names = LongReads.__slots__
    rows = [f"{name}\t{value:g}\t{number}" for name in names for value, number in found.points(name)]
    return ("\n".join([TITLE, *rows]) + "\n").encode()


def read_long_reads(path: Path) -> LongReads:
    """Raises InputError."""
    out = LongReads()
    title, *rows = text_of(path).splitlines() or [""]
    if title != TITLE:
        raise InputError(path, "was not made by readwarp report (remove the file)")
    try:
        for row in rows:
            name, value, number = row.split("\t")
            getattr(out, name)[float(value)] = int(number)
    except (ValueError, AttributeError):
        raise InputError(path, f"holds a row that is none of these counts: {row!r} (remove the file)") from None
    return out
