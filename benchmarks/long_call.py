"""Calling and phasing of simulated long reads: readwarp and its peers on the same alignments, in one run.

    long_call.py REF.fa CONTIG [VARIANTS.vcf.gz] [--region FROM-TO] [--depth 30] [--seed 1] [--kinds hifi ont]
                 [--whatshap PATH] [--tools readwarp bcftools freebayes] [--keep FOLDER]

The region (0-based, half open) is cut out. Without VARIANTS it gets random ones (prepare.py). tools/simulate_long.py
makes the reads, readwarp aligns them. Then each tool calls on one thread: readwarp with phase, bcftools with the
configuration of its manual for the kind, freebayes as it is. Scores are those of tools/call_accuracy.py: readwarp's
calls that pass its filters, the peers' from QUAL 20 on. `outside` are indels outside of runs of four and more equal
bases. With whatshap, its `compare` counts the switch errors of readwarp's phased SNVs, and its `phase` puts the
bcftools calls in phase for comparison.

Appends to results/long_call.csv.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pysam

import prepare
from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "long_call.csv"
CONFIGURATIONS = {"hifi": "pacbio-ccs", "ont": "ont"}  # of bcftools mpileup
READWARP = Path(sys.executable).with_name("readwarp")
SCORES = ("tp", "fp", "fn", "f1", "best_f1")
COLUMNS = (
    *(*CIRCUMSTANCES, "reference", "region", "seed", "kind", "depth", "tool", "version"),
    *("seconds", "cpu_seconds", "peak_mb"),
    *(f"{name}_{score}" for name in ("snv", "indel", "outside") for score in SCORES),
    *("phased_pairs", "switch_errors", "blocks", "longest_block"),
)


class Set(NamedTuple):
    reference: Path
    truth: Path
    alignments: Path
    kind: str
    region: str
    options: argparse.Namespace


def make_set(options: argparse.Namespace, kind: str, folder: Path) -> Set:
    with pysam.FastaFile(str(options.reference)) as file:
        whole = file.fetch(options.contig)
    start, stop = map(int, options.region.split("-")) if options.region else (0, len(whole))
    name = options.contig
    reference, reads = folder / "ref.fa", folder / kind
    reference.write_text(f">{name}\n{whole[start:stop]}\n")
    variants = options.variants or prepare.random_variants(reference, name, folder / "variants.vcf", options.seed)
    if options.variants and start:
        sys.exit("--region of VARIANTS must begin at 0")
    shape = "--contig", name, "--depth", str(options.depth), "--kind", kind, "--seed", str(options.seed)
    subprocess.run([sys.executable, prepare.SIMULATE_LONG, reference, variants, reads, *shape], check=True)
    bam = folder / f"{kind}.bam"
    align = [READWARP, "align", "--preset", kind, reference, f"{reads}.fq", "-q", "-f", "-t", "2"]
    subprocess.run([*align, "--sort", "coordinate", "--write-index", "-o", bam], check=True)
    pysam.faidx(str(reference))
    return Set(reference, Path(f"{reads}.truth.vcf"), bam, kind, f"{name}:{start}-{stop}", options)


def command(tool: str, given: Set, output: Path) -> str:
    reference, alignments = given.reference, given.alignments
    if tool == "readwarp":
        return f"{READWARP} call {reference} {alignments} -t 1 --device cpu -q -f -o {output}"
    if tool == "freebayes":
        return f"freebayes -f {reference} {alignments} > {output}"
    pileup = f"bcftools mpileup -X {CONFIGURATIONS[given.kind]} -Ou -a AD,DP -f {reference} {alignments} 2> /dev/null"
    return f"{pileup} | bcftools call -mv -Ov -o {output} 2> /dev/null"


def outside_of_runs(reference: Path, target: Path) -> Path:
    with pysam.FastaFile(str(reference)) as file, target.open("w") as out:
        for name in file.references:
            text, at = file.fetch(name).upper(), 0
            for run in re.finditer(r"([ACGT])\1{3,}", text):
                if run.start() - 1 > at:
                    out.write(f"{name}\t{at}\t{run.start() - 1}\n")
                at = max(at, run.end() + 1)
            out.write(f"{name}\t{at}\t{len(text)}\n")
    return target


def score(given: Set, calls: Path, *more: object) -> dict[str, dict[str, float]]:
    arguments = [HERE / "tools" / "call_accuracy.py", given.truth, calls, given.reference, *more]
    run = subprocess.run([sys.executable, *map(str, arguments)], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def scores(tool: str, given: Set, calls: Path) -> dict[str, float]:
    taken = calls
    if tool != "readwarp":
        taken = calls.with_suffix(".good.vcf")
        subprocess.run(["bcftools", "view", "-i", "QUAL>=20", "-o", taken, calls], check=True)
    bed = outside_of_runs(given.reference, calls.with_suffix(".bed"))
    every, best, outside = score(given, taken), score(given, calls), score(given, taken, "--bed", bed)
    found = {"snv": every["snv"], "indel": every["indel"], "outside": outside["indel"]}
    for name in ("snv", "indel"):
        found[name]["best_f1"] = best[name]["best_f1"]
    return {f"{name}_{key}": own[key] for name, own in found.items() for key in SCORES}


def phase(given: Set, calls: Path, program: str, is_phased: bool) -> dict[str, object]:
    """By `whatshap compare` and `stats`, of SNVs that pass; calls without phase are phased by whatshap first."""
    alone, truth = calls.with_suffix(".phased.vcf"), calls.with_suffix(".truth.vcf")
    passing, names = calls.with_suffix(".pass.vcf"), calls.with_suffix(".names")
    names.write_text("sample\n")
    for source, target in ((given.truth, truth), (calls, passing)):
        view = (
            f"bcftools view -f PASS,. -i 'QUAL=\".\" || QUAL>=20' {source} | bcftools reheader -s {names} -o {target}"
        )
        subprocess.run(view, shell=True, check=True)
    phased = passing
    if not is_phased:
        phased = alone
        options = ["--ignore-read-groups", "--reference", given.reference, "-o", phased, passing, given.alignments]
        subprocess.run([program, "phase", *options], check=True, capture_output=True)
    compare = [program, "compare", "--only-snvs", "--names", "truth,calls", truth, phased]
    text = subprocess.run(compare, check=True, capture_output=True, text=True).stdout
    stats = subprocess.run([program, "stats", "--only-snvs", phased], check=True, capture_output=True, text=True).stdout
    return {
        "phased_pairs": number_after("phased pairs of variants assessed", text),
        "switch_errors": number_after("switch errors", text),
        "blocks": number_after("Blocks", stats),
        "longest_block": number_after("Longest block", stats),
    }


def number_after(name: str, text: str) -> int:
    found = re.search(rf"{name}: +(\d+)", text)
    return int(found[1]) if found else -1


def compared(given: Set) -> Iterator[Row]:
    options = given.options
    for tool in options.tools:
        calls = given.alignments.with_name(f"{given.kind}.{tool}.vcf")
        if tool == "readwarp":
            measured(command(tool, given, calls))  # compiles what is missing
        used = measured(command(tool, given, calls))
        what = options.reference.name, given.region, options.seed, given.kind, options.depth, tool, version(tool)
        values = (*circumstances(), *what, used.seconds, used.cpu_seconds, used.peak_mb)
        row: Row = dict(zip(COLUMNS, values, strict=False)) | scores(tool, given, calls)
        if options.whatshap and tool != "freebayes":
            row |= phase(given, calls, options.whatshap, is_phased=tool == "readwarp")
        show(row)
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("contig")
    parser.add_argument("variants", type=Path, nargs="?")
    parser.add_argument("--region", metavar="FROM-TO")
    parser.add_argument("--depth", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=list(CONFIGURATIONS), default=list(CONFIGURATIONS))
    parser.add_argument("--tools", nargs="+", default=["readwarp", "bcftools", "freebayes"])
    parser.add_argument("--whatshap", default=shutil.which("whatshap"))
    parser.add_argument("--keep", type=Path, help="folder that stays")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(exist_ok=True, parents=True)
        for kind in options.kinds:
            append(list(compared(make_set(options, kind, folder))), RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
