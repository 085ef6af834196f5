"""Do QUAL and GQ mean what they say? Calls by bins of either, and how many of them are wrong.

    calibration.py file NAME REF.fa ALIGNMENTS.bam TRUTH.vcf --bed CONFIDENT.bed [--shares 0.13,0.27,0.5,1]
    calibration.py sets FOLDER [SET ...]      sets of call_sets.py
    calibration.py draw                       the picture in docs/methods, of the rows of the last day

Each share of the reads is called by itself (samtools view -s), since there are few unsure calls at 30x. Calls count
that fail no filter, LowQual left out. A call is wrong by QUAL if its alleles are not in the truth, and by GQ if they
are but the genotype is another one; haplotypes are compared, not records (tools/call_accuracy.py). `expected` is the
sum of 10^(-Q / 10) over the calls of a bin. Rows are added to results/calibration.csv.
"""

import argparse
import csv
import math
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pysam

from call_sets import CallSet, add_ways, chosen
from measure import CIRCUMSTANCES, Row, append, circumstances, show

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "tools"))
from call_accuracy import GAPS, clusters, errors, keys, read  # noqa: E402

RESULTS, PICTURE = HERE / "results" / "calibration.csv", HERE.parent / "docs" / "methods" / "calibration.svg"
COLUMNS = (*CIRCUMSTANCES, "set", "share", "kind", "score", "low", "high", "calls", "wrong", "expected")
BINS = (0, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100, math.inf)
SHARES = "0.13,0.27,0.5,1"
MOST = 40  # Phred of the last bin that the picture shows
SEED = 7  # of the reads that are taken
Judged = tuple[str, float, float, bool, bool]  # kind, QUAL, GQ, has an allele of the truth, has its genotype


def call(given: CallSet, share: str, scratch: Path) -> Path:
    bam, calls = given.alignments, scratch / "calls.vcf"
    if float(share) < 1:
        bam = scratch / "share.bam"
        subprocess.run(
            ["samtools", "view", "-b", "-s", f"{SEED + float(share)}", "-o", bam, given.alignments], check=True
        )
        subprocess.run(["samtools", "index", bam], check=True)
    program = Path(sys.executable).with_name("readwarp")
    options = ["--ploidy", str(given.ploidy), "--min-quality", "0", "--device", "cpu", "-q", "-f", "-o", calls]
    subprocess.run([program, "call", given.reference, bam, *options], check=True)
    return calls


def judge(given: CallSet, calls: Path) -> Iterator[Judged]:
    """Each call in the confident regions."""
    inside = confident(given.bed)
    with pysam.FastaFile(str(given.reference)) as fasta, pysam.VariantFile(str(calls)) as file:
        surely = {(r.chrom, r.start, tuple(r.alleles or ())): float(r.samples[0]["GQ"]) for r in file}
        truth = read(str(given.truth), "truth", True, fasta, inside)
        called = read(str(calls), "calls", False, fasta, inside)
        for contig in called:
            both = sorted(truth.get(contig, []) + called[contig], key=lambda r: (r["start"], r["stop"]))
            for cluster in clusters(both, GAPS):
                start, stop = max(0, min(r["start"] for r in cluster) - 5), max(r["stop"] for r in cluster) + 5
                letters = fasta.fetch(contig, start, stop).upper()
                no_allele, no_genotype = (errors(cluster, letters, start, by) for by in (False, True))
                known = {key for record in cluster if record["source"] == "truth" for key in keys(record, True)}
                for i, record in enumerate(cluster):
                    if record["source"] == "calls" and record["inside"]:
                        quality = surely[contig, record["start"], tuple(record["alleles"])]
                        is_right = i not in no_genotype
                        has_allele = is_right or i not in no_allele or any(key in known for key in keys(record, True))
                        yield "snv" if record["snv"] else "indel", record["qual"], quality, has_allele, is_right


