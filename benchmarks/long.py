"""Long reads to SAM with readwarp and its peers in one run: time, memory, places and scores of alignments.

    long.py REF.fa READS.fq hifi|ont [-t THREADS ...] [--repeats N] [--minimap2 PATH] [--minibwa PATH] [--keep FOLDER]

The peers are minimap2 with its preset for the kind and with lr:hq (2.27 or later), and minibwa; those that are not
there are left out. Every tool gets the same threads, plain FASTQ or gzip, and an index built beforehand; readwarp's
kernels are compiled beforehand. Tools take turns, and the run with the least processor time of each counts. That time
is of the whole process, user and system.

Reads named by tools/simulate_long.py are scored by `tools/map_accuracy.py --overlap`, in per cent: `wrong_q20` of what
is placed with MAPQ 20 or more. Scores are sums over all primary alignments, or with the supplementary ones (`all_...`),
computed anew by long_scores.py, divided by those of minimap2's preset for the kind. `two_piece` are the costs of that
preset, `one_piece` those of readwarp's own.

Appends to results/long.csv. prepare.py makes reads.
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

from long_scores import SCALES, Tally, tally
from measure import CIRCUMSTANCES, Row, Usage, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "long.csv"
LEVELS = (1, 10, 20, 60)
PLACES = ("correct", *(f"{what}_q{level}" for level in LEVELS for what in ("placed", "wrong")))
SCORES = tuple(f"{which}_{scale}" for scale in SCALES["hifi"] for which in ("primary", "all"))
COLUMNS = (
    *(*CIRCUMSTANCES, "reference", "set", "kind", "reads", "bases", "tool", "version", "threads"),
    *("seconds", "cpu_seconds", "bases_per_cpu_second", "peak_mb", "aligned", *PLACES, "supplementary", *SCORES),
)
WARMING = 20  # reads


class Tool(NamedTuple):
    name: str
    version: str
    command: str  # of the shell, with {threads}, {reads} and {out}


class Job(NamedTuple):
    reference: Path
    reads: Path
    kind: str
    number: int  # of reads
    bases: int


def readwarp(job: Job, folder: Path) -> Tool:
    program, index = f"{sys.executable} -m readwarp", folder / "readwarp.rwx"
    quiet(f"{program} index -q -f {job.reference} -o {index}")
    command = f"{program} align -q --device cpu --preset {job.kind} -t {{threads}} --index {index} {job.reference}"
    return Tool("readwarp", version("readwarp"), command + " {reads} > {out}")


def minimap2(job: Job, folder: Path, program: str, preset: str) -> Tool | None:
    index = folder / f"{preset}.mmi"
    if not quiet(f"{program} -x {preset} -d {index} {job.reference}", needed=preset != "lr:hq"):
        return None  # older versions have no lr:hq
    command = f"{program} -ax {preset} -t {{threads}} {index} {{reads}} > {{out}} 2> /dev/null"
    return Tool(f"minimap2 {preset}", version(program), command)


def minibwa(job: Job, folder: Path, program: str) -> Tool:
    index = folder / "minibwa"
    quiet(f"{program} index {job.reference} {index}")
    command = f"{program} map -t {{threads}} {index} {{reads}} > {{out}} 2> /dev/null"
    return Tool("minibwa", version(program, "version"), command)


def quiet(command: str, needed: bool = True) -> bool:
    """Run a command line without its messages; whether it succeeded. Ends the program if one that is needed fails."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, errors="replace")
    if done.returncode and needed:
        sys.exit(f"failed: {command}\n{done.stderr}")
    return done.returncode == 0


def tools_of(job: Job, folder: Path, options: argparse.Namespace) -> list[Tool]:
    """readwarp, and the peers that are there, each with its index."""
    tools: list[Tool | None] = [readwarp(job, folder)]
    if program := shutil.which(options.minimap2):
        tools += [minimap2(job, folder, program, preset) for preset in (f"map-{job.kind}", "lr:hq")]
    if program := shutil.which(options.minibwa):
        tools.append(minibwa(job, folder, program))
    return [tool for tool in tools if tool]


