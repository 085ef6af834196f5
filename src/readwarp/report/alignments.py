"""Read the numbers of a BAM: output of samtools stats, flagstat and idxstats, and the distribution of depth."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from readwarp.errors import InputError
from readwarp.report.long_reads import LongReads, read_long_reads
from readwarp.report.points import Points, mean, total
from readwarp.report.tools import Sections, read_sections, text_of

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


def read_alignment_statistics(texts: Mapping[str, Path]) -> AlignmentStatistics:
    """Read the texts of one BAM. Raises InputError."""
    sections = read_sections(texts["stats"])
    title, depth = read_depth(texts["depth"])
    long = read_long_reads(texts["long"]) if "long" in texts else None
    return AlignmentStatistics(
        {row[0].rstrip(":"): float(row[1]) for row in sections["SN"]},
        read_flagstat(texts["flagstat"]),
        read_idxstats(texts["idxstats"]),
        _points(sections["IS"]),
        _points(sections["MAPQ"]),
        mean_qualities(sections["FFQ"]),
        mean_qualities(sections["LFQ"]),
        mismatch_rates(sections),
        _points(sections["GCF"]),
        _points(sections["GCL"]),
        depth,
        title,
        {int(q): n for q, n in long.bases.items()} if long else quality_bases(sections["FFQ"] + sections["LFQ"]),
        base_contents(sections),
        [(name, int(start), int(stop), float(mean)) for name, start, stop, mean in read_rows(texts["along"])],
        [
            (name, int(start), int(stop), own, float(mean), float(share))
            for name, start, stop, own, mean, share in read_rows(texts.get("targets"))
        ],
        _points(sections["RL"]),
        long,
    )


def _points(rows: list[list[str]]) -> Points:
    return [(float(x), float(y)) for x, y, *_ in rows]


def read_flagstat(path: Path) -> dict[str, int]:
    """Read the numbers of the default output of `samtools flagstat`, including reads that failed quality control."""
    found = {}
    for line in text_of(path).splitlines():
        passed, _, failed, what = line.split(" ", 3)
        found[re.sub(r" \([^()]* : [^()]*\)$", "", what)] = int(passed) + int(failed)
    missing = [text for text in FLAGSTAT_LINES.values() if text not in found]
    if missing:
        raise InputError(path, f"is not the output of samtools flagstat: no line {missing[0]!r} (remove the file)")
    return {name: found[text] for name, text in FLAGSTAT_LINES.items()}


def read_idxstats(path: Path) -> list[tuple[str, int, int]]:
    """Return name, length and mapped reads of each contig."""
    rows = (line.split("\t") for line in text_of(path).split("\n") if line)
    return [(name, int(length), int(mapped)) for name, length, mapped, _ in rows if name != "*"]


def read_depth(path: Path) -> tuple[str, Points]:
    """Return the title and (depth, bases), as `readwarp.report.statistics` wrote them."""
    title = text_of(path).partition("\n")[0].strip().removeprefix("# ")
    return title, _points(read_rows(path))


def read_rows(path: Path | None) -> list[list[str]]:
    """Return the fields of the lines without #."""
    lines = text_of(path).split("\n") if path else []
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def quality_bases(rows: list[list[str]]) -> dict[int, int]:
    """Count the bases of each quality over all cycles. A row is the cycle and the bases of quality 0, 1, ..."""
    found = Counter[int]()
    for _, *bases in rows:
        found.update({quality: int(number) for quality, number in enumerate(bases) if number != "0"})
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


def mean_qualities(rows: list[list[str]]) -> Points:
    """Return the mean base quality of each cycle. A row is the cycle and the number of bases of quality 0, 1, ..."""
    cycles = [(float(cycle), list(enumerate(map(int, bases)))) for cycle, *bases in rows]
    return [(cycle, mean(qualities)) for cycle, qualities in cycles if total(qualities)]


def mismatch_rates(sections: Sections) -> Points:
    """Return mismatches per base of each cycle, first and last reads together; N in the read is not a mismatch.

    Clipped bases and those of unmapped reads count as bases: samtools stats does not distinguish them.
    """
    bases: Counter[str] = Counter()
    for cycle, *numbers in sections["FFQ"] + sections["LFQ"]:
        bases[cycle] += sum(map(int, numbers))
    rows = [(cycle, sum(map(int, numbers))) for cycle, _, *numbers in sections["MPC"]]
    return [(float(cycle), mismatches / bases[cycle]) for cycle, mismatches in rows if bases[cycle]]
