"""Numbers of a BAM: the sections of `samtools stats`, flagstat, idxstats and the distribution of depth."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from readwarp.errors import InputError
from readwarp.report.sections import Sections

Points = list[tuple[float, float]]
LINES_OF_FLAGSTAT = {
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
    """Points are (x, y), x ascending. Cycles count from 1 in the order of sequencing."""

    summary: dict[str, float]  # the SN lines
    flagstat: dict[str, int]  # primary reads, except total and supplementary
    contigs: list[tuple[str, int, int]]  # name, length, mapped reads
    insert_sizes: Points  # bases, pairs
    mapping_qualities: Points  # MAPQ, reads
    quality_first: Points  # cycle, mean quality
    quality_last: Points
    mismatches: Points  # cycle, share of the bases; empty where the reference was not given
    gc_first: Points  # percent, reads
    gc_last: Points
    depth: Points  # depth, bases
    depth_title: str

    @property
    def mean_depth(self) -> float:
        return mean(self.depth)


def alignment_statistics(stats: Path, flagstat: Path, idxstats: Path, depth: Path) -> AlignmentStatistics:
    """Read what samtools wrote. Raises InputError."""
    sections = Sections(stats)
    contigs = [line.split("\t") for line in idxstats.read_text().splitlines()]
    title, points = read_depth(depth)
    return AlignmentStatistics(
        {row[0].rstrip(":"): float(row[1]) for row in sections["SN"]},
        read_flagstat(flagstat),
        [(name, int(length), int(mapped)) for name, length, mapped, _ in contigs if name != "*"],
        _pairs(sections, "IS"),
        _pairs(sections, "MAPQ"),
        mean_qualities(sections["FFQ"]),
        mean_qualities(sections["LFQ"]),
        mismatch_rates(sections),
        _pairs(sections, "GCF"),
        _pairs(sections, "GCL"),
        points,
        title,
    )


def _pairs(sections: Sections, name: str) -> Points:
    return [(x, y) for x, y in sections.numbers(name, 0, 1)]


def read_flagstat(path: Path) -> dict[str, int]:
    """The numbers of the default output of `samtools flagstat`, reads that failed quality control included."""
    found = {}
    for line in path.read_text().splitlines():
        passed, _, failed, what = line.split(" ", 3)
        found[re.sub(r" \([^()]* : [^()]*\)$", "", what)] = int(passed) + int(failed)
    missing = [text for text in LINES_OF_FLAGSTAT.values() if text not in found]
    if missing:
        raise InputError(path, f"has no line of samtools flagstat on {missing[0]!r}")
    return {name: found[text] for name, text in LINES_OF_FLAGSTAT.items()}


def read_depth(path: Path) -> tuple[str, Points]:
    """The title and (depth, bases), as `readwarp.report.statistics` wrote them."""
    lines = path.read_text().splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return lines[0].removeprefix("# "), [(float(depth), float(bases)) for depth, bases in rows]


def mean_qualities(rows: list[list[str]]) -> Points:
    """Mean base quality of each cycle; rows are cycle and number of bases of quality 0, 1, ..."""
    out = []
    for cycle, *numbers in rows:
        bases = [int(n) for n in numbers]
        if whole := sum(bases):
            out.append((float(cycle), sum(q * n for q, n in enumerate(bases)) / whole))
    return out


def mismatch_rates(sections: Sections) -> Points:
    """Mismatches per base of each cycle, first and last reads together; N in the read is not a mismatch.

    Clipped bases and those of unmapped reads count as bases: samtools stats does not tell them apart.
    """
    bases = [0] * (1 + max(len(sections["FFQ"]), len(sections["LFQ"])))
    for first, last in zip_longest(sections["FFQ"], sections["LFQ"]):
        for row in (first, last):
            if row:
                bases[int(row[0])] += sum(map(int, row[1:]))
    rates = []
    for cycle, _, *mismatches in sections["MPC"]:
        if int(cycle) < len(bases) and bases[int(cycle)]:
            rates.append((float(cycle), sum(map(int, mismatches)) / bases[int(cycle)]))
    return rates


def mean(points: Points) -> float:
    """Of x, weighted by y; 0 without points."""
    weight = sum(y for _, y in points)
    return sum(x * y for x, y in points) / weight if weight else 0.0


def median(points: Points) -> float | None:
    """Of x, weighted by y."""
    half, below = sum(y for _, y in points) / 2, 0.0
    for x, y in points:
        below += y
        if below >= half > 0:
            return x
    return None


def share_from(points: Points, low: float) -> float:
    """The share of y where x is at least `low`."""
    whole = sum(y for _, y in points)
    return sum(y for x, y in points if x >= low) / whole if whole else 0.0
