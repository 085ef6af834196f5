#!/usr/bin/env python3
"""Score a SAM file of reads of simulate_alternates.py: alternate_accuracy.py ALIGNED.sam COVERED.bed ALONE.sam

One line of JSON with an entry for each kind of reads: `elsewhere` and `covered` are those from the reference outside of
and in stretches that have ALT contigs, `alternate` those from ALT contigs, `nowhere` those of them that have no place on
the primary assembly. Of each, by their primary records: reads, placed_q20 % (on the primary assembly with MAPQ 20 and
more), wrong_q20 % of these (further than 20 bases from their place, or on the other strand; of `nowhere` all), on_alternate
% (on an ALT contig), followed % (with a supplementary record on an ALT contig).

ALONE.sam has the same reads in the same order, aligned to the reference without ALT contigs. Of the pairs elsewhere that are
MARGIN bases and more from such stretches, same_bytes % have the same records there, same_fields % the same ones but for tags.
"""

import argparse
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pysam

TOLERANCE, SURE, MARGIN = 20, 20, 1000
FIELDS = 11  # of a record, before its tags


class Covered:
    """Stretches of the reference that have ALT contigs."""

    def __init__(self, bed: Path) -> None:
        self.spans = [tuple(map(int, line.split()[1:3])) for line in bed.read_text().splitlines()]
        self.starts = [start for start, _ in self.spans]

    def is_near(self, position: int, margin: int = 0) -> bool:
        at = bisect_right(self.starts, position + margin) - 1
        return at >= 0 and position - margin < self.spans[at][1]


def truth_of(name: str) -> tuple[str, str, list[int], str]:
    """Side, contig, positions of both mates, and their strands."""
    _, side, contig, first, strand, last, other = name.split(":")
    return side, contig, [int(first), int(last)], strand + other


def shares_of(alignments: Path, covered: Covered) -> dict[str, dict[str, float]]:
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("elsewhere", "covered", "alternate", "nowhere")}
    pysam.set_verbosity(0)
    with pysam.AlignmentFile(str(alignments)) as file:
        for read in file:
            side, contig, positions, strands = truth_of(read.query_name)
            position, strand = positions[read.is_read2], strands[read.is_read2]
            kind = "nowhere" if position < 0 else "alternate" if side == "alt" else "elsewhere"
            count = counts["covered" if kind == "elsewhere" and covered.is_near(position) else kind]
            if read.is_supplementary:
                count["followed"] += read.reference_id > 0
                continue
            if read.is_secondary:
                continue
            count["reads"] += 1
            count["on_alternate"] += read.reference_id > 0
            if read.is_unmapped or read.reference_id > 0 or read.mapping_quality < SURE:
                continue
            start, (operation, clipped) = read.reference_start, read.cigartuples[0]
            start -= clipped if operation in (4, 5) else 0
            is_near = abs(start - position) <= TOLERANCE and (strand == "-") == read.is_reverse
            count["placed_q20"] += 1
            count["wrong_q20"] += not (is_near and contig == read.reference_name)
    result = {}
    for kind, count in counts.items():
        of_reads = ("placed_q20", "on_alternate", "followed")
        shares = {name: percent(count[name], count["reads"], 3) for name in of_reads}
        wrong = percent(count["wrong_q20"], count["placed_q20"], 4)
        result[kind] = {"reads": count["reads"], **shares, "wrong_q20": wrong}
    return result


def kept_of(alignments: Path, alone: Path, covered: Covered) -> dict[str, float]:
    count = Counter[str]()
    for (name, records), (other, plain) in zip(pairs_in(alignments), pairs_in(alone), strict=True):
        assert name == other
        side, _, positions, _ = truth_of(name)
        if side == "alt" or any(covered.is_near(position, MARGIN) for position in positions):
            continue
        count["pairs"] += 1
        count["same_bytes"] += records == plain
        count["same_fields"] += [record[:FIELDS] for record in records] == [record[:FIELDS] for record in plain]
    return {name: percent(count[name], count["pairs"], 3) for name in ("same_bytes", "same_fields")}


def pairs_in(sam: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """Name and records of each pair."""
    with sam.open() as lines:
        records = (line.split("\t") for line in lines if line[0] != "@")
        for name, group in groupby(records, itemgetter(0)):
            yield name, list(group)


def percent(part: int, whole: int, decimals: int) -> float:
    return round(100 * part / max(whole, 1), decimals)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("alignments", "covered", "alone"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    covered = Covered(given.covered)
    result = shares_of(given.alignments, covered)
    result["elsewhere"] |= kept_of(given.alignments, given.alone, covered)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
