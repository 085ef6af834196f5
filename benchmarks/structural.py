"""Structural variants of simulated long reads: readwarp and its peers in one run, compared with the truth by truvari.

    structural.py REF.fa CONTIG [--region FROM-TO] [--depth 15] [--seed 1] [--kinds hifi ont] [-t THREADS]
                  [--minimap2 PATH] [--truvari PATH] [--sniffles PATH] [--cutesv PATH] [--keep FOLDER]

tools/simulate_structural.py puts insertions and deletions of 50 to 10,000 bases, and small variants, into a region of a
contig (0-based, half open), and tools/simulate_long.py simulates reads of it. readwarp and minimap2 align them to the
region, and each caller takes the alignments of both. Tools that are not there are left out, but truvari is needed. Give
the peers the path of their program, such as that in a virtual environment of theirs.

`truvari bench` counts events of 50 bases and more that pass all filters; duplications count as insertions
(--dup-to-ins). `genotypes` are the events found with the right genotype, in per cent. Time is that of the caller.

Appends to results/structural.csv.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pysam

from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "structural.csv"
COLUMNS = (
    *(*CIRCUMSTANCES, "reference", "region", "seed", "kind", "depth", "aligner", "caller", "version", "threads"),
    *("event", "found", "missed", "false", "precision", "recall", "f1", "genotypes", "seconds", "peak_mb"),
)
KINDS = ("hifi", "ont")
CUTESV = {  # as its manual has it, for few reads
    "hifi": "--max_cluster_bias_INS 1000 --diff_ratio_merging_INS 0.9 "
    "--max_cluster_bias_DEL 1000 --diff_ratio_merging_DEL 0.5 -s 3",
    "ont": "--max_cluster_bias_INS 100 --diff_ratio_merging_INS 0.3 "
    "--max_cluster_bias_DEL 100 --diff_ratio_merging_DEL 0.3 -s 3",
}


class Set(NamedTuple):
    reference: Path  # of the region
    truth: Path  # the events
    folder: Path
    kind: str
    threads: int


def made(options: argparse.Namespace, folder: Path) -> tuple[Path, Path]:
    """The region as a reference, and the variants of a sample."""
    reference, variants = folder / "region.fa", folder / "variants.vcf.gz"
    with pysam.FastaFile(str(options.reference)) as file:
        start, stop = map(int, options.region.split("-")) if options.region else (0, None)
        reference.write_text(f">{options.contig}\n{file.fetch(options.contig, start, stop)}\n")
    pysam.faidx(str(reference))
    script = HERE / "tools" / "simulate_structural.py"
    quiet([sys.executable, script, reference, variants, "--contig", options.contig, "--seed", options.seed])
    return reference, variants


def simulate(reference: Path, variants: Path, kind: str, options: argparse.Namespace, folder: Path) -> Path:
    prefix, script = folder / kind, HERE / "tools" / "simulate_long.py"
    command = [sys.executable, script, reference, variants, prefix, "--contig", options.contig, "--kind", kind]
    quiet([*command, "--depth", options.depth, "--seed", options.seed])
    return Path(f"{prefix}.fq")


def events_of(variants: Path) -> Path:
    """The structural ones, by their KIND."""
    path = variants.with_name("events.vcf")
    with pysam.VariantFile(str(variants)) as source, pysam.VariantFile(str(path), "w", header=source.header) as out:
        for record in source:
            if "KIND" in record.info:
                out.write(record)
    return indexed(path)


def indexed(path: Path) -> Path:
    pysam.tabix_index(str(path), preset="vcf", force=True)
    return Path(f"{path}.gz")


def align(job: Set, reads: Path, options: argparse.Namespace) -> dict[str, Path]:
    """Alignments by aligner."""
    group, found = "@RG\\tID:r\\tSM:sample", {"readwarp": job.folder / f"{job.kind}.readwarp.bam"}
    command = (
        f"{sys.executable} -m readwarp align -q -f --device cpu --preset {job.kind} -t {job.threads} -R '{group}' "
    )
    measured(f"{command} --write-index {job.reference} {reads} -o {found['readwarp']}")
    if program := shutil.which(options.minimap2):
        found["minimap2"] = job.folder / f"{job.kind}.minimap2.bam"
        sam = found["minimap2"].with_suffix(".sam")
        command = f"{program} -ax map-{job.kind} --MD -t {job.threads} -R '{group}' {job.reference} {reads}"
        measured(f"{command} > {sam} 2> /dev/null")
        pysam.sort("-o", str(found["minimap2"]), str(sam))
        pysam.index(str(found["minimap2"]))
        sam.unlink()
    return found


def callers(job: Set, options: argparse.Namespace) -> dict[str, tuple[str, str]]:
    """Version and command of each, with {bam} and {out}."""
    own = f"{sys.executable} -m readwarp call -q -f --sv-only -t {job.threads} {job.reference} {{bam}} -o {{out}}"
    found = {"readwarp": (version("readwarp"), own)}
    if program := shutil.which(options.sniffles):
        command = f"{program} -i {{bam}} -v {{out}} --reference {job.reference} --minsvlen 50 -t {job.threads}"
        found["sniffles"] = version(program), f"{command} --allow-overwrite > /dev/null 2>&1"
    if program := shutil.which(options.cutesv):
        command = f"{program} {{bam}} {job.reference} {{out}} {job.folder} --genotype -l 50 -t {job.threads}"
        found["cuteSV"] = version(program), f"{command} {CUTESV[job.kind]} > /dev/null 2>&1"
    return found


def compare(job: Set, calls: Path, truvari: str) -> list[Row]:
    """Counts of insertions, of deletions and of both."""
    out = calls.with_suffix(".truvari")
    shutil.rmtree(out, ignore_errors=True)
    command = [truvari, "bench", "-b", job.truth, "-c", indexed(calls), "-f", job.reference, "-o", out]
    quiet([*command, "--passonly", "--dup-to-ins", "--sizemin", "50", "--sizefilt", "40", "--sizemax", "100000"])
    counts = {name: sizes_of(out / f"{name}.vcf.gz") for name in ("tp-base", "fn", "fp")}
    rows = []
    for event, signs in (("both", (1, -1)), ("insertion", (1,)), ("deletion", (-1,))):
        found, missed, false = (sum(size in signs for size in sizes) for sizes in counts.values())
        row: Row = {"event": event, "found": found, "missed": missed, "false": false}
        row |= {"precision": share(found, found + false), "recall": share(found, found + missed)}
        rows.append(row | {"f1": share(2 * found, 2 * found + missed + false)})
    summary = json.loads((out / "summary.json").read_text())
    rows[0]["genotypes"] = round(100 * summary["gt_concordance"], 2)
    return rows


def sizes_of(path: Path) -> list[int]:
    """Above 0 for insertions and duplications, below for deletions."""
    signs = {"INS": 1, "DUP": 1, "DEL": -1}
    with pysam.VariantFile(str(path)) as file:
        return [signs.get(str(record.info.get("SVTYPE")), 0) for record in file]


def share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def quiet(command: list[object]) -> None:
    """Run a command without its messages; ends the program if it fails."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace")
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stderr}")


