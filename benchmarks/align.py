"""Reads to SAM with readwarp and its peers in one run: CPU time, memory and, on simulated reads, accuracy.

    align.py REF.fa READS_1.fq READS_2.fq [-t THREADS] [--pairs N] [--peers minimap2,bwa,snap,strobealign] [--repeats N]

Every tool maps plain FASTQ to SAM with an index built beforehand (minimap2 for short reads: `-x sr` with a `.mmi`). A
run on the first pairs compiles the kernels beforehand. The tools take turns, and of `--repeats` runs the one with the
least CPU time counts. Reads named by tools/simulate_diploid.py are scored by tools/map_accuracy.py. Appends to
results/align.csv and prints a table.
"""

import argparse
import csv
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "align.csv"
READS = "READS"  # of a command
ACCURACY = ("correct", "wrong_q20", "placed_q20", "proper")
COLUMNS = (
    *("date", "commit", "machine", "reference", "reads", "tool", "threads"),
    *("seconds", "cpu_seconds", "reads_per_second", "peak_mb", *ACCURACY),
)


def measured(command: list[str], output: Path) -> tuple[float, float, float]:
    """Run a command with stdout to a file; return (wall seconds, CPU seconds, peak MB)."""
    with output.open("wb") as out:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def first_pairs(path: Path, pairs: int, folder: Path) -> Path:
    """Copy the first records of a FASTQ file."""
    copy = folder / f"{pairs}.{path.name}"
    with path.open("rb") as reads, copy.open("wb") as out:
        out.writelines(itertools.islice(reads, 4 * pairs))
    return copy


def prepared(reference: Path, threads: str, peers: list[str], folder: Path) -> dict[str, list[str]]:
    """The command of each tool, with READS where they belong. Builds missing indexes, the peers' in the folder."""
    readwarp = str(Path(sys.executable).with_name("readwarp"))
    if not Path(f"{reference}.rwx").exists():
        run_quietly([readwarp, "index", "-t", threads, reference])
    commands = {"readwarp": [readwarp, "align", "-q", "-t", threads, "--device", "cpu", str(reference), READS]}
    if "minimap2" in peers:
        index = folder / "ref.mmi"
        run_quietly(["minimap2", "-x", "sr", "-d", index, reference])
        commands["minimap2"] = ["minimap2", "-ax", "sr", "-t", threads, str(index), READS]
    if "bwa" in peers:
        prefix = folder / "ref"
        run_quietly(["bwa", "index", "-p", prefix, reference])
        commands["bwa"] = ["bwa", "mem", "-t", threads, str(prefix), READS]
    if "snap" in peers:
        run_quietly(["snap-aligner", "index", reference, folder / "snap", f"-t{threads}"])
        commands["snap"] = ["snap-aligner", "paired", str(folder / "snap"), READS, "-t", threads, "-o", "-sam", "-"]
    if "strobealign" in peers:
        copy = folder / reference.name  # its index lies beside the reference
        copy.symlink_to(reference.resolve())
        run_quietly(["strobealign", "--create-index", "-r", "150", copy])
        commands["strobealign"] = ["strobealign", "--use-index", "-r", "150", "-t", threads, str(copy), READS]
    return commands


def run_quietly(command: list[object]) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(list(map(str, command)), check=True, **quiet)


def with_reads(command: list[str], reads: list[Path]) -> list[str]:
    place = command.index(READS)
    return [*command[:place], *map(str, reads), *command[place + 1 :]]


def accuracy(sam: Path) -> dict[str, float]:
    """The accuracy of reads named by the simulator; nothing for others."""
    told = subprocess.run([sys.executable, HERE / "tools" / "map_accuracy.py", sam], capture_output=True, text=True)
    return json.loads(told.stdout) if told.returncode == 0 else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("reads", type=Path, nargs=2)
    parser.add_argument("-t", "--threads", default="2")
    parser.add_argument("--pairs", type=int, help="only the first N pairs")
    parser.add_argument("--peers", default="minimap2")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout
    machine = f"{platform.machine()} {os.cpu_count()} cpus"
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reads = [first_pairs(path, options.pairs, folder) if options.pairs else path for path in options.reads]
        commands = prepared(options.reference, options.threads, options.peers.split(","), folder)
        few = [first_pairs(path, 2000, folder) for path in options.reads]
        measured(with_reads(commands["readwarp"], few), folder / "warm.sam")
        number = 2 * sum(1 for _ in reads[0].open("rb")) // 4
        runs: dict[str, list[tuple[float, float, float]]] = {tool: [] for tool in commands}
        for _ in range(options.repeats):
            for tool, command in commands.items():
                runs[tool].append(measured(with_reads(command, reads), folder / f"{tool}.sam"))
        for tool, all_runs in runs.items():
            wall, cpu, peak = min(all_runs, key=lambda run: run[1])
            sam = folder / f"{tool}.sam"
            scored = accuracy(sam)
            rows.append([
                date.today(), commit.strip(), machine, options.reference.name, number, tool, options.threads,
                f"{wall:.2f}", f"{cpu:.2f}", f"{number / wall:.0f}", f"{peak:.0f}",
                *(scored.get(key, "") for key in ACCURACY),
            ])  # fmt: skip
            sam.unlink()
            print(*(f"{key} {value}" for key, value in zip(COLUMNS[4:], rows[-1][4:], strict=True)), sep="  ")
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows] if new else rows)


if __name__ == "__main__":
    main()
