"""Reads from both sides of ALT contigs, by readwarp and bwa mem with the same .alt file: alternates.py [FOLDER] [-t 2]

Two references are made of chromosome 20 (10 Mb, prepare.py; in FOLDER, or a temporary one) by
tools/simulate_alternates.py, which tells what is in them.

`both sides` has 40 ALT contigs, 30 HLA alleles and 20 decoys, and reads from the chromosome and from each ALT contig.
readwarp aligns them with the .alt file and with --no-alt, bwa mem with the .alt file, and both to the chromosome alone.
tools/alternate_accuracy.py tells what became of each kind of reads, and whether reads elsewhere keep their records.

`many` has 1,000 ALT contigs and 2,000 decoys; reads are those of the chromosome at 15x. readwarp aligns them with the
.alt file, with --no-alt, and to the chromosome alone, alternately, --repeats times; the least CPU time counts.

Appends to results/alternates.csv.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import prepare
from measure import CIRCUMSTANCES, Row, Usage, append, circumstances, measured, show

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "alternates.csv"
SHARES = ("placed_q20", "wrong_q20", "on_alternate", "followed", "same_bytes", "same_fields")
COLUMNS = (*CIRCUMSTANCES, "set", "tool", "threads", "seconds", "cpu_seconds", "peak_mb", "kind", "reads", *SHARES)
READWARP = str(Path(sys.executable).with_name("readwarp"))
MANY = ("--depth", "0", "--alts", "1000", "--decoys", "2000", "--alleles", "0", "--lengths", "5000,20000")


def simulate(source: Path, folder: Path, *more: str) -> Path:
    """The reference with ALT contigs."""
    subprocess.run([sys.executable, HERE / "tools" / "simulate_alternates.py", source, folder, *more], check=True)
    return folder / "ref.fa"


def by_readwarp(reference: Path, reads: list[Path], output: Path, threads: int, *more: str) -> Usage:
    options = ["-q", "-f", "-t", str(threads), "--device", "cpu", "-o", str(output)]
    return measured(shlex.join([READWARP, "align", str(reference), *map(str, reads), *options, *more]))


def by_bwa(reference: Path, reads: list[Path], output: Path, threads: int) -> Usage:
    command = shlex.join(["bwa", "mem", "-t", str(threads), str(reference), *map(str, reads)])
    return measured(f"{command} > {output} 2> {output}.log")


def both_sides(source: Path, folder: Path, threads: int) -> list[Row]:
    reference = simulate(source, folder)
    reads, rows = [folder / f"reads_{mate}.fq" for mate in (1, 2)], list[Row]()
    for each in (source, reference):
        subprocess.run(["bwa", "index", each], check=True, stderr=subprocess.DEVNULL)
        by_readwarp(each, reads, folder / "first.sam", threads)  # builds the index, compiles
    for tool, align, options in (("readwarp", by_readwarp, ((), ("--no-alt",))), ("bwa mem", by_bwa, ((),))):
        output, alone = folder / "aligned.sam", folder / "alone.sam"
        align(source, reads, alone, threads)
        for more in options:
            usage = align(reference, reads, output, threads, *more)
            command = [HERE / "tools" / "alternate_accuracy.py", output, folder / "covered.bed", alone]
            told = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True).stdout
            facts = {"set": "both sides", "tool": " ".join((tool, *more)), **asdict(usage)}
            rows += [{**facts, "kind": kind, **found} for kind, found in json.loads(told).items()]
    return rows


def many(source: Path, folder: Path, reads: list[Path], threads: int, repeats: int) -> list[Row]:
    reference = simulate(source, folder, *MANY)
    ways = {"readwarp": (reference,), "readwarp --no-alt": (reference, "--no-alt"), "readwarp, alone": (source,)}
    usages: dict[str, list[Usage]] = {way: [] for way in ways}
    for _ in range(repeats + 1):
        for way, (given, *more) in ways.items():
            usages[way].append(by_readwarp(given, reads, folder / "aligned.sam", threads, *more))
    best = {way: min(found[1:], key=lambda usage: usage.cpu_seconds) for way, found in usages.items()}  # 0: indexes
    return [{"set": "many", "tool": way, **asdict(usage)} for way, usage in best.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        reads = [folder / f"chr20x15_{mate}.fq" for mate in (1, 2)]
        if not reads[0].exists():
            prepare.SETS["chr20x15"](folder)
        source = folder / "chr20.fa"
        rows = many(source, folder / "many", reads, given.threads, given.repeats)
        rows += both_sides(source, folder / "both_sides", given.threads)
    for row in rows:
        row |= dict(zip(CIRCUMSTANCES, circumstances(), strict=True)) | {"threads": given.threads}
        show(row)
    append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
