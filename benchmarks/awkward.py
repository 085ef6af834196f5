"""Compare variant callers on reads as laboratories make them: awkward.py FOLDER REF.fa:CONTIG:FROM-TO [CASE ...]

The cases are those of tools/awkward_reads.py, which makes reads with a known truth in FOLDER. Each caller takes the
true alignments; `readwarp run` takes the reads, as they are and with --trim (run-clip, run-drop: what is cut off is
clipped, or left out). A cell is a variant and a sample that has it. Calls count for readwarp if they pass its default
filters, for the peers if their QUAL is at least the one that makes their F1 best, so that the peers look as good as
they can. Truth and calls are normalised by bcftools. Rows are added to results/awkward.csv.

In a mixture no genotype is true: an allele is found where a record lists it. There the callers get the options that
people give them for such reads (MIXTURE); bcftools has none.

readwarp runs once before it is timed, so that compiling is not counted.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pysam

from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "awkward.csv"
CASES = (
    *("short-insert", "adapters-fine", "overlap", "amplicon", "primers", "hexaploid", "octoploid", "deep"),
    *("cohort", "low-pass", "mixture"),
)
RUNS = {"run": "", "run-clip": "--trim", "run-drop": "--trim --trim-bases drop"}  # options of `readwarp run`
OWN = ("call", *RUNS)
TOOLS = (*OWN, "freebayes", "bcftools")
BY_READS = "short-insert", "adapters-fine", "overlap"  # cases in which aligning matters most
KINDS = "snv", "indel"
SCORES = "cells", "found", "false", "f1", "genotype_right"
COLUMNS = (
    *(*CIRCUMSTANCES, "region", "seed", "case", "tool", "version", "cpu_seconds", "peak_mb"),
    *(f"{kind}_{score}" for kind in KINDS for score in SCORES),
)
MIXTURE = {"call": "--ploidy 100", "freebayes": "--pooled-continuous -F 0.005 -C 2"}  # from a share of 1 per cent on
Cell = tuple[str, int, str, str, str]  # contig, position, REF, ALT, sample


class Called(NamedTuple):
    copies: int  # of ALT
    quality: float
    passes: bool


class Case(NamedTuple):
    name: str
    reference: Path
    alignments: Path
    reads: Path
    truth: Path
    ploidy: int


def make(folder: Path, place: str, name: str, seed: int) -> Case:
    """The reads of a case, or those that are in the folder."""
    made = folder / f"{name}.{place.split(':', 1)[-1].replace(':', '_')}.{seed}"
    about = Path(f"{made}.json")
    if not about.exists():
        tool = HERE / "tools" / "awkward_reads.py"
        subprocess.run([sys.executable, tool, name, made, place, "--seed", str(seed)], check=True)
    bam, reads, truth = (Path(f"{made}.{ending}") for ending in ("bam", "fq.gz", "truth.vcf"))
    return Case(name, Path(place.split(":")[0]), bam, reads, truth, json.loads(about.read_text())["ploidy"])


def command(tool: str, case: Case, output: Path) -> str:
    program = Path(sys.executable).with_name("readwarp")
    mixed = MIXTURE.get(tool) if case.name == "mixture" else None
    options = f"{mixed or f'--ploidy {case.ploidy}'} -t 2 --device cpu -q -f"
    if tool == "call":
        return f"{program} call {case.reference} {case.alignments} {options} -o {output}"
    if tool in RUNS:
        folder, group = output.with_suffix(""), r"-R '@RG\tID:s1\tSM:s1'"
        reads = f"{case.reference} {case.reads} --interleaved {group} {RUNS[tool]}"
        job = f"{program} run {reads} --no-report {options} -o {folder}"
        return f"{job} && bcftools view -o {output} {folder}/s1.vcf.gz"
    if tool == "freebayes":
        return f"freebayes -f {case.reference} {mixed or f'-p {case.ploidy}'} {case.alignments} > {output}"
    pileup = f"bcftools mpileup -Ou -d 1000000 -a AD,DP -f {case.reference} {case.alignments} 2> /dev/null"
    return f"{pileup} | bcftools call -mv --ploidy {min(2, case.ploidy)} -Ov -o {output} 2> /dev/null"


def cells_of(path: Path, reference: Path, listed: bool = False) -> dict[Cell, Called]:
    """The alleles that samples have, one base changed or one gap at a time. listed: those of records, once each."""
    normalise = ["bcftools", "norm", "-m", "-any", "-a", "-f", reference, path]
    text = subprocess.run([*map(str, normalise)], capture_output=True, text=True, check=True).stdout
    names, found = list[str](), dict[Cell, Called]()
    for line in text.splitlines():
        fields = line.split("\t")
        if line.startswith("#CHROM"):
            names = fields[9:]
        if line.startswith("#") or fields[4] in (".", "*", "<NON_REF>"):
            continue
        contig, position, _, old, new, quality, filters = fields[:7]
        for name, values in zip(names, fields[9:], strict=True):
            alleles = values.split(":")[0].replace("|", "/").split("/")
            if copies := 1 if listed else alleles.count("1"):
                cell = contig, int(position), old, new, name if len(names) > 1 else ""
                found[cell] = Called(copies, float(quality) if quality != "." else 0.0, filters in ("PASS", "."))
    return found


def taken(tool: str, calls: dict[Cell, Called], truth: dict[Cell, Called]) -> dict[Cell, Called]:
    """readwarp's calls that pass; of a peer's those from the QUAL on that makes F1 best."""
    if tool in OWN:
        return {cell: called for cell, called in calls.items() if called.passes}
    best, cut = -1.0, 0.0
    found, size = 0, 0
    ordered = sorted(calls.items(), key=lambda item: -item[1].quality)
    for i, (cell, called) in enumerate(ordered):
        following = ordered[i + 1][1].quality if i + 1 < len(ordered) else -1.0
        found, size = found + (cell in truth), size + 1
        if following < called.quality and f1(found, size, len(truth)) > best:
            best, cut = f1(found, size, len(truth)), called.quality
    return {cell: called for cell, called in calls.items() if called.quality >= cut}


def f1(found: int, called: int, known: int) -> float:
    return 2 * found / (called + known) if called + known else 1.0


def of_kind(cells: dict[Cell, Called], kind: str) -> dict[Cell, Called]:
    return {cell: called for cell, called in cells.items() if (len(cell[2]) == len(cell[3])) == (kind == "snv")}


def scores(tool: str, case: Case, calls: Path) -> Iterator[tuple[str, float]]:
    is_mixed = case.name == "mixture"
    everything, known = (cells_of(path, case.reference, is_mixed) for path in (calls, case.truth))
    for kind in KINDS:
        truth = of_kind(known, kind)
        own = taken(tool, of_kind(everything, kind), truth)
        found = truth.keys() & own.keys()
        right = sum(truth[cell].copies == own[cell].copies for cell in found)
        values = len(truth), len(found), len(own) - len(found), round(f1(len(found), len(own), len(truth)), 4), right
        yield from zip((f"{kind}_{score}" for score in SCORES), values, strict=True)


def compared(case: Case, tools: Iterable[str], where: tuple[str, int]) -> list[Row]:
    rows = []
    for tool in tools:
        calls = case.truth.with_suffix(f".{tool}.vcf")
        line = command(tool, case, calls)
        if tool in OWN:
            measured(line)
        used = measured(line)
        what = (*where, case.name, tool, version("readwarp" if tool in OWN else tool))
        row = dict(zip(COLUMNS, (*circumstances(), *what, used.cpu_seconds, used.peak_mb), strict=False))
        rows.append(row | dict(scores(tool, case, calls)))
        show(rows[-1])
    return rows


def main() -> None:
    pysam.set_verbosity(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("place", metavar="REF.fa:CONTIG:FROM-TO", help="0-based, half open; some 60,000 bases")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=" ".join(CASES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tools", default=",".join(TOOLS), help="[%(default)s]")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.cases or CASES:
        case = make(options.folder, options.place, name, options.seed)
        tools = [tool for tool in options.tools.split(",") if tool not in RUNS or name in BY_READS]
        append(compared(case, tools, (options.place.split(":", 1)[-1], options.seed)), RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
