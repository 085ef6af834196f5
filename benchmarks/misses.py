"""Why variants are missed or called falsely, on simulated reads.

    misses.py REF.fa ALIGNMENTS.bam TRUTH.vcf CALLS.vcf --bed CONFIDENT.bed

The names of reads contain their true place (tools/simulate_diploid.py), so the reads that come from a position can be
compared with those that lie there. Prints a line for each error of tools/call_accuracy.py, then how many there are of
each class and kind:

    placement   at least a quarter of the reads from there lie elsewhere or have a MAPQ below --min-mapping-quality
    foreign     at least a quarter of the reads that lie there come from elsewhere
    indel       an insertion or deletion is among the errors of the same cluster
    filter      called as it is, but it fails a filter
    genotype    called with another genotype
    evidence    anything else: too few reads show it, or errors of sequencing do
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pysam
from numpy import ndarray

from tools.call_accuracy import GAPS, clusters, errors, read

TOLERANCE = 20  # bases, as in tools/map_accuracy.py
SHARE = 0.25


class Reads(NamedTuple):
    """Primary alignments."""

    true_start: ndarray
    start: ndarray
    stop: ndarray
    length: ndarray
    mapping_quality: ndarray
    is_right: ndarray


class Counts(NamedTuple):
    from_there: int
    usable: int  # ... which lie there with a sufficient MAPQ
    unsure: int  # ... which lie there with a lower one
    elsewhere: int
    foreign: int  # lie there with a sufficient MAPQ, but come from elsewhere


def reads_of(path: str, contig: str) -> Reads:
    rows = []
    with pysam.AlignmentFile(path) as file:
        for r in file.fetch(until_eof=True):
            if r.is_secondary or r.is_supplementary:
                continue
            _, name, first, _, second, _ = r.query_name.split(":")[-6:]
            true = int(second if r.is_read2 else first)
            if name != contig:
                true = -(1 << 40)
            if r.is_unmapped or r.reference_name != contig:
                rows.append((true, -1, -1, r.query_length, 0, False))
                continue
            clip = r.cigartuples[0][1] if r.cigartuples[0][0] in (4, 5) else 0
            is_right = abs(r.reference_start - clip - true) <= TOLERANCE
            rows.append((true, r.reference_start, r.reference_end, r.query_length, r.mapping_quality, is_right))
    return Reads(*np.array(rows, np.int64).T)


def count(reads: Reads, position: int, min_mapping_quality: int) -> Counts:
    """`position`: 0-based."""
    here = (reads.true_start <= position) & (position < reads.true_start + reads.length)
    lies = (reads.start <= position) & (position < reads.stop)
    right, good = reads.is_right.astype(bool), reads.mapping_quality >= min_mapping_quality
    numbers = (here, here & right & good, here & right & ~good, here & ~right, lies & good & ~right)
    return Counts(*(int(x.sum()) for x in numbers))


def wrong_clusters(arguments: argparse.Namespace, contig: str) -> Iterator[list[dict[str, Any]]]:
    """The errors of each cluster in the confident regions."""
    spans = [line.split()[:3] for line in Path(arguments.bed).read_text().splitlines()]
    inside = [(int(start), int(stop)) for name, start, stop in spans if name == contig]
    starts = np.array([start for start, _ in inside])

    def wanted(name: str, start: int, stop: int) -> bool:
        i = int(np.searchsorted(starts, start, side="right")) - 1
        return name == contig and i >= 0 and inside[i][0] <= start and stop <= inside[i][1]

    fasta = pysam.FastaFile(arguments.reference)
    truth = read(arguments.truth, "truth", True, fasta, wanted).get(contig, [])
    calls = read(arguments.calls, "calls", False, fasta, wanted).get(contig, [])
    for cluster in clusters(sorted(truth + calls, key=lambda r: (r["start"], r["stop"])), GAPS):
        start = max(0, min(r["start"] for r in cluster) - 5)
        bases = fasta.fetch(contig, start, max(r["stop"] for r in cluster) + 5).upper()
        wrong = [cluster[i] for i in sorted(errors(cluster, bases, start, True)) if cluster[i]["inside"]]
        if wrong:
            yield wrong


def class_of(error: dict[str, Any], cluster: list[dict[str, Any]], counts: Counts, called: list[Any]) -> str:
    """`called`: records of the calls at the position, whatever filters they fail."""
    if error["source"] == "truth" and counts.unsure + counts.elsewhere >= SHARE * counts.from_there:
        return "placement"
    if counts.foreign >= SHARE * max(1, counts.foreign + counts.usable):
        return "foreign"
    if any(not r["snv"] for r in cluster):
        return "indel"
    if error["source"] == "truth" and any("PASS" not in r.filter for r in called):
        return "filter"
    same = [r for r in cluster if r["start"] == error["start"] and r["source"] != error["source"]]
    return "genotype" if same else "evidence"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for path in ("reference", "alignments", "truth", "calls"):
        parser.add_argument(path)
    parser.add_argument("--bed", required=True)
    parser.add_argument("--min-mapping-quality", type=int, default=10)
    arguments = parser.parse_args()
    contig = pysam.FastaFile(arguments.reference).references[0]
    reads, records = reads_of(arguments.alignments, contig), list(pysam.VariantFile(arguments.calls))
    tally: Counter[tuple[str, str, str]] = Counter()
    print("position what alleles genotype class from_there usable unsure elsewhere foreign filter QUAL AD", sep="\t")
    for cluster in wrong_clusters(arguments, contig):
        for error in cluster:
            at = error["start"]
            counts = count(reads, at, arguments.min_mapping_quality)
            called = [r for r in records if r.start == at]
            kind, what = "SNV" if error["snv"] else "indel", "missed" if error["source"] == "truth" else "false"
            reason = class_of(error, cluster, counts, called)
            tally[reason, kind, what] += 1
            told = [f"{','.join(r.filter)} {r.qual:.0f} {r.samples[0]['AD']}" for r in called] or ["not called"]
            alleles, genotype = "/".join(error["alleles"])[:40], "/".join(map(str, error["gt"]))
            print(at + 1, f"{what} {kind}", alleles, genotype, reason, *counts, *told, sep="\t")
    for key, number in sorted(tally.items()):
        print(*key, number)


if __name__ == "__main__":
    main()