def compared(options: argparse.Namespace, folder: Path) -> list[Row]:
    reference, variants = made(options, folder)
    truth, rows = events_of(variants), list[Row]()
    for kind in options.kinds:
        job = Set(reference, truth, folder, kind, options.threads)
        reads = simulate(reference, variants, kind, options, folder)
        for aligner, bam in align(job, reads, options).items():
            for caller, (number, command) in callers(job, options).items():
                calls = folder / f"{kind}.{aligner}.{caller}.vcf"
                used = measured(command.format(bam=bam, out=calls))
                what = options.reference.stem, options.region or "all", options.seed, kind, options.depth, aligner
                head = *circumstances(), *what, caller, number, options.threads
                for row in compare(job, calls, options.truvari):
                    costs = {"seconds": used.seconds, "peak_mb": used.peak_mb} if row["event"] == "both" else {}
                    rows.append(dict(zip(COLUMNS, head, strict=False)) | row | costs)
                    show(rows[-1])
    return rows


def main() -> None:
    pysam.set_verbosity(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("contig")
    parser.add_argument("--region", metavar="FROM-TO")
    parser.add_argument("--depth", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("-t", "--threads", type=int, default=2)
    for tool in ("minimap2", "truvari", "sniffles"):
        parser.add_argument(f"--{tool}", default=tool, metavar="PATH")
    parser.add_argument("--cutesv", default="cuteSV", metavar="PATH")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave reads, alignments and calls there")
    parser.add_argument("--no-save", action="store_true", help="add no rows to the results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = compared(options, folder)
    if not options.no_save:
        append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
