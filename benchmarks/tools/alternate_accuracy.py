#!/usr/bin/env python3
"""Score a SAM/BAM of reads of simulate_alternates.py: alternate_accuracy.py ALIGNED COVERED.bed

One line of JSON with an entry for each kind of reads: `elsewhere` and `covered` are those from the reference outside of
and in stretches that have ALT contigs, `alternate` those from ALT contigs, `nowhere` those of them that have no place on
the primary assembly. Of each, by their primary records: reads, placed_q20 % (on the primary assembly with MAPQ 20 and
more), wrong_q20 % of these (further than 20 bases from their place, or on the other strand; of `nowhere` all), on_alternate
% (on an ALT contig), followed % (with a supplementary record on an ALT contig).
"""

import argparse
import json
from bisect import bisect_right
from collections import Counter

import pysam

TOLERANCE, SURE = 20, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("alignments")
    parser.add_argument("covered")
    given = parser.parse_args()
    with open(given.covered) as bed:
        spans = [tuple(map(int, line.split()[1:3])) for line in bed]
    starts = [start for start, _ in spans]
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("elsewhere", "covered", "alternate", "nowhere")}
    pysam.set_verbosity(0)
    with pysam.AlignmentFile(given.alignments) as file:
        for read in file:
            _, side, contig, *places = read.query_name.split(":")
            position, strand = places[2:] if read.is_read2 else places[:2]
            at = bisect_right(starts, int(position)) - 1
            is_covered = at >= 0 and int(position) < spans[at][1]
            kind = "nowhere" if int(position) < 0 else "alternate" if side == "alt" else "elsewhere"
            count = counts["covered" if kind == "elsewhere" and is_covered else kind]
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
            is_near = abs(start - int(position)) <= TOLERANCE and (strand == "-") == read.is_reverse
            count["placed_q20"] += 1
            count["wrong_q20"] += not (is_near and contig == read.reference_name)
    result = {}
    for kind, count in counts.items():
        shares = {name: round(100 * count[name] / max(count["reads"], 1), 3) for name in ("placed_q20", "on_alternate", "followed")}
        wrong = round(100 * count["wrong_q20"] / max(count["placed_q20"], 1), 4)
        result[kind] = {"reads": count["reads"], **shares, "wrong_q20": wrong}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