def first_reads(path: Path, number: int | None, target: Path) -> tuple[int, int]:
    """Write the first reads (None: all) as plain FASTQ; returns how many, and their bases."""
    written, bases = 0, 0
    with pysam.FastxFile(str(path)) as reads, target.open("w") as out:
        for read in reads:
            if written == number:
                break
            out.write(f"{read}\n")
            written, bases = written + 1, bases + len(read.sequence or "")
    return written, bases


def timed(tools: list[Tool], reads: Path, threads: int, repeats: int, folder: Path) -> dict[str, Usage]:
    """Tools take turns; the run of each with the least processor time. FOLDER/TOOL.sam is what it wrote."""
    best = dict[str, Usage]()
    for _ in range(repeats):
        for tool in tools:
            used = measured(tool.command.format(threads=threads, reads=reads, out=sam_of(tool, folder)))
            best[tool.name] = min(best.get(tool.name, used), used, key=lambda usage: usage.cpu_seconds)
    return best


def sam_of(tool: Tool, folder: Path) -> Path:
    return folder / f"{tool.name.replace(' ', '-').replace(':', '-')}.sam"


def places_of(sam: Path) -> dict[str, float]:
    """Accuracy of reads named by the simulator; nothing for others."""
    command = [sys.executable, HERE / "tools" / "map_accuracy.py", sam, "--overlap"]
    told = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(told.stdout) if told.returncode == 0 else {}
    return {key: found.get(key, "") for key in PLACES}


def scored(tool: Tool, sam: Path, job: Job, base: Tally) -> Row:
    """What depends on the output only. `base`: of the tool whose scores are 1."""
    found = tally(sam, SCALES[job.kind])
    row: Row = {"aligned": round(100 * found.aligned / found.reads, 3), "supplementary": found.supplementary}
    for scale in SCALES[job.kind]:
        row[f"primary_{scale}"] = round(found.primary[scale] / base.primary[scale], 6)
        row[f"all_{scale}"] = round(found.everything[scale] / base.everything[scale], 6)
    return row | places_of(sam)


def compared(job: Job, threads: int, repeats: int, tools: list[Tool], folder: Path) -> list[Row]:
    best = timed(tools, job.reads, threads, repeats, folder)
    base = next((tool for tool in tools if tool.name == f"minimap2 map-{job.kind}"), tools[0])
    sums, rows = tally(sam_of(base, folder), SCALES[job.kind]), list[Row]()
    for tool in tools:
        used = best[tool.name]
        what = job.reference.stem, job.reads.stem, job.kind, job.number, job.bases, tool.name, tool.version
        costs = used.seconds, used.cpu_seconds, round(job.bases / used.cpu_seconds), used.peak_mb
        row = dict(zip(COLUMNS, (*circumstances(), *what, threads, *costs), strict=False))
        rows.append(row | scored(tool, sam_of(tool, folder), job, sums))
        show(rows[-1])
    return rows


def main() -> None:
    pysam.set_verbosity(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("reads", type=Path)
    parser.add_argument("kind", choices=SCALES)
    parser.add_argument("-t", "--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--minimap2", default="minimap2", metavar="PATH")
    parser.add_argument("--minibwa", default="minibwa", metavar="PATH")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave indexes and SAM files there")
    parser.add_argument("--no-save", action="store_true", help="add no rows to the results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        stem = options.reads.name.split(".")[0]
        reads, few = (Path(scratch) / f"{name}.fq" for name in (stem, f"{stem}.first"))
        number, bases = first_reads(options.reads, None, reads)
        first_reads(options.reads, WARMING, few)
        job = Job(options.reference, reads, options.kind, number, bases)
        tools = tools_of(job, folder, options)
        measured(tools[0].command.format(threads=1, reads=few, out=folder / "warm.sam"))
        rows = [row for n in options.threads for row in compared(job, n, options.repeats, tools, folder)]
    if not options.no_save:
        append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
