"""Write and read the figures of long reads alone, as text: identity, mean quality, GC and parts of each read.

A file has long reads if one of its reads has at least LONG bases. Such a file gets no figure by cycle.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.errors import InputError
from readwarp.formats.common.source import reading
from readwarp.report.points import Points
from readwarp.report.tools import text_of

if TYPE_CHECKING:
    from readwarp.report.counting.long_reads import LongTables

TITLE = "# Long reads: primary records; identity is gap-compressed, in per cent; quality is that of the mean error"
LONGEST = re.compile(rb"^SN\tmaximum length:\t(\d+)", re.MULTILINE)
UNITS = {"identity": 100, "quality": 10}  # units per number in tables


@dataclass(slots=True)
class LongReads:
    """Counts of primary records."""

    identity: Counter[float] = field(default_factory=Counter)  # per cent, of mapped reads
    quality: Counter[float] = field(default_factory=Counter)  # Phred, of reads with qualities
    bases: Counter[float] = field(default_factory=Counter)  # by quality
    gc: Counter[float] = field(default_factory=Counter)  # per cent of the bases, of reads
    parts: Counter[float] = field(default_factory=Counter)  # alignments of a mapped read: 1, plus those in SA

    @classmethod
    def of(cls, tables: "LongTables") -> "LongReads":
        return cls(
            **{
                name: Counter({row / UNITS.get(name, 1): n for row, n in enumerate(column.tolist()) if n})
                for name, column in tables._asdict().items()
            }
        )

    def points(self, name: str) -> Points:
        return sorted(getattr(self, name).items())


def longest_in(stats: Path) -> int:
    """Return the longest read in the output of `samtools stats`; 0 if it is not given."""
    with reading(stats), stats.open("rb") as file:
        found = LONGEST.search(file.read(1 << 14))
    return int(found[1]) if found else 0


def text_of_long_reads(found: LongReads) -> bytes:
    """Format rows of name, value and count."""
    names = LongReads.__slots__
    rows = [f"{name}\t{value:g}\t{number}" for name in names for value, number in found.points(name)]
    return ("\n".join([TITLE, *rows]) + "\n").encode()


def read_long_reads(path: Path) -> LongReads:
    """Read the text. Raises InputError."""
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
