"""Reads to variants, compared with the usual tools: run.py FOLDER [--set chr20] [--repeats N]

    readwarp run -t 2, and with the same two cores

    bwa mem -t 2 | samtools fixmate -m | samtools sort -@ 2 ; samtools markdup ; samtools index ; freebayes

on the same FASTQ files (of prepare.py, made if missing), both with indexes of the reference built beforehand.
Wall time, processor time, peak memory of all processes and the accuracy of the variants (as in call.py), printed and
added to results/run.csv; the best of `--repeats` runs counts. readwarp runs once on few reads before it is timed, so
that compiling is not counted.
"""

import argparse
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import prepare
from call import SCORES, scores
from call_sets import DATA, CallSet
from measure import CIRCUMSTANCES, Usage, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "run.csv"
COLUMNS = (
    *(*CIRCUMSTANCES, "set", "reads", "tool", "version", "threads", "seconds", "cpu_seconds", "peak_mb"),
    *(f"{kind}_{score}" for kind in ("snv", "indel") for score in SCORES),
)
THREADS = 2
READ_GROUP = r"@RG\tID:1\tSM:sample"


def ours(given: CallSet, reads: list[Path], folder: Path) -> tuple[Usage, Path]:
    """Run `readwarp run`; what it used, and its VCF."""
    program, out = Path(sys.executable).with_name("readwarp"), folder / "run"
    few = [first_records(path, folder) for path in reads]
    options = f"-R '{READ_GROUP}' -t {THREADS} --device cpu -q -f -o {out}"
    measured(f"{program} run {given.reference} {few[0]} {few[1]} {options}")
    used = measured(f"{program} run {given.reference} {reads[0]} {reads[1]} {options}")
    return used, out / "sample.vcf.gz"


def peers(given: CallSet, reads: list[Path], folder: Path) -> tuple[Usage, Path]:
    """Run bwa mem, samtools and freebayes, combined as usual; what all of it used, and the VCF."""
    reference, bam, vcf = given.reference, folder / "peers.bam", folder / "peers.vcf"
    if not Path(f"{reference}.bwt").exists():
        subprocess.run(["bwa", "index", reference], check=True, stderr=subprocess.DEVNULL)
    used = measured(
        f"bwa mem -t {THREADS} -R '{READ_GROUP}' {reference} {reads[0]} {reads[1]} 2> /dev/null"
        f" | samtools fixmate -u -m - - | samtools sort -u -@ {THREADS} -T {folder}/sort - 2> /dev/null"
        f" | samtools markdup -@ {THREADS} - {bam} && samtools index -@ {THREADS} {bam}"
        f" && freebayes -f {reference} {bam} > {vcf}"
    )
    return used, vcf


TOOLS: dict[str, Callable[[CallSet, list[Path], Path], tuple[Usage, Path]]] = {"readwarp": ours, "peers": peers}
PROGRAMS = {"readwarp": ["readwarp"], "peers": ["samtools", "freebayes"]}


def first_records(path: Path, folder: Path, records: int = 20_000) -> Path:
    copy = folder / f"few.{path.name}"
    with path.open("rb") as reads, copy.open("wb") as out:
        out.writelines(itertools.islice(reads, 4 * records))
    return copy


def inputs(folder: Path, name: str) -> tuple[CallSet, list[Path]]:
    """The set, and its reads."""
    reads = [folder / f"{name}_{mate}.fq" for mate in (1, 2)]
    if not reads[0].exists():
        prepare.SETS[name](folder)
    reference = folder / "chr20.fa"
    if not Path(f"{reference}.rwx").exists():
        program = str(Path(sys.executable).with_name("readwarp"))
        subprocess.run([program, "index", "-q", reference], check=True)
    truth, bed = folder / f"{name}.truth.vcf", DATA / "sim_chr20" / "confident.bed"
    return CallSet(name, reference, Path(), truth, bed), reads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", default="chr20", help="set of prepare.py [%(default)s]")
    parser.add_argument("--tools", default=",".join(TOOLS), help="[%(default)s]")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    given, reads = inputs(options.folder, options.set)
    number = 2 * sum(1 for _ in reads[0].open("rb")) // 4
    rows = []
    for tool in options.tools.split(","):
        runs = [TOOLS[tool](given, reads, options.folder) for _ in range(options.repeats)]
        used, calls = min(runs, key=lambda run: run[0].seconds)
        versions = " ".join(f"{program} {version(program)}" for program in PROGRAMS[tool])
        what = (given.name, number, tool, versions, THREADS, used.seconds, used.cpu_seconds, used.peak_mb)
        rows.append(dict(zip(COLUMNS, (*circumstances(), *what), strict=False)) | scores(tool, given, calls))
        show(rows[-1])
    append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
