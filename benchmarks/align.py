"""Reads to SAM with readwarp, minimap2 and bwa mem in one run: wall time, memory and, on simulated reads, accuracy.

    align.py REF.fa READS_1.fq READS_2.fq [-t THREADS] [--pairs N] [--peers minimap2,bwa] [--repeats N]

Every tool maps plain FASTQ to SAM with an index built beforehand (minimap2 for short reads: `-x sr` with a `.mmi`). A
run on the first pairs compiles the kernels beforehand. The best of `--repeats` runs counts. Reads named by
tools/simulate_diploid.py are scored by tools/map_accuracy.py. Appends to results/align.csv and prints a table.
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
    """The command of each tool, up to its reads. Builds missing indexes, the peers' in the folder."""
    readwarp = str(Path(sys.executable).with_name("readwarp"))
    if not Path(f"{reference}.rwx").exists():
        subprocess.run([readwarp, "index", "-t", threads, reference], check=True, stderr=subprocess.DEVNULL)
    commands = {"readwarp": [readwarp, "align", "-q", "-t", threads, "--device", "cpu", str(reference)]}
    if "minimap2" in peers:
        index = folder / "ref.mmi"
        subprocess.run(["minimap2", "-x", "sr", "-d", index, reference], check=True, stderr=subprocess.DEVNULL)
        commands["minimap2"] = ["minimap2", "-ax", "sr", "-t", threads, str(index)]
    if "bwa" in peers:
        prefix = folder / "ref"
        subprocess.run(["bwa", "index", "-p", prefix, reference], check=True, stderr=subprocess.DEVNULL)
        commands["bwa"] = ["bwa", "mem", "-t", threads, str(prefix)]
    return commands


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
        few = [str(first_pairs(path, 2000, folder)) for path in options.reads]
        measured([*commands["readwarp"], *few], folder / "warm.sam")
        number = 2 * sum(1 for _ in reads[0].open("rb")) // 4
        for tool, command in commands.items():
            sam = folder / f"{tool}.sam"
            runs = [measured([*command, *map(str, reads)], sam) for _ in range(options.repeats)]
            wall, cpu, peak = min(runs)
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
