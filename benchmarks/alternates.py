"""Reads from both sides of ALT contigs, by readwarp and bwa mem with the same .alt file: alternates.py REF.fa FOLDER

REF.fa has one contig, such as chr20.fa of prepare.py. A reference with ALT contigs, HLA alleles and decoys, and reads
from them, are made in FOLDER (tools/simulate_alternates.py), and the reads are aligned to it by readwarp with the .alt
file and with --no-alt, and by bwa mem with the .alt file. tools/alternate_accuracy.py tells what became of each kind of
reads. With --many, the reference has 1,000 ALT contigs and 2,000 decoys, and reads come from REF.fa alone: readwarp
aligns them with and without the .alt file, and to REF.fa, alternately, --repeats times.

Appends to results/alternates.csv.
"""

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

from measure import CIRCUMSTANCES, Row, Usage, append, circumstances, measured, show

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "alternates.csv"
SHARES = ("placed_q20", "wrong_q20", "on_alternate", "followed")
COLUMNS = (*CIRCUMSTANCES, "set", "tool", "threads", "seconds", "cpu_seconds", "peak_mb", "kind", "reads", *SHARES)
READWARP = str(Path(sys.executable).with_name("readwarp"))
MANY = ("--alts", "1000", "--decoys", "2000", "--alleles", "0", "--lengths", "5000,20000")


def aligned(reference: Path, reads: list[Path], output: Path, threads: int, *more: str) -> Usage:
    options = ["-q", "-f", "-t", str(threads), "--device", "cpu", "-o", str(output)]
    return measured(shlex.join([READWARP, "align", str(reference), *map(str, reads), *options, *more]))


def by_bwa(reference: Path, reads: list[Path], output: Path, threads: int) -> Usage:
    subprocess.run(["bwa", "index", reference], check=True, stderr=subprocess.DEVNULL)
    command = shlex.join(["bwa", "mem", "-t", str(threads), str(reference), *map(str, reads)])
    return measured(f"{command} > {output} 2> {output}.log")


def accuracy(folder: Path, output: Path) -> list[Row]:
    """A row for each kind of reads."""
    command = [sys.executable, HERE / "tools" / "alternate_accuracy.py", output, folder / "covered.bed"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [{"kind": kind, **found} for kind, found in told.items()]


def both_sides(folder: Path, threads: int) -> list[Row]:
    reference, reads, rows = folder / "ref.fa", [folder / f"reads_{mate}.fq" for mate in (1, 2)], list[Row]()
    aligned(reference, reads, folder / "first.sam", threads)  # builds the index, compiles
    for tool in ("readwarp", "readwarp --no-alt", "bwa mem"):
        output = folder / f"{tool}.sam"
        usage = (
            by_bwa(reference, reads, folder / "bwa.sam", threads)
            if tool == "bwa mem"
            else aligned(reference, reads, output, threads, *tool.split()[1:])
        )
        found = folder / "bwa.sam" if tool == "bwa mem" else output
        cost = {"seconds": usage.seconds, "cpu_seconds": usage.cpu_seconds, "peak_mb": usage.peak_mb}
        rows += [{"set": "both sides", "tool": tool, **cost, **row} for row in accuracy(folder, found)]
    return rows


def many(source: Path, folder: Path, reads: list[Path], threads: int, repeats: int) -> list[Row]:
    ways = {"with .alt": (folder / "ref.fa",), "--no-alt": (folder / "ref.fa", "--no-alt"), "primary": (source,)}
    best: dict[str, Usage] = {}
    for number in range(repeats + 1):
        for way, (reference, *more) in ways.items():
            usage = aligned(reference, reads, folder / "many.sam", threads, *more)
            if number and (way not in best or usage.cpu_seconds < best[way].cpu_seconds):  # the first builds the index
                best[way] = usage
    costs = {
        way: {name: getattr(usage, name) for name in ("seconds", "cpu_seconds", "peak_mb")}
        for way, usage in best.items()
    }
    return [{"set": "1000 ALT, 2000 decoys", "tool": f"readwarp {way}", **cost} for way, cost in costs.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--many", type=Path, nargs=2, metavar="READS", help="reads of REF.fa")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    more = ("--depth", "0", *MANY) if given.many else ()
    simulate = HERE / "tools" / "simulate_alternates.py"
    subprocess.run([sys.executable, simulate, given.reference, given.folder, *more], check=True)
    if given.many:
        rows = many(given.reference, given.folder, given.many, given.threads, given.repeats)
    else:
        rows = both_sides(given.folder, given.threads)
    for row in rows:
        row |= dict(zip(CIRCUMSTANCES, circumstances(), strict=True)) | {"threads": given.threads}
        show(row)
    append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