def confident(bed: Path) -> Callable[[str, int, int], bool]:
    """Whether a span lies in one of the regions, which do not overlap."""
    regions = defaultdict(list)
    for line in bed.read_text().splitlines():
        contig, start, stop = line.split()[:3]
        regions[contig].append((int(start), int(stop)))
    for own in regions.values():
        own.sort()

    def lies_inside(contig: str, start: int, stop: int) -> bool:
        row = bisect_right(regions[contig], (start, math.inf)) - 1
        return row >= 0 and stop <= regions[contig][row][1]

    return lies_inside


def tally(judged: Iterable[Judged]) -> dict[tuple[str, str, int], tuple[int, int, float]]:
    """(kind, score, bin) -> calls, wrong ones, those expected to be wrong."""
    out: dict[tuple[str, str, int], tuple[int, int, float]] = defaultdict(lambda: (0, 0, 0.0))
    for kind, quality, genotype_quality, has_allele, has_genotype in judged:
        told = [("QUAL", quality, not has_allele)]
        if has_allele:
            told.append(("GQ", genotype_quality, not has_genotype))
        for score, value, is_wrong in told:
            place = max(i for i, low in enumerate(BINS[:-1]) if value >= low)
            calls, wrong, expected = out[kind, score, place]
            out[kind, score, place] = calls + 1, wrong + is_wrong, expected + 10 ** (-value / 10)
    return out


def rows_of(given: CallSet, shares: Iterable[str]) -> list[Row]:
    rows = []
    for share in shares:
        with tempfile.TemporaryDirectory() as scratch:
            found = tally(judge(given, call(given, share, Path(scratch))))
        for (kind, score, place), (calls, wrong, expected) in sorted(found.items()):
            what = (given.name, share, kind, score, BINS[place], BINS[place + 1], calls, wrong, round(expected, 3))
            row = dict(zip(COLUMNS, (*circumstances(), *what), strict=True))
            show(row)
            rows.append(row)
    return rows


def draw(rows: list[dict[str, str]]) -> None:
    """Phred of the share of wrong calls by bin, beside what the bin says, within a factor of two."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    for axes, score in zip(figure.subplots(1, 2), ("QUAL", "GQ"), strict=True):
        axes.fill_between([0, 50], [-3, 47], [3, 53], color="0.9", label="within a factor of two")
        for kind, colour in (("snv", "C0"), ("indel", "C1")):
            sums: dict[float, list[float]] = defaultdict(lambda: [0, 0, 0])
            for row in rows:
                if row["score"] == score and row["kind"] == kind:
                    values = (int(row["calls"]), int(row["wrong"]), float(row["expected"]))
                    sums[float(row["low"])] = [a + b for a, b in zip(sums[float(row["low"])], values, strict=True)]
            bins = [values for low, values in sorted(sums.items()) if values[1] and low < MOST]
            said = [-10 * math.log10(expected / calls) for calls, _, expected in bins]
            seen = [-10 * math.log10(wrong / calls) for calls, wrong, _ in bins]
            spread = [4.34 / math.sqrt(wrong) for _, wrong, _ in bins]
            name = "substitutions" if kind == "snv" else "insertions and deletions"
            axes.errorbar(said, seen, spread, fmt="o-", color=colour, label=name, capsize=2)
        axes.set(
            xlim=(0, 50), ylim=(0, 50), xlabel=f"{score}, mean of a bin", ylabel="Phred of the share of wrong calls"
        )
        axes.legend(frameon=False, fontsize=9, loc="upper left")
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "calibration"}):
        figure.savefig(PICTURE, metadata={"Date": None, "Creator": None}, facecolor="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = add_ways(parser, ("chr20", "na12878_chr21"))
    for way in ways.choices.values():
        way.add_argument("--shares", default=SHARES, help=f"of the reads [{SHARES}]")
    ways.add_parser("draw")
    options = parser.parse_args()
    if options.way == "draw":
        with RESULTS.open() as table:
            rows = list(csv.DictReader(table))
        draw([row for row in rows if row["date"] == rows[-1]["date"]])
        return
    for given in chosen(options):
        append(rows_of(given, options.shares.split(",")), RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
